"""95 % intervals of measures, by sampling units that are independent of each other.

- A value between 0 and 1 with a known variance: Student's t on the logit scale.
- A share of independent cases: exact (Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated
  in the case of the binomial", Biometrika 26); Wilson's where rows of one unit are taken to be all alike.
- Any statistic of rows: the percentile bootstrap (Efron 1979), seeded, with counts in place of copies.
- The variance of a statistic without each group: the jackknife (Efron 1982).

Where few units hold most of a variance, the sum of squares that estimates it is itself uncertain. So intervals have
Student's t with as many degrees of freedom as there are effective units, see `effective_degrees`. Where a unit or a few
hold most of the rows nothing is known of what other units would show: see `few_units`.

Shape letters: P rows, U units or pools of them, R resamples, S statistics, G groups.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit

from twicetold.evaluation.ranking import Floats

Interval: TypeAlias = tuple[float, float]
Ints: TypeAlias = NDArray[np.int64]
Statistic: TypeAlias = Callable[[Floats], Floats]
"""Takes (R, P) counts of each row in each resample, returns the (R,) values of the statistic, or (R, S) of several."""

Z = NormalDist().inv_cdf(0.975)
FEWEST_UNITS = 5.0  # effective ones, from which on the variance between units is estimated
TAIL = 0.025  # of a 95 % interval
NONE = 1e-9  # so many cases are none: numbers of them need not be whole
CHUNK = 4_000_000  # entries of a matrix of resampling counts in memory at a time (32 MB)
MOST = 1024  # units whose terms are held for a measure; further ones are pooled


def logit_interval(value: float, variance: float, degrees: float = math.inf) -> Interval:
    """Compute the interval of a value in [0, 1], by Student's t on the logit scale so that it stays within."""
    if not 0 < value < 1:
        return value, value
    centre = math.log(value / (1 - value))
    half = quantile(degrees) * math.sqrt(variance) / (value * (1 - value))
    low, high = (0.5 * (1 + math.tanh(0.5 * end)) for end in (centre - half, centre + half))
    return low, high


def exact_interval(true: float, false: float) -> Interval:
    """Return 95 % interval of the share of cases that are true.

    Args:
        true: number of them; an effective number need not be whole.
        false: of the others.
    """
    low = float(betaincinv(true, false + 1, TAIL)) if true > NONE else 0.0
    high = float(betaincinv(true + 1, false, 1 - TAIL)) if false > NONE else 1.0
    return low, high


def bounded_interval(interval: Interval, value: float, units: Ints) -> Interval:
    """Return the narrower of an interval of a mean of values in [0, 1] and of that as if rows of one unit were alike.

    Args:
        interval: by the values.
        value: the mean.
        units: of each value.
    """
    other = wilson(value, spare_of_units(units))
    return other if few_units(units) or other[1] - other[0] < interval[1] - interval[0] else interval


def bootstrap_interval(
    statistic: Statistic, pairs: int, units: Ints | None = None, *, resamples: int = 1000, seed: int = 0
) -> Interval:
    """Return the percentile interval of `statistic` over resamples of `pairs` rows.

    Resamples on which it is undefined (NaN, for example because no positive was drawn) are left out.

    Args:
        statistic: from (R, P) counts to (R,) values.
        pairs: P.
        units: (P,) from 0 to U - 1, which are drawn in place of rows; None: each row is one of its own.
        resamples: their number.
        seed: of the drawing.

    Raises:
        ValueError: if it is undefined on all of them.
    """
    drawn = pairs if units is None else int(units.max()) + 1
    place = slice(None) if units is None else units
    [found] = bootstrap_intervals(
        lambda weights: statistic(weights[:, place])[:, None], drawn, resamples=resamples, seed=seed
    )
    if found is None:
        raise ValueError("no resample has the statistic defined: there are too few pairs for an interval")
    return found


def bootstrap_intervals(
    statistics: Statistic, pairs: int, *, resamples: int = 1000, seed: int = 0
) -> list[Interval | None]:
    """Return the percentile intervals of several statistics over the same resamples of `pairs` rows.

    Args:
        statistics: from (R, P) counts to (R, S) values.
        pairs: P, the rows that are drawn.
        resamples: their number.
        seed: of the drawing.

    Returns:
        Of each of the S statistics, without the resamples on which it is NaN; None if it is NaN on all.
    """
    columns = bootstrap_values(statistics, pairs, resamples=resamples, seed=seed).T
    return [percentiles(column) if column.size else None for column in (each[~np.isnan(each)] for each in columns)]


