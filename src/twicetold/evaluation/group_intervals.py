"""95 % intervals of the agreement of groups: pairwise F1, B-cubed and the adjusted Rand index.

By the jackknife over true groups (Quenouille 1956, Tukey 1958), on the logit scale, as for measures over all pairs
(decision 0008): each true group (story) is left out once, with all its texts, and the predicted groups are cut down to
the others. The bootstrap does not serve here: a text that shares its predicted group with one wrong text is right by a
half, but in 37 % of the resamples the wrong one is not drawn, so B-cubed comes out too high.

Shape letters: M texts, G true groups, P predicted ones, C entries above 0 of the table of how many texts they share.
"""

import numpy as np
from numpy.typing import ArrayLike

from twicetold.evaluation.group_metrics import adjusted_rand, group_scores
from twicetold.evaluation.intervals import Interval, effective_degrees, logit_interval
from twicetold.evaluation.left_out import LeftOut
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.resampling import jackknife_variance

MEASURES = ("pair_f1", "b3", "ari")


def agreement_intervals(predicted: ArrayLike, true: ArrayLike) -> dict[str, Interval]:
    """`MEASURES` -> interval; of no width at exactly 0 or 1, and without those that are undefined.

    Args:
        predicted: (M,) group codes.
        true: (M,) group codes.
    """
    scores = group_scores(predicted, true)
    found = {}
    for name, value, left in zip(
        MEASURES, (scores.f1, scores.b3, scores.ari), without_each(predicted, true), strict=True
    ):
        if not np.isnan(left).all():
            found[name] = logit_interval(value, jackknife_variance(left), effective_degrees(left))
    return found


def without_each(predicted: ArrayLike, true: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Three times (G,): `MEASURES` without each true group, NaN where undefined."""
    of_predicted, of_true, right, every = LeftOut.of(predicted, true, true).pairs()
    false, missed = of_predicted - right, of_true - right
    apart = every - right - false - missed
    _, column = np.unique(np.asarray(predicted), return_inverse=True)
    _, row, size = np.unique(np.asarray(true), return_inverse=True, return_counts=True)
    cell, count = np.unique(row * (column.max() + 1) + column, return_counts=True)
    row, column = np.divmod(cell, column.max() + 1)
    shared, groups = count.astype(np.float64), len(size)

    def of_group(values: Floats) -> Floats:
        """(G,) sums of (C,) values."""
        return np.bincount(row, weights=values, minlength=groups).astype(np.float64)

    whole = np.bincount(column, weights=shared)[column]  # (C,) texts of the predicted group
    squares = np.bincount(column, weights=shared**2)[column]
    texts = len(np.asarray(true)) - size
    precise = of_group(shared**2 / whole)  # (G,) sums over its texts of B-cubed's precision
    rest = np.where(whole > shared, whole - shared, 1.0)  # where nobody else is, nobody gains
    gained = of_group((squares - shared**2) * shared / (whole * rest))  # by the others, when its texts go
    recalled = of_group(shared**2 / size[row])
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * right / (2 * right + false + missed)
        precision = (precise.sum() - precise + gained) / texts
        recall = (recalled.sum() - recalled) / texts
        b3 = 2 * precision * recall / (precision + recall)
        ari = np.where(false + missed == 0, 1.0, adjusted_rand(right, false, missed, apart))
    return f1, b3, np.where(texts > 0, ari, np.nan)
