"""Ranking measures, computed from the counts of positives and negatives at each distinct score.

A list of pairs and a histogram of billions of pairs both give such counts. Definitions are those of scikit-learn: pairs
with equal scores are one step of the curve. Thresholds are midway between two neighbouring distinct scores, so that
rounding does not matter.

Correlations of scores with grades stand beside them, as trainings select by either.

Shape letters: K distinct scores, P pairs, C points of a curve.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import binary, finite

Floats = NDArray[np.float64]
CURVE_POINTS = 1000
ON_TRAIN = " (train)"  # follows the label of a curve that is not of test


@dataclass(frozen=True)
class RocCurve:
    """Receiver operating characteristic, from (0, 0) to (1, 1).

    Args:
        fpr: (C,) false positive rate, not falling.
        tpr: (C,) true positive rate, not falling.
    """

    fpr: Floats
    tpr: Floats

    @property
    def area(self) -> float:
        """Area under the (perhaps thinned) curve, by the trapezoid rule."""
        return float(np.trapezoid(self.tpr, self.fpr))

    def thinned(self, points: int = CURVE_POINTS) -> "RocCurve":
        """Return the curve with at most `points` corners, including both ends.

        A longer curve keeps the first corner at or after each of equally spaced positions, where the position of a
        corner is fpr + tpr.
        """
        if len(self.fpr) <= points:
            return self
        position = self.fpr + self.tpr
        wanted = np.linspace(0.0, position[-1], points)
        keep = np.unique(np.minimum(np.searchsorted(position, wanted), len(position) - 1))
        return RocCurve(self.fpr[keep], self.tpr[keep])


@dataclass(frozen=True)
class ScoreCounts:
    """Numbers of positives and negatives with each distinct score.

    Args:
        score: (K,) ascending.
        positive: (K,) counts.
        negative: (K,) counts.

    Raises:
        ValueError: if there is no positive or no negative.
    """

    score: Floats
    positive: NDArray[Any]
    negative: NDArray[Any]

    def __post_init__(self) -> None:
        if not self.positives or not self.negatives:
            raise ValueError(
                f"ranking needs positive and negative pairs, got {self.positives} positive and {self.negatives} "
                "negative: the evaluated set is too small, or one label covers all of it or nothing"
            )

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike) -> "ScoreCounts":
        """Count (P,) scores by (P,) labels 0/1.

        Raises:
            ValueError: if a score is not finite or only one class occurs.
        """
        truth = binary(labels)
        distinct, place = np.unique(finite(scores, "scores"), return_inverse=True)
        positive = np.bincount(place[truth], minlength=len(distinct))
        return cls(distinct, positive, np.bincount(place, minlength=len(distinct)) - positive)

    @property
    def positives(self) -> int:
        """Number of positives."""
        return int(self.positive.sum())

    @property
    def negatives(self) -> int:
        """Number of negatives."""
        return int(self.negative.sum())

    def called(self, threshold: float) -> tuple[int, int]:
        """Return the numbers of positives and of negatives that score at least a threshold."""
        above = self.score >= threshold
        return int(self.positive[above].sum()), int(self.negative[above].sum())

    def auroc(self) -> float:
        """Return the probability that a positive scores above a negative; ties count one half (0.5 for constants)."""
        below = np.cumsum(self.negative) - self.negative / 2
        return float(np.dot(self.positive / self.positives, below / self.negatives))

    def average_precision(self) -> float:
        """Return precision at each distinct score from the top, weighted by the recall that it adds."""
        return float(np.dot(self.positive / self.positives, self.precision_from_top()))

    def precision_from_top(self) -> Floats:
        """Return (K,) fraction of positives among all pairs that score at least as high."""
        true, false = at_least(self.positive), at_least(self.negative)
        return np.asarray(true / np.maximum(true + false, 1), dtype=np.float64)

    def roc_curve(self) -> RocCurve:
        """Return the curve through all distinct scores, without points that are on a straight line."""
        tpr = np.concatenate([[0], np.cumsum(self.positive[::-1])])
        fpr = np.concatenate([[0], np.cumsum(self.negative[::-1])])
        # Along one direction the cross product of neighbouring steps is 0; counts are divided first, as
        # products of two counts of pairs may exceed 64 bits.
        right, up = np.diff(fpr) / self.negatives, np.diff(tpr) / self.positives
        bend = np.concatenate([[True], right[1:] * up[:-1] != up[1:] * right[:-1], [True]])
        return RocCurve(fpr[bend] / self.negatives, tpr[bend] / self.positives)

    def resolution_error(self) -> float:
        """Return the largest possible change of `auroc` if equal scores were distinguished at a finer resolution."""
        return float(np.dot(self.positive / self.positives, self.negative / self.negatives) / 2)


def at_least(counts: NDArray[Any]) -> NDArray[Any]:
    """Return (K,) sum of `counts` from each position to the end."""
    return np.asarray(np.cumsum(counts[::-1])[::-1])


def cuts(score: Floats) -> Floats:
    """Return (K,) thresholds: from each on, pairs with this score or a higher one count.

    Args:
        score: (K,) distinct, ascending.
    """
    middle = (score[:-1] + score[1:]) / 2
    return np.concatenate([score[:1], np.where(middle > score[:-1], middle, score[1:])])  # adjacent floats have none


def place_reaching(precision: Floats, pairs: NDArray[Any], aim: float, *, fewest: int) -> tuple[int, bool]:
    """Return the position of the lowest score from which on an aimed precision is reached, and whether it is.

    Args:
        precision: (K,) from each score on, ascending.
        pairs: (K,) their number.
        aim: the precision.
        fewest: a precision of fewer pairs counts as none.

    Returns:
        Where no score reaches it, the lowest one with the highest precision; 0 where there are too few pairs.
    """
    enough = np.flatnonzero(pairs >= fewest)
    reached = enough[precision[enough] >= aim - 1e-12]  # sums of weights are rounded
    if len(reached):
        return int(reached[0]), True
    return (int(enough[np.argmax(precision[enough])]) if len(enough) else 0), False


def pearson(scores: ArrayLike, grades: ArrayLike) -> float:
    """Return the linear correlation; 0 if either side is constant.

    Raises:
        ValueError: if a number is not finite.
    """
    x, y = finite(scores, "scores"), finite(grades, "grades")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(np.dot(x / np.linalg.norm(x), y / np.linalg.norm(y)))


def spearman(scores: ArrayLike, grades: ArrayLike) -> float:
    """Return the correlation of ranks, tied values sharing their mean rank; 0 if either side is constant."""
    return pearson(midranks(finite(scores, "scores")), midranks(finite(grades, "grades")))


def midranks(values: NDArray[np.float64]) -> Floats:
    """Return (P,) rank of each value from 1, tied values sharing their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
