"""Threshold and calibration from labelled pairs that have weights.

Pairs that `sampling` drew stand for 1 / probability candidates each, and the decision is then the best one for all
candidates. With equal weights it is that of `evaluation.decision`.

Shape letters: P pairs, K distinct scores, R resamples.
"""

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Aim, Decision, cut_values, in_widest_gap, sigmoid
from twicetold.evaluation.inputs import binary, finite
from twicetold.evaluation.ranking import Floats

STEPS = 8  # of Newton's method, from a solution that is near
LONGEST_STEP = 2.0  # in log-odds, per standard deviation of the score


def decide_weighted(scores: Floats, labels: NDArray[np.bool_], weights: Floats, *, aim: Aim = "accuracy") -> Decision:
    """The decision with the highest weighted accuracy or F1, and Platt's calibration with weights.

    Ties are broken as in `evaluation.decision.decide_counts`. Platt's smoothed targets count the effective number of
    pairs, `effective_size`.

    Args:
        scores: (P,)
        labels: (P,) both classes.
        weights: (P,) positive.
        aim: what the threshold is best for.

    Raises:
        ValueError: if a number is not finite, a weight is not positive, or only one class occurs.
    """
    truth, weight = binary(labels), finite(weights, "weights")
    if weight.min() <= 0:
        raise ValueError(f"expected positive weights, got {weight.min():g}")
    by_score = _by_score(finite(scores, "scores"), truth, weight)
    slope, intercept = _platt(*by_score)
    return Decision(_threshold(*by_score, aim), slope, intercept)


def best_threshold(scores: Floats, labels: NDArray[np.bool_], weights: Floats, *, aim: Aim) -> float:
    """The threshold of `decide_weighted` alone, of labels in which both classes occur."""
    return _threshold(*_by_score(scores, labels, weights), aim)


def effective_size(weights: Floats) -> float:
    """Kish's effective number of (P,) pairs, (Σ w)² / Σ w² (Kish 1965, "Survey Sampling").

    So many pairs of equal weight would give as narrow intervals of a share, if it were the same everywhere.
    """
    return float(np.square(weights.sum()) / np.square(weights).sum())


def platt_of_each(
    score: Floats, positive: Floats, negative: Floats, *, near: tuple[float, float]
) -> tuple[Floats, Floats]:
    """(R, 1) slope and intercept of Platt's calibration of each resample, by some of Newton's steps.

    Args:
        score: (K,) distinct.
        positive: (R, K) weight of the duplicates.
        negative: (R, K) weight of the others.
        near: slope and intercept from which the steps begin.
    """
    mean, spread = score.mean(), score.std() or 1.0
    z, weight = (score - mean) / spread, positive + negative
    target = _targets(positive, negative)
    slope = np.full((len(weight), 1), near[0] * spread)
    intercept = np.full((len(weight), 1), near[0] * mean + near[1])
    for _ in range(STEPS):
        probability = sigmoid(slope * z + intercept)
        residual = weight * probability - target
        curvature = weight * probability * (1 - probability)
        one, other = (residual @ z)[:, None], residual.sum(axis=1, keepdims=True)
        squared, cross = (curvature @ (z * z))[:, None] + 1e-9, (curvature @ z)[:, None]
        total = curvature.sum(axis=1, keepdims=True) + 1e-9
        scale = squared * total - cross**2 + 1e-12
        slope = slope - np.clip((total * one - cross * other) / scale, -LONGEST_STEP, LONGEST_STEP)
        intercept = intercept - np.clip((squared * other - cross * one) / scale, -LONGEST_STEP, LONGEST_STEP)
    return slope / spread, intercept - slope / spread * mean


def _by_score(scores: Floats, labels: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats, Floats]:
    """(K,) distinct scores, and the weight of the duplicates and of the others at each: together the effective size."""
    weights = weights * (effective_size(weights) / weights.sum())
    score, place = np.unique(scores, return_inverse=True)
    positive, negative = (np.bincount(place, weights * each, minlength=len(score)) for each in (labels, ~labels))
    return score, positive.astype(np.float64), negative.astype(np.float64)


def _threshold(score: Floats, positive: Floats, negative: Floats, aim: Aim) -> float:
    """The middle of the widest gap between scores that is best, of equally wide ones the highest."""
    value = cut_values(positive, negative, aim)
    slight = 1e-9 * (positive.sum() + negative.sum())  # sums are rounded
    return in_widest_gap(score, value >= value.max() - slight)


def _targets(positive: Floats, negative: Floats) -> Floats:
    """(..., K) Platt's smoothed targets, times the weight of each score."""
    positives, negatives = positive.sum(axis=-1, keepdims=True), negative.sum(axis=-1, keepdims=True)
    return np.asarray(positive * (positives + 1) / (positives + 2) + negative / (negatives + 2))


def _platt(score: Floats, positive: Floats, negative: Floats) -> tuple[float, float]:
    """Slope and intercept of the log-odds: a logistic regression on Platt's smoothed targets.

    A score with the target t is a positive of weight t and a negative of weight 1 - t.
    """
    from sklearn.linear_model import LogisticRegression

    weight = positive + negative
    target = _targets(positive, negative)
    mean = np.average(score, weights=weight)
    spread = np.sqrt(np.average((score - mean) ** 2, weights=weight))
    if not spread:
        share = np.average(target / weight, weights=weight)
        return 0.0, float(np.log(share / (1 - share)))
    z = np.tile((score - mean) / spread, 2)[:, None]
    twice = np.concatenate([target, weight - target])
    labels = np.repeat([1, 0], len(score))
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-7, max_iter=1000).fit(z, labels, twice)
    slope = float(fit.coef_[0, 0] / spread)
    return slope, float(fit.intercept_[0] - slope * mean)
