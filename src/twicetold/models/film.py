"""FILM: a low-rank linear map of TF-IDF rows, learnt from triplets on the Stiefel manifold (optimizer `film`).

Tang and Aw, "FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching",
arXiv:2010.05523; after Liu et al., "Fast and Low-rank Supervised Metric Learning" (FLRML).

    X = U Σ Vᵀ                             truncated SVD of the train texts, rank r
    L = √S Pᵀ Σ⁻¹ Uᵀ                       P on the Stiefel manifold, S diagonal
    y = L x,  score = cos(y, y')

The model is the map alone. What is minimised is the objective `triplet_film`; how, is the solver's business
(`solvers/film.py`). Any optimizer that works by gradient can learn the same map, without the restriction to the
leading r directions: `model=film optimizer=adam`.
"""

from twicetold.layers.linear_map import LinearMap


class Film(LinearMap):
    """The map L.

    Args:
        width: D, number of columns of the features.
        hidden: d, embedding dimensions.
    """
