"""Resampling: the bootstrap over rows, with counts in place of copies, and the jackknife over groups (Efron 1979).

By itself, so that what is chosen on validation does not depend on how intervals of test are computed.

Shape letters: P rows, R resamples, S statistics, G groups.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from twicetold.evaluation.ranking import Floats

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Takes (R, P) counts of each row in each resample, returns the (R,) values of the statistic, or (R, S) of several."""

CHUNK = 4_000_000  # entries of a matrix of resampling counts in memory at a time (32 MB)


def bootstrap_values(statistics: Statistic, pairs: int, *, resamples: int, seed: int) -> Floats:
    """(R, S) values of several statistics over the same resamples.

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
    """Variance of a statistic from its (G,) values without each group; those that are NaN are left out."""
    known = left[~np.isnan(left)]
    count = len(known)
    return (count - 1) / count * float(np.square(known - known.mean()).sum()) if count > 1 else math.inf
