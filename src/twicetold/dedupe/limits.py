"""Limits of links by columns: rows may be linked, those with equal values, and those whose values are near each other.

A row without a value is linked with none, not even with an equal text. Groups lie within blocks of equal values. A
window is a condition on links: by the rule `complete` it holds of all pairs of a group, by `average` and `components`
of each step of a chain, so a group of texts that follow each other may span more (`Limits.wide`).

Shape letters: n rows, C pairs, W windows.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import numbered
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.printable import counted
from twicetold.tables.columns import MISSING, Column, Size, codes_of, distances_by, keys_of, size_of

ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of a difference, of the largest value


@dataclass(frozen=True)
class Limits:
    """Limits of links.

    Args:
        block: (n,) rows of different blocks are not linked.
        values: W times (n,) numbers.
        sizes: (W,) how far apart they may be.
        alone: number of rows without a value.
    """

    block: Ints
    values: tuple[Floats, ...] = ()
    sizes: tuple[float, ...] = ()
    alone: int = 0

    @classmethod
    def of(cls, count: int, same: Sequence[Column] = (), within: Sequence[tuple[Column, Size]] = ()) -> "Limits | None":
        """Return the limits of n rows; None if there are none.

        Args:
            count: n.
            same: columns whose values must be equal.
            within: columns, and how far apart their values may be.

        Raises:
            TypeError: if a column has values of a kind that cannot be used.
            ValueError: if a column has another length, a value is no number or date, or a size is none.
        """
        require_list("same", same)
        require_list("within", within, example='[(column, "3d")]')
        for number, pair in enumerate(within):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise TypeError(f'within[{number}]: expected a column and a size, such as (column, "3d")')
        if not len(same) and not len(within):
            return None
        codes = [codes_of(keys_of(column)) for column in same]
        sizes = [size_of(size) for _, size in within]
        values = [distances_by(size)(column) for column, size in within]
        for name, columns in (("same", codes), ("within", values)):
            for number, column in enumerate(columns):
                require_length(f"{name}[{number}]", column, count)
        missing = np.zeros(count, bool)
        block = np.zeros(count, np.int64)
        for code in codes:
            missing |= code == MISSING
            block = numbered(block * (code.max(initial=0) + 2) + code + 1)
        for value in values:
            missing |= np.isnan(value)
        block = numbered(np.where(missing, block.max(initial=0) + 1 + np.arange(count), block))
        reach = tuple(
            size + ROUNDING * float(np.abs(value[~missing]).max(initial=0.0))
            for value, (size, _) in zip(values, sizes, strict=True)
        )
        return cls(block, tuple(np.where(missing, 0.0, value) for value in values), reach, int(missing.sum()))

    def take(self, rows: Ints) -> "Limits":
        """Return the limits of some rows."""
        return Limits(self.block[rows], tuple(value[rows] for value in self.values), self.sizes)

    def allow(self, left: Ints, right: Ints) -> NDArray[np.bool_]:
        """Return (C,) whether rows may be linked."""
        allowed = self.block[left] == self.block[right]
        for value, size in zip(self.values, self.sizes, strict=True):
            allowed &= np.abs(value[left] - value[right]) <= size
        return np.asarray(allowed)

    def wide(self, group: Ints) -> int:
        """Return the number of groups that span more than a window.

        Args:
            group: (n,) group of each row, from 0 without gaps.
        """
        wider = np.zeros(int(group.max(initial=-1)) + 1, bool)
        for value, size in zip(self.values, self.sizes, strict=True):
            order = np.lexsort((value, group))
            starts = np.flatnonzero(np.append(True, np.diff(group[order]) > 0))
            ends = np.append(starts[1:], len(order)) - 1
            wider |= value[order[ends]] - value[order[starts]] > size
        return int(wider.sum())


def require_list(name: str, columns: object, *, example: str = "[column]") -> None:
    """Refuse one column in place of a list of columns.

    Raises:
        TypeError: if there is no list.
    """
    if not isinstance(columns, list | tuple):
        raise TypeError(f"{name}: expected a list, such as {example}, got {type(columns).__name__}")


def require_length(name: str, column: Sized, count: int) -> None:
    """Check that a column has n values.

    Raises:
        ValueError: if it has another number.
    """
    if len(column) != count:
        raise ValueError(f"{name}: expected a value for each of {counted(count, 'text')}, got {len(column):,}")
