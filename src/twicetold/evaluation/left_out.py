"""Sums over the table of two groupings without each unit: what measures of their agreement by the jackknife begin with.

Measures of agreement follow from sums of a function of the numbers of texts in the entries of the table, and over its
margins. Leaving a unit out changes only the entries that it has texts in, so all G values take one pass.

Shape letters: M texts, G units, C entries of a table that have texts of a unit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.ranking import Floats

Ints: TypeAlias = NDArray[np.int64]


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
        """From (M,) codes each."""
        one, other, whole = (
            np.unique(np.asarray(codes), return_inverse=True)[1].astype(np.int64) for codes in (predicted, label, unit)
        )
        size = np.bincount(whole).astype(np.float64)
        texts = np.full(len(size), float(len(one))) - (0 if nothing else size)
        return cls((one, other, one * (int(other.max()) + 1) + other), whole, texts, nothing)

    def sums(self, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
        """Three times (G,): the sum over the entries of each table of a function of their numbers of texts."""
        first, second, both = (self._sums(table, of) for table in self.tables)
        return first, second, both

    def pairs(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Four times (G,): pairs of texts of one group of the first, of the second, of both, and all pairs."""
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
