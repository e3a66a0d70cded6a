"""Agreement of predicted groups with true ones: pairwise precision and recall, B-cubed and the adjusted Rand index.

- Pairwise: of the pairs of texts, those within a predicted group are predicted, those within a true group are true.
- B-cubed (Bagga and Baldwin 1998): precision is the mean over texts of the share of its predicted group that is of its
  true group; recall the same with the two exchanged. A text without duplicates counts as much as any other.
- ARI (Hubert and Arabie 1985): the share of pairs on which both agree, corrected for chance.

All are computed from the table of how many texts each predicted and each true group share, of which only the entries
above 0 are held.

Intervals (95 %) are by the jackknife over true groups (Quenouille 1956, Tukey 1958), on the logit scale, as for
measures over all pairs (decision 0008): each true group (story) is left out once, with all its texts, and the predicted
groups are cut down to the others. The bootstrap does not serve here: a text that shares its predicted group with one
wrong text is right by a half, but in 37 % of the resamples the wrong one is not drawn, so B-cubed comes out too high.
Leaving a group out changes only the entries that it has texts in, so all G values take one pass (`LeftOut`).

Shape letters: M texts, G true groups or other units, P predicted ones, C entries above 0 of the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from twicetold.evaluation.intervals import Interval, Ints, effective_degrees, jackknife_variance, logit_interval
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import Floats

Number = TypeVar("Number", int, Floats)
MEASURES = ("pair_f1", "b3", "ari")


@dataclass(frozen=True)
class GroupScores:
    """Agreement of predicted groups with true ones; each score is 1 if they are the same."""

    precision: float
    """Of pairs; 0 if no pair is predicted."""
    recall: float
    """Of pairs; 0 if no pair is true."""
    f1: float
    """Of pairs."""
    b3: float
    """Harmonic mean of B-cubed precision and recall, the means over texts of what their groups share."""
    ari: float


def group_scores(predicted: ArrayLike, true: ArrayLike) -> GroupScores:
    """Compare (M,) predicted group codes with (M,) true ones.

    Raises:
        ValueError: if the lengths differ or there is no text.
    """
    one, other = np.asarray(predicted), np.asarray(true)
    if one.shape != other.shape or one.ndim != 1 or not one.size:
        raise ValueError(f"expected a predicted and a true group of each text, got shapes {one.shape}, {other.shape}")
    _, row, predicted_size = np.unique(one, return_inverse=True, return_counts=True)
    _, column, true_size = np.unique(other, return_inverse=True, return_counts=True)
    cell, shared = np.unique(row * len(true_size) + column, return_counts=True)
    row, column = np.divmod(cell, len(true_size))
    confusion = _pairs(shared, predicted_size, true_size)
    square = shared.astype(np.float64) ** 2
    b3_precision = float((square / predicted_size[row]).sum() / one.size)
    b3_recall = float((square / true_size[column]).sum() / one.size)
    return GroupScores(
        precision=confusion.precision,
        recall=confusion.recall,
        f1=confusion.f1,
        b3=2 * b3_precision * b3_recall / (b3_precision + b3_recall),
        ari=_adjusted_rand(confusion),
    )


def adjusted_rand(true: Number, false: Number, unlinked: Number, apart: Number) -> Any:
    """Compute ARI from numbers of pairs, whole or (G,) arrays; undefined where no pair is false or not predicted."""
    return (
        2
        * (true * apart - unlinked * false)
        / ((true + unlinked) * (unlinked + apart) + (true + false) * (false + apart))
    )


def agreement_intervals(predicted: ArrayLike, true: ArrayLike) -> dict[str, Interval]:
    """Return `MEASURES` -> interval; of no width at exactly 0 or 1, and without those that are undefined.

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
    """Return three times (G,): `MEASURES` without each true group, NaN where undefined."""
    of_predicted, of_true, right, every = LeftOut.of(predicted, true, true).pairs()
    false, unlinked = of_predicted - right, of_true - right
    apart = every - right - false - unlinked
    _, column = np.unique(np.asarray(predicted), return_inverse=True)
    _, row, size = np.unique(np.asarray(true), return_inverse=True, return_counts=True)
    cell, count = np.unique(row * (column.max() + 1) + column, return_counts=True)
    row, column = np.divmod(cell, column.max() + 1)
    shared, groups = count.astype(np.float64), len(size)

    def of_group(values: Floats) -> Floats:
        """Return (G,) sums of (C,) values."""
        return np.bincount(row, weights=values, minlength=groups).astype(np.float64)

    whole = np.bincount(column, weights=shared)[column]  # (C,) texts of the predicted group
    squares = np.bincount(column, weights=shared**2)[column]
    texts = len(np.asarray(true)) - size
    precise = of_group(shared**2 / whole)  # (G,) sums over its texts of B-cubed's precision
    rest = np.where(whole > shared, whole - shared, 1.0)  # where nobody else is, nobody gains
    gained = of_group((squares - shared**2) * shared / (whole * rest))  # by the others, when its texts go
    recalled = of_group(shared**2 / size[row])
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * right / (2 * right + false + unlinked)
        precision = (precise.sum() - precise + gained) / texts
        recall = (recalled.sum() - recalled) / texts
        b3 = 2 * precision * recall / (precision + recall)
        ari = np.where(false + unlinked == 0, 1.0, adjusted_rand(right, false, unlinked, apart))
    return f1, b3, np.where(texts > 0, ari, np.nan)