def bootstrap_values(statistics: Statistic, pairs: int, *, resamples: int, seed: int) -> Floats:
    """Return (R, S) values of several statistics over the same resamples.

    Args:
        statistics: from (R, P) counts to (R, S) values.
        pairs: P, the rows that are drawn.
        resamples: R.
        seed: of the drawing.
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, CHUNK // pairs)
    values = []
    for done in range(0, resamples, at_once):
        rows = min(at_once, resamples - done)
        drawn = rng.integers(0, pairs, (rows, pairs), dtype=np.int64) + pairs * np.arange(rows)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=rows * pairs).reshape(rows, pairs)
        values.append(statistics(weights.astype(np.float64)))
    return np.concatenate(values)


def jackknife_variance(left: Floats) -> float:
    """Return the variance of a statistic from its (G,) values without each group; those that are NaN are left out."""
    known = left[~np.isnan(left)]
    count = len(known)
    return (count - 1) / count * float(np.square(known - known.mean()).sum()) if count > 1 else math.inf


def pooled(terms: Floats) -> Floats:
    """Return (U,) sums of (G,) terms of units, each unit with every `MOST`-th other; those that are NaN count as 0.

    Pools of independent units are independent, and their variance is estimated as well by a thousand of them as by ten
    thousand.
    """
    known = np.where(np.isnan(terms), 0.0, terms)
    return np.bincount(np.arange(len(known)) % MOST, weights=known).astype(np.float64)


def variance(terms: Floats) -> float:
    """Estimate the variance of a measure from its (U,) terms, or of a difference of two; infinite for one unit."""
    units = len(terms)
    centred = terms - terms.mean()
    return float(units / (units - 1) * np.dot(centred, centred)) if units > 1 else np.inf


def effective_degrees(added: ArrayLike) -> float:
    """Return (Σ v)² / Σ v², the degrees of freedom of a variance that sums the squares v of what (U,) units add.

    They are few where a few units hold most of it, as it is known as badly as from these alone. By Satterthwaite 1946
    they would be up to three times as many, if what a unit adds were normal; units of unlike sizes are not so. Infinite
    where nothing varies.

    Args:
        added: what each unit adds, or the value of the measure without each; those that are NaN are left out.
    """
    terms = np.asarray(added, dtype=np.float64)
    terms = terms[~np.isnan(terms)]
    squares = np.square(terms - terms.mean()) if terms.size else terms
    total = float(np.dot(squares, squares))
    return float(squares.sum()) ** 2 / total if total else math.inf


def quantile(degrees: float) -> float:
    """Return 97.5 % quantile of Student's t; of the normal distribution for infinite degrees of freedom."""
    return Z if math.isinf(degrees) else float(stdtrit(degrees, 0.975))


def effective_units(units: Ints) -> float:
    """Return P² / Σ size², as many units of equal sizes would say as much if rows of one were all alike (Kish 1965)."""
    sizes = np.unique(units, return_counts=True)[1]
    return float(len(units)) ** 2 / float(np.dot(sizes, sizes))


def few_units(units: Ints | None) -> bool:
    """Return true if one unit, or a few, hold most of the (P,) rows: how much units differ cannot be seen then.

    The sum of squares is then not merely uncertain but too small, as what a unit adds is relative to a mean that it
    makes itself. There is no interval, and no two models can be told apart.
    """
    return units is not None and effective_units(units) < FEWEST_UNITS


def spare_of_units(units: Ints) -> float:
    """Return z² / n of Wilson's interval as if rows of one unit were all alike."""
    effective = effective_units(units)
    return quantile(effective - 1) ** 2 / effective if effective > 1 + 1e-9 else math.inf


def wilson(share: float, spare: float) -> Interval:
    """Return Wilson's interval, from z² / n."""
    if math.isinf(spare):
        return 0.0, 1.0
    half = math.sqrt(spare * share * (1 - share) + spare**2 / 4)
    low, high = (share + spare / 2 - half) / (1 + spare), (share + spare / 2 + half) / (1 + spare)
    return (0.0 if share == 0 else low), (1.0 if share == 1 else high)


def percentiles(values: Floats) -> Interval:
    """Return 2.5 % and 97.5 % quantile of values of resamples."""
    low, high = np.percentile(values, [2.5, 97.5]).tolist()
    return low, high
