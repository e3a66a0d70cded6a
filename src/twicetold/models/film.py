"""FILM: a low-rank linear map of TF-IDF rows, trained on triplets on the Stiefel manifold (optimizer `film`).

Tang and Aw, "FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching",
arXiv:2010.05523; after Liu et al., "Fast and Low-rank Supervised Metric Learning" (FLRML).

    X = U Σ Vᵀ                             truncated SVD of the train texts, rank r
    L = √S Pᵀ Σ⁻¹ Uᵀ                       P on the Stiefel manifold, S diagonal
    y = L x,  score = cos(y, y')

This module is the map only. The objective `triplet_film` is minimised by a solver (`solvers/film.py`). Gradient descent
can train the same map, without the restriction to the leading r directions: `model=film optimizer=adam`.
"""

from twicetold.layers.two_tower import LinearMap


class Film(LinearMap):
    """The map L.

    Args:
        width: D, number of columns of the features.
        hidden: d, embedding dimensions.
    """