@dataclass(frozen=True)
class LeftOut:
    """Two groupings of the same texts without each unit, in the order of the units' codes."""

    tables: tuple[Ints, Ints, Ints]
    """(M,) codes, from 0, of the first grouping, of the second, and of both together."""
    unit: Ints
    """(M,) from 0."""
    texts: Floats
    """(G,) number of texts that are left."""
    nothing: bool
    """Whether no unit is left out, so that each place has the value of all texts."""

    @classmethod
    def of(cls, predicted: ArrayLike, label: ArrayLike, unit: ArrayLike, *, nothing: bool = False) -> "LeftOut":
        """Build from (M,) codes each."""
        one, other, whole = (
            np.unique(np.asarray(codes), return_inverse=True)[1].astype(np.int64) for codes in (predicted, label, unit)
        )
        size = np.bincount(whole).astype(np.float64)
        texts = np.full(len(size), float(len(one))) - (0 if nothing else size)
        return cls((one, other, one * (int(other.max()) + 1) + other), whole, texts, nothing)

    def sums(self, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
        """Return three times (G,): the sum over the entries of each table of a function of their numbers of texts."""
        first, second, both = (self._sums(table, of) for table in self.tables)
        return first, second, both

    def pairs(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return four times (G,): pairs of texts of one group of the first, of the second, of both, and all pairs."""
        first, second, both = ((each - self.texts) / 2 for each in self.sums(np.square))
        return first, second, both, self.texts * (self.texts - 1) / 2

    def _sums(self, table: Ints, of: Callable[[Floats], Floats]) -> Floats:
        units, count = len(self.texts), np.bincount(table).astype(np.float64)
        total = float(of(count).sum())
        if self.nothing:
            return np.full(units, total)
        pair, own = np.unique(self.unit * len(count) + table, return_counts=True)  # (C,)
        row, entry = np.divmod(pair, len(count))
        change = of(count[entry] - own) - of(count[entry])
        return np.asarray(total + np.bincount(row, weights=change, minlength=units), np.float64)


def _pairs(shared: ArrayLike, predicted: ArrayLike, true: ArrayLike) -> Confusion:
    """Return the confusion of all pairs, from the numbers of texts of the table's entries, rows and columns."""
    both, marked, right = (int((n * (n - 1) // 2).sum()) for n in map(np.asarray, (shared, predicted, true)))
    count = int(np.asarray(true).sum())
    return Confusion(both, marked - both, right - both, count * (count - 1) // 2 - marked - right + both)


def _adjusted_rand(pairs: Confusion) -> float:
    true, false, unlinked, apart = pairs.true_positive, pairs.false_positive, pairs.false_negative, pairs.true_negative
    return 1.0 if false == unlinked == 0 else float(adjusted_rand(true, false, unlinked, apart))
