"""Threshold and probability calibration of scores, fitted on validation only.

The probability is Platt's sigmoid (Platt 1999, "Probabilistic outputs for support vector machines") with his smoothed
targets, found by the safeguarded Newton steps of Lin, Lin & Weng 2007 ("A note on Platt's probabilistic outputs for
support vector machines").

Shape letters: K distinct scores, P pairs.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import finite
from twicetold.evaluation.ranking import Floats, ScoreCounts, cuts

Aim = Literal["accuracy", "f1"]


@dataclass(frozen=True)
class Decision:
    """Threshold and calibration of a score.

    Args:
        threshold: pairs with at least this score are predicted to be duplicates.
        slope: of the log-odds in the score.
        intercept: log-odds at score 0.
    """

    threshold: float
    slope: float
    intercept: float

    def duplicate(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """(P,) whether each score reaches the threshold."""
        return np.asarray(finite(scores, "scores") >= self.threshold)

    def probability(self, scores: ArrayLike) -> Floats:
        """(P,) calibrated probability that each pair is a duplicate."""
        return sigmoid(self.slope * finite(scores, "scores") + self.intercept)


@dataclass(frozen=True)
class Verdict:
    """Score, probability and decision of a trained model for one pair of texts."""

    left: str
    right: str
    score: float
    probability: float
    duplicate: bool


def decide(scores: ArrayLike, labels: ArrayLike) -> Decision:
    """The decision with the highest accuracy on (P,) scores and labels 0/1.

    Raises:
        ValueError: if a score is not finite or only one class occurs.
    """
    return decide_counts(ScoreCounts.of(scores, labels), aim="accuracy")


def decide_counts(counts: ScoreCounts, *, aim: Aim) -> Decision:
    """The decision with the highest accuracy or F1 on counted scores.

    Of several best cuts the one in the widest gap between neighbouring scores wins, of equally wide gaps the
    highest; the threshold is the middle of the gap. "All" and "none" are duplicates only if no cut between
    two scores is as good.
    """
    slope, intercept = _platt(counts)
    return Decision(_threshold(counts, aim), slope, intercept)


def sigmoid(log_odds: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * log_odds)))


def cut_values(positive: Floats, negative: Floats, aim: Aim) -> Floats:
    """(..., K + 1) the aim, up to constants, at each cut: cut k calls all from score k up a duplicate, cut K nothing.

    Args:
        positive: (..., K) number or weight of the duplicates at each score, ascending.
        negative: (..., K) weight of the others.
        aim: what the threshold is best for.
    """
    true, false = from_cut(positive), from_cut(negative)
    return np.asarray(true - false if aim == "accuracy" else 2 * true / (true + false + true[..., :1]))


def from_cut(weight: Floats) -> Floats:
    """(..., K + 1) sum of the (..., K) weights from each cut on; the last one is 0."""
    sums = np.zeros((*weight.shape[:-1], weight.shape[-1] + 1))
    sums[..., :-1] = np.cumsum(weight[..., ::-1], axis=-1)[..., ::-1]
    return sums


def in_widest_gap(score: Floats, best: NDArray[np.bool_]) -> float:
    """The threshold of the best cut in the widest gap between scores, of equally wide ones the highest.

    Args:
        score: (K,) distinct, ascending.
        best: (K + 1,) whether to take cut k, which calls everything from score k up a duplicate; the last, nothing.
    """
    thresholds, gap = np.append(cuts(score), np.nextafter(score[-1], np.inf)), gaps(score)
    place = np.flatnonzero(best)
    return float(thresholds[place[gap[place] == gap[place].max()][-1]])


def gaps(score: Floats) -> Floats:
    """(K + 1,) width of the gap between scores that each cut lies in; 0 below the lowest and above the highest."""
    return np.concatenate([[0.0], np.diff(score), [0.0]])


def _threshold(counts: ScoreCounts, aim: Aim) -> float:
    value = cut_values(counts.positive, counts.negative, aim)
    return in_widest_gap(counts.score, value == value.max())


def _platt(counts: ScoreCounts) -> tuple[float, float]:
    """Slope and intercept of the log-odds; slope 0 if all scores are equal."""
    positive, negative = counts.positive.astype(np.float64), counts.negative.astype(np.float64)
    weight = positive + negative
    total = weight.sum()
    mean = np.dot(weight, counts.score) / total
    spread = np.sqrt(np.dot(weight, (counts.score - mean) ** 2) / total)
    z = (counts.score - mean) / (spread or 1.0)
    high = (counts.positives + 1) / (counts.positives + 2)
    low = 1 / (counts.negatives + 2)
    target = positive * high + negative * low

    def loss(at: Floats) -> float:
        log_odds = at[0] * z + at[1]
        return float(np.dot(weight, np.logaddexp(0.0, log_odds)) - np.dot(target, log_odds))

    at = np.array([0.0, np.log((counts.positives + 1) / (counts.negatives + 1))])
    now = loss(at)
    for _ in range(100):
        probability = sigmoid(at[0] * z + at[1])
        residual = weight * probability - target
        gradient = np.array([np.dot(residual, z), residual.sum()])
        if np.abs(gradient).max() <= 1e-10 * total:
            break
        curvature = weight * probability * (1 - probability)
        cross = np.dot(curvature, z)
        hessian = np.array([[np.dot(curvature, z * z), cross], [cross, curvature.sum()]])
        step = np.linalg.solve(hessian + 1e-12 * total * np.eye(2), gradient)
        size = 1.0
        while size > 1e-10 and loss(at - size * step) > now - 1e-4 * size * np.dot(gradient, step):
            size /= 2
        if size <= 1e-10:
            break  # no descent left in double precision
        at = at - size * step
        now = loss(at)
    slope = at[0] / (spread or 1.0)
    return float(slope), float(at[1] - slope * mean)
