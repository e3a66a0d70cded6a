"""M-FILM: the map of FILM, trained on batches of triplets (optimizer `mfilm`).

Tang and Aw, "FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching",
arXiv:2010.05523, section 3.3, step 3; the steps are those of M-FLRML (`solvers/mfilm.py`).

    L ← (1 − 1/√J) L + (1/√J) L_J          L_J from the texts of batch J alone
    y = L x,  score = cos(y, y')
"""

from twicetold.layers.two_tower import LinearMap


class MiniBatchFilm(LinearMap):
    """The map L.

    Args:
        width: D, number of columns of the features.
        hidden: d, embedding dimensions.
    """
