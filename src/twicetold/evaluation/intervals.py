"""95 % confidence intervals of metrics, and tests of two models on the same pairs.

- AUROC: the variance of DeLong, DeLong & Clarke-Pearson 1988, by the midranks of Sun & Xu 2014 ("Fast
  implementation of DeLong's algorithm", IEEE Signal Processing Letters 21), on the logit scale.
- Accuracy: Wilson 1927. Two accuracies: McNemar's exact test, and the interval of Agresti & Min 2005.
- Other metrics: the percentile bootstrap over pairs (Efron 1979), seeded, with counts instead of copies.
- Means over documents: documents of one cluster (story) are not independent, so the unit of sampling is the cluster.

Shape letters: P pairs, R resamples, K distinct scores.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from twicetold.evaluation.inputs import binary, finite
from twicetold.evaluation.pair_metrics import Confusion, midranks
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.resampling import Statistic, bootstrap_values

Interval: TypeAlias = tuple[float, float]

Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class PairedTest:
    """Model a against model b on the same pairs: a − b, its 95 % interval and the two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def auroc_interval(scores: ArrayLike, labels: ArrayLike) -> Interval:
    """Interval of the AUROC of (P,) scores; of no width at exactly 0 or 1, where DeLong's variance is 0.

    Raises:
        ValueError: if a score is not finite or only one class occurs.
    """
    area, variance = _delong([scores], labels)
    return logit_interval(float(area[0]), float(variance[0, 0]))


def paired_auroc_test(scores_a: ArrayLike, scores_b: ArrayLike, labels: ArrayLike) -> PairedTest:
    """DeLong's test of whether two models differ in AUROC on the same (P,) pairs.

    Raises:
        ValueError: if a score is not finite or only one class occurs.
    """
    area, variance = _delong([scores_a, scores_b], labels)
    difference = float(area[0] - area[1])
    error = math.sqrt(max(0.0, float(variance[0, 0] + variance[1, 1] - 2 * variance[0, 1])))
    p_value = (1.0 if difference == 0 else 0.0) if error == 0 else math.erfc(abs(difference) / error / math.sqrt(2))
    return PairedTest(difference, difference - Z * error, difference + Z * error, p_value)


def accuracy_interval(right: int, total: int) -> Interval:
    """Wilson's interval of a share.

    Raises:
        ValueError: unless 0 ≤ right ≤ total and total > 0.
    """
    if not 0 <= right <= total or total == 0:
        raise ValueError(f"expected 0 <= right <= total and total > 0, got {right} of {total}")
    share, spare = right / total, Z**2 / total
    half = Z * math.sqrt(share * (1 - share) / total + spare / (4 * total))
    low, high = (share + spare / 2 - half) / (1 + spare), (share + spare / 2 + half) / (1 + spare)
    return (0.0 if right == 0 else low), (1.0 if right == total else high)


