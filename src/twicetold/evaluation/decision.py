"""Threshold and probability calibration of scores, fitted on validation or on labelled pairs of a file.

The probability is Platt's sigmoid (Platt 1999, "Probabilistic outputs for support vector machines") with his smoothed
targets, found by the safeguarded Newton steps of Lin, Lin & Weng 2007 ("A note on Platt's probabilistic outputs for
support vector machines").

Pairs may have weights: a pair that was drawn with a known probability stands for 1 / probability pairs, and the
decision is then the best one for all of these. Weights add up to the effective number of pairs.

Shape letters: K distinct scores, P pairs.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import binary, finite
from twicetold.evaluation.ranking import Floats, ScoreCounts, at_least, cuts

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
        """Return (P,) whether each score reaches the threshold."""
        return np.asarray(finite(scores, "scores") >= self.threshold)

    def probability(self, scores: ArrayLike) -> Floats:
        """Return (P,) calibrated probability that each pair is a duplicate."""
        return sigmoid(self.slope * finite(scores, "scores") + self.intercept)


def decide(scores: ArrayLike, labels: ArrayLike) -> Decision:
    """Return the decision with the highest accuracy on (P,) scores and labels 0/1.

    Raises:
        ValueError: if a score is not finite or only one class occurs.
    """
    return decide_counts(ScoreCounts.of(scores, labels), aim="accuracy")


def decide_counts(counts: ScoreCounts, *, aim: Aim) -> Decision:
    """Return the decision with the highest accuracy or F1 on counted scores.

    Of several best cuts the one in the widest gap between neighbouring scores wins, of equally wide gaps the
    highest; the threshold is the middle of the gap. "All" and "none" are duplicates only if no cut between
    two scores is as good.
    """
    value = _cut_values(counts.positive, counts.negative, aim)
    slope, intercept = _platt(counts.score, counts.positive.astype(np.float64), counts.negative.astype(np.float64))
    return Decision(in_widest_gap(counts.score, value == value.max()), slope, intercept)


def decide_weighted(scores: Floats, labels: NDArray[np.bool_], weights: Floats) -> Decision:
    """Return the decision with the highest weighted F1, and Platt's calibration with weights.

    Ties are broken as in `decide_counts`. Platt's smoothed targets count the effective number of pairs,
    `effective_size`.

    Args:
        scores: (P,)
        labels: (P,) both classes.
        weights: (P,) positive.

    Raises:
        ValueError: if a number is not finite, a weight is not positive, or only one class occurs.
    """
    truth, weight = binary(labels), finite(weights, "weights")
    if weight.min() <= 0:
        raise ValueError(f"expected positive weights, got {weight.min():g}")
    score, positive, negative = _by_score(finite(scores, "scores"), truth, weight)
    value = _cut_values(positive, negative, "f1")
    best = value >= value.max() - 1e-9  # sums are rounded
    return Decision(in_widest_gap(score, best), *_platt(score, positive, negative))


def sigmoid(log_odds: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * log_odds)))


def in_widest_gap(score: Floats, best: NDArray[np.bool_]) -> float:
    """Return the threshold of the best cut in the widest gap between scores, of equally wide ones the highest.

    Args:
        score: (K,) distinct, ascending.
        best: (K + 1,) whether to take cut k, which calls everything from score k up a duplicate; the last, nothing.
    """
    thresholds = np.append(cuts(score), np.nextafter(score[-1], np.inf))
    gap = np.concatenate([[0.0], np.diff(score), [0.0]])  # below the lowest and above the highest there is none
    place = np.flatnonzero(best)
    return float(thresholds[place[gap[place] == gap[place].max()][-1]])


def effective_size(weights: Floats) -> float:
    """Return Kish's effective number of (P,) pairs, (Σ w)² / Σ w² (Kish 1965, "Survey Sampling").

    So many pairs of equal weight would give as narrow intervals of a share, if it were the same everywhere.
    """
    return float(np.square(weights.sum()) / np.square(weights).sum())


def _by_score(scores: Floats, labels: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (K,) distinct scores, and the weights of duplicates and others at each: together the effective size."""
    weights = weights * (effective_size(weights) / weights.sum())
    score, place = np.unique(scores, return_inverse=True)
    positive, negative = (np.bincount(place, weights * each, minlength=len(score)) for each in (labels, ~labels))
    return score, positive.astype(np.float64), negative.astype(np.float64)


def _cut_values(positive: Floats, negative: Floats, aim: Aim) -> Floats:
    """Return (K + 1,) the aim, up to constants, at each cut: cut k calls scores from k up duplicates, cut K none.

    Args:
        positive: (K,) number or weight of the duplicates at each score, ascending.
        negative: (K,) weight of the others.
        aim: what the threshold is best for.
    """
    true, false = np.append(at_least(positive), 0), np.append(at_least(negative), 0)
    return np.asarray(true - false if aim == "accuracy" else 2 * true / (true + false + true[0]))


def _targets(positive: Floats, negative: Floats) -> Floats:
    """Return (..., K) Platt's smoothed targets, times the weight of each score."""
    positives, negatives = positive.sum(axis=-1, keepdims=True), negative.sum(axis=-1, keepdims=True)
    return np.asarray(positive * ((positives + 1) / (positives + 2)) + negative * (1 / (negatives + 2)))


def _platt(score: Floats, positive: Floats, negative: Floats) -> tuple[float, float]:
    """Return the slope and intercept of the log-odds; slope 0 if all scores are equal."""
    weight = positive + negative
    total = weight.sum()
    mean = np.dot(weight, score) / total
    spread = np.sqrt(np.dot(weight, (score - mean) ** 2) / total)
    z = (score - mean) / (spread or 1.0)
    target = _targets(positive, negative)

    def loss(at: Floats) -> float:
        log_odds = at[0] * z + at[1]
        return float(np.dot(weight, np.logaddexp(0.0, log_odds)) - np.dot(target, log_odds))

    at = np.array([0.0, np.log((positive.sum() + 1) / (negative.sum() + 1))])
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
