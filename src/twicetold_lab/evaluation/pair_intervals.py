"""95 % confidence intervals of metrics of pairs.

- AUROC: the variance of DeLong, DeLong & Clarke-Pearson 1988, by the midranks of Sun & Xu 2014 ("Fast
  implementation of DeLong's algorithm", IEEE Signal Processing Letters 21), on the logit scale.
- Accuracy: Wilson 1927.
- Other metrics: the percentile bootstrap over pairs.
- Means over documents: documents of one cluster (story) are not independent, so the unit of sampling is the cluster.

Pairs that share texts are not independent either. Where the unit of each pair is given, units are what is sampled. The
variance of AUROC is then that of Obuchowski 1997 ("Nonparametric analysis of clustered ROC curve data", Biometrics 53),
DeLong's for units of one pair; a share has Wilson's interval with the effective number of pairs (Korn & Graubard 1998,
"Confidence intervals for proportions with small expected number of positive counts estimated from survey data", Survey
Methodology 24); the bootstrap draws units.

Student's t with few effective degrees of freedom would be far too wide for errors that are rare, so the interval of a
share is never wider than if pairs of one unit were wholly alike.

Shape letters: P pairs, U units, R resamples, K distinct scores.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import binary, finite
from twicetold.evaluation.intervals import (
    Interval,
    Ints,
    Statistic,
    Z,
    bootstrap_values,
    effective_degrees,
    few_units,
    logit_interval,
    percentiles,
    quantile,
    spare_of_units,
    wilson,
)
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import Floats, midranks


def auroc_interval(scores: ArrayLike, labels: ArrayLike, units: Ints | None = None) -> Interval:
    """Return the interval of the AUROC of (P,) scores; of no width at exactly 0 or 1, where the variance is 0.

    Args:
        scores: of the pairs.
        labels: 0 or 1.
        units: (P,) unit of sampling of each pair; None: each is one of its own.

    Raises:
        ValueError: if a score is not finite or only one class occurs.
    """
    units = np.arange(np.size(labels)) if units is None else units
    area, added = _added_to_auroc(scores, labels, units)
    return logit_interval(area, _variance_of_auroc(added, labels, units), effective_degrees(added.sum(axis=0)))


def accuracy_interval(right: int, total: int) -> Interval:
    """Return Wilson's interval of a share.

    Raises:
        ValueError: unless 0 ≤ right ≤ total and total > 0.
    """
    if not 0 <= right <= total or total == 0:
        raise ValueError(f"expected 0 <= right <= total and total > 0, got {right} of {total}")
    return wilson(right / total, Z**2 / total)


def share_interval(right: ArrayLike, units: Ints | None = None) -> Interval:
    """Return Wilson's interval of the share of (P,) pairs that are right, with the effective number of pairs.

    It is never wider than with Kish's effective number of units in its place, which would be right if all pairs of a
    unit were alike, and is that one where units are few.

    Args:
        right: whether each pair is.
        units: (P,) unit of sampling of each pair; None: each is one of its own.

    Raises:
        ValueError: if there is no pair.
    """
    values = np.asarray(right, dtype=bool)
    if not values.size:
        raise ValueError("expected pairs to have a share of, got none")
    if units is None:
        return accuracy_interval(int(values.sum()), len(values))
    share = float(values.mean())
    _, place = np.unique(units, return_inverse=True)
    added = np.bincount(place, weights=values - share) / len(values)
    variance = _correction(units) * float(np.dot(added, added))
    spare = spare_of_units(units)
    if variance and not few_units(units):
        effective = min(float(len(values)), share * (1 - share) / variance)
        spare = min(spare, quantile(effective_degrees(added)) ** 2 / effective)
    return wilson(share, spare)


def mean_statistic(values: ArrayLike) -> Statistic:
    """Return the mean of (P,) values: log-loss, Brier score."""
    terms = np.asarray(values, dtype=np.float64)
    return lambda weights: (weights @ terms) / weights.sum(axis=1)


def average_precision_statistic(scores: ArrayLike, labels: ArrayLike) -> Statistic:
    """Average precision of (P,) scores."""
    score, truth = finite(scores, "scores"), binary(labels)
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.diff(score[order], append=-np.inf))  # last pair of each distinct score

    def statistic(weights: Floats) -> Floats:
        ordered = weights[:, order]
        true = np.cumsum(ordered * truth[order], axis=1)[:, ends]
        taken = np.cumsum(ordered, axis=1)[:, ends]
        gained = np.diff(true, axis=1, prepend=0.0)
        with np.errstate(invalid="ignore"):
            return np.asarray((gained * true / np.maximum(taken, 1)).sum(axis=1) / true[:, -1])

    return statistic


def pearson_statistic(scores: ArrayLike, grades: ArrayLike) -> Statistic:
    """Return Pearson correlation of (P,) scores and grades; 0 where either is constant."""
    x, y = finite(scores, "scores"), finite(grades, "grades")
    x, y = x - x.mean(), y - y.mean()  # keeps the moments small
    moments = np.stack([x, y, x * x, y * y, x * y], axis=1)

    def statistic(weights: Floats) -> Floats:
        mx, my, xx, yy, xy = ((weights @ moments) / weights.sum(axis=1, keepdims=True)).T
        return _correlation(xy - mx * my, xx - mx * mx, yy - my * my)

    return statistic


def spearman_statistic(scores: ArrayLike, grades: ArrayLike) -> Statistic:
    """Return Spearman correlation of (P,) scores and grades, ranked anew in each resample."""
    rank_scores, rank_grades = _resampled_midranks(scores), _resampled_midranks(grades)

    def statistic(weights: Floats) -> Floats:
        total = weights.sum(axis=1, keepdims=True)
        # The mean midrank is (total + 1) / 2, whatever the ties.
        x, y = rank_scores(weights) - (total + 1) / 2, rank_grades(weights) - (total + 1) / 2
        covariance = np.einsum("rp,rp,rp->r", weights, x, y)
        return _correlation(covariance, np.einsum("rp,rp->r", weights, x * x), np.einsum("rp,rp->r", weights, y * y))

    return statistic


def confusion_intervals(
    verdict: ArrayLike, label: ArrayLike, units: Ints | None = None, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Interval]:
    """Return intervals of precision, recall, F1 and MCC by the bootstrap: the four counts of a resample say them.

    Args:
        verdict: (P,) whether each pair is called the same.
        label: (P,) whether it is.
        units: (P,) unit of sampling of each pair; None: each is one of its own.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    said, truth = np.asarray(verdict, dtype=bool), np.asarray(label).astype(bool)
    drawn: NDArray[Any]
    if units is None:
        total = len(truth)
        share = np.bincount(2 * said + truth, minlength=4) / total
        drawn = np.random.default_rng(seed).multinomial(total, share, size=resamples)
    else:
        _, place = np.unique(units, return_inverse=True)
        cells = np.bincount(4 * place + 2 * said + truth, minlength=4 * (int(place.max()) + 1)).reshape(-1, 4)
        drawn = bootstrap_values(lambda weights: weights @ cells, len(cells), resamples=resamples, seed=seed)
    found = [Confusion(tp, fp, fn, tn) for tn, fn, fp, tp in drawn.tolist()]
    return {
        name: percentiles(np.array([getattr(one, name) for one in found]))
        for name in ("precision", "recall", "f1", "mcc")
    }