@dataclass(frozen=True)
class Share:
    """How many of some cases something is true of."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share; NaN without cases."""
        return self.count / self.total if self.total else math.nan

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval; None without cases."""
        return accuracy_interval(self.count, self.total) if self.total else None


def mcnemar(right_a: ArrayLike, right_b: ArrayLike) -> PairedTest:
    """McNemar's exact test of whether two models differ in accuracy on the same (P,) pairs.

    Args:
        right_a: whether model a was right about each pair.
        right_b: the same for model b.

    Raises:
        ValueError: if the lengths differ or there is no pair.
    """
    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(f"expected decisions on the same pairs, got shapes {a.shape} and {b.shape}")
    total, only_a, only_b = a.size, int((a & ~b).sum()), int((b & ~a).sum())
    p_value = min(1.0, 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5)))
    # Agresti & Min: half a pair is added to each of the four cells.
    centre = (only_a - only_b) / (total + 2)
    error = math.sqrt(((only_a + only_b + 1) - (only_a - only_b) ** 2 / (total + 2)) / (total + 2) / (total + 2))
    low, high = max(-1.0, centre - Z * error), min(1.0, centre + Z * error)
    return PairedTest((only_a - only_b) / total, low, high, p_value)


def bootstrap_interval(statistic: Statistic, pairs: int, *, resamples: int = 1000, seed: int = 0) -> Interval:
    """Percentile interval of `statistic` over resamples of `pairs` rows.

    Resamples on which it is undefined (NaN, for example because no positive was drawn) are left out.

    Raises:
        ValueError: if it is undefined on all of them.
    """
    [found] = bootstrap_intervals(lambda weights: statistic(weights)[:, None], pairs, resamples=resamples, seed=seed)
    if found is None:
        raise ValueError("no resample has the statistic defined: there are too few pairs for an interval")
    return found


def bootstrap_intervals(
    statistics: Statistic, pairs: int, *, resamples: int = 1000, seed: int = 0
) -> list[Interval | None]:
    """Percentile intervals of several statistics over the same resamples of `pairs` rows.

    Args:
        statistics: from (R, P) counts to (R, S) values.
        pairs: P, the rows that are drawn.
        resamples: their number.
        seed: of the drawing.

    Returns:
        Of each of the S statistics, without the resamples on which it is NaN; None if it is NaN on all.
    """
    columns = bootstrap_values(statistics, pairs, resamples=resamples, seed=seed).T
    return [_percentiles(column) if column.size else None for column in (each[~np.isnan(each)] for each in columns)]


def mean_statistic(values: ArrayLike) -> Statistic:
    """The mean of (P,) values: log-loss, Brier score."""
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
    """Pearson correlation of (P,) scores and grades; 0 where either is constant."""
    x, y = finite(scores, "scores"), finite(grades, "grades")
    x, y = x - x.mean(), y - y.mean()  # keeps the moments small
    moments = np.stack([x, y, x * x, y * y, x * y], axis=1)

    def statistic(weights: Floats) -> Floats:
        mx, my, xx, yy, xy = ((weights @ moments) / weights.sum(axis=1, keepdims=True)).T
        return _correlation(xy - mx * my, xx - mx * mx, yy - my * my)

    return statistic


def spearman_statistic(scores: ArrayLike, grades: ArrayLike) -> Statistic:
    """Spearman correlation of (P,) scores and grades, ranked anew in each resample."""
    rank_scores, rank_grades = _resampled_midranks(scores), _resampled_midranks(grades)

    def statistic(weights: Floats) -> Floats:
        total = weights.sum(axis=1, keepdims=True)
        # The mean midrank is (total + 1) / 2, whatever the ties.
        x, y = rank_scores(weights) - (total + 1) / 2, rank_grades(weights) - (total + 1) / 2
        covariance = np.einsum("rp,rp,rp->r", weights, x, y)
        return _correlation(covariance, np.einsum("rp,rp->r", weights, x * x), np.einsum("rp,rp->r", weights, y * y))

    return statistic


def confusion_intervals(confusion: Confusion, *, resamples: int = 1000, seed: int = 0) -> dict[str, Interval]:
    """Intervals of precision, recall, F1 and MCC: resampling pairs is the same as drawing the four counts."""
    cells = np.array(
        [confusion.true_positive, confusion.false_positive, confusion.false_negative, confusion.true_negative]
    )
    total = int(cells.sum())
    draws = np.random.default_rng(seed).multinomial(total, cells / total, size=resamples)
    drawn = [Confusion(*row) for row in draws.tolist()]
    return {
        name: _percentiles(np.array([getattr(one, name) for one in drawn]))
        for name in ("precision", "recall", "f1", "mcc")
    }


def clustered_mean_interval(values: Floats, clusters: NDArray[np.int64]) -> Interval:
    """Interval of the mean of values in [0, 1] whose unit of sampling is the cluster (story), not the value."""
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, weights=values - values.mean()) / len(values)
    number = len(sums)
    error = math.sqrt(float(np.dot(sums, sums)) * number / max(number - 1, 1))
    return max(0.0, float(values.mean()) - Z * error), min(1.0, float(values.mean()) + Z * error)


def logit_interval(value: float, variance: float) -> Interval:
    """Normal interval of a value between 0 and 1, computed on the logit scale so that it stays between them."""
    if not 0 < value < 1:
        return value, value
    centre = math.log(value / (1 - value))
    half = Z * math.sqrt(variance) / (value * (1 - value))
    low, high = (0.5 * (1 + math.tanh(0.5 * end)) for end in (centre - half, centre + half))
    return low, high


def _delong(scores: list[ArrayLike], labels: ArrayLike) -> tuple[Floats, Floats]:
    """AUROC of each model and their covariance matrix, in O(P log P) each."""
    truth = binary(labels)
    positives, negatives = int(truth.sum()), int((~truth).sum())
    of_positives, of_negatives = [], []  # placements: share of the other class that each pair is above or below
    for column in scores:
        score = finite(column, "scores")
        if score.shape != truth.shape:
            raise ValueError(f"expected one score per label, got shapes {score.shape} and {truth.shape}")
        rank = midranks(score)
        of_positives.append((rank[truth] - midranks(score[truth])) / negatives)
        of_negatives.append(1 - (rank[~truth] - midranks(score[~truth])) / positives)
    area = np.mean(of_positives, axis=1)
    return area, _covariance(of_positives) / positives + _covariance(of_negatives) / negatives


def _covariance(rows: list[Floats]) -> Floats:
    """Sample covariance; a single observation adds nothing."""
    centred = np.stack(rows) - np.mean(rows, axis=1, keepdims=True)
    return np.asarray(centred @ centred.T / max(centred.shape[1] - 1, 1))


def _resampled_midranks(values: ArrayLike) -> Statistic:
    """From resampling counts to the (R, P) midrank of each pair within its resample."""
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


def _percentiles(values: Floats) -> Interval:
    low, high = np.percentile(values, [2.5, 97.5]).tolist()
    return low, high
