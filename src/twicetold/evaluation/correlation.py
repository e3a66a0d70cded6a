"""Correlation of scores with grades: by itself, as trainings select by it.

Shape letters: P pairs.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import finite
from twicetold.evaluation.ranking import Floats


def pearson(scores: ArrayLike, grades: ArrayLike) -> float:
    """Linear correlation; 0 if either side is constant.

    Raises:
        ValueError: if a number is not finite.
    """
    x, y = finite(scores, "scores"), finite(grades, "grades")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(np.dot(x / np.linalg.norm(x), y / np.linalg.norm(y)))


def spearman(scores: ArrayLike, grades: ArrayLike) -> float:
    """Correlation of ranks, tied values sharing their mean rank; 0 if either side is constant."""
    return pearson(midranks(finite(scores, "scores")), midranks(finite(grades, "grades")))


def midranks(values: NDArray[np.float64]) -> Floats:
    """(P,) rank of each value from 1, tied values sharing their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