def clustered_mean_interval(values: Floats, clusters: NDArray[np.int64]) -> Interval:
    """Return the interval of the mean of values in [0, 1] whose unit of sampling is the cluster (story), not the value.

    From 0 to 1 if there is one cluster; where all values are 0, or all are 1, Wilson's by effective clusters.
    """
    mean = float(values.mean())
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, weights=values - mean) / len(values)
    if len(sums) == 1 or (mean in (0.0, 1.0)):
        return wilson(mean, spare_of_units(clusters))
    half = quantile(effective_degrees(sums)) * math.sqrt(float(np.dot(sums, sums)) * _correction(clusters))
    return max(0.0, mean - half), min(1.0, mean + half)


def _placements(scores: ArrayLike, truth: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return share of the negatives that each positive is above, and of the positives that each negative is below."""
    score = finite(scores, "scores")
    if score.shape != truth.shape:
        raise ValueError(f"expected one score per label, got shapes {score.shape} and {truth.shape}")
    rank, positives, negatives = midranks(score), int(truth.sum()), int((~truth).sum())
    above = (rank[truth] - midranks(score[truth])) / negatives
    return np.asarray(above), np.asarray(1 - (rank[~truth] - midranks(score[~truth])) / positives)


def _added_to_auroc(scores: ArrayLike, labels: ArrayLike, units: Ints) -> tuple[float, Floats]:
    """Return AUROC, and (2, U) what each unit's positives and its negatives add to it, to first order."""
    truth = binary(labels)
    placements = _placements(scores, truth)
    area = float(placements[0].mean())
    width = int(units.max()) + 1
    sums = [
        np.bincount(units[side], weights=values - area, minlength=width) / len(values)
        for side, values in zip((truth, ~truth), placements, strict=True)
    ]
    return area, np.stack(sums)


def _variance_of_auroc(added: Floats, labels: ArrayLike, units: Ints) -> float:
    truth = binary(labels)
    positive, negative = added
    total = _correction(units[truth]) * float(np.dot(positive, positive))
    total += _correction(units[~truth]) * float(np.dot(negative, negative))
    return max(0.0, total + 2 * _correction(units) * float(np.dot(positive, negative)))


def _correction(units: Ints) -> float:
    """Return U / (U - 1) of the units that occur; 1 for a single one."""
    number = len(np.unique(units))
    return number / max(number - 1, 1)


def _resampled_midranks(values: ArrayLike) -> Statistic:
    """Build from resampling counts to the (R, P) midrank of each pair within its resample."""
    _, place, counts = np.unique(finite(values, "values"), return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    starts = np.cumsum(counts) - counts

    def ranks(weights: Floats) -> Floats:
        tied = np.add.reduceat(weights[:, order], starts, axis=1)
        return np.asarray((np.cumsum(tied, axis=1) - (tied - 1) / 2)[:, place])

    return ranks


def _correlation(covariance: Floats, variance_x: Floats, variance_y: Floats) -> Floats:
    scale = np.sqrt(np.maximum(variance_x, 0) * np.maximum(variance_y, 0))
    return np.asarray(np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0))
