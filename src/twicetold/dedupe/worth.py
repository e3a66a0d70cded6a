"""Which row of a group is kept, by a column.

Shape letters: n rows.
"""

import numpy as np

from twicetold.dedupe.options import KEEP_BY, KeepBy
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.tables.columns import Column, numbers_of, times_of


def worth_of(by: KeepBy, values: Column) -> Floats:
    """(n,) worth of rows by a column: the highest is kept, and a row without a value only if no other has one.

    Args:
        by: `newest` and `oldest` are of dates, `highest` and `lowest` of numbers.
        values: (n,) of the column.

    Raises:
        TypeError: if the column has values of a kind that cannot be used.
        ValueError: if `by` is unknown, or a value is no date or number.
    """
    if by not in KEEP_BY:
        raise ValueError(f"expected one of {KEEP_BY} to keep by a column, got {by!r}")
    found = times_of(values) if by in ("newest", "oldest") else numbers_of(values)
    found = found if by in ("newest", "highest") else -found
    return np.where(np.isnan(found), -np.inf, found)


def most_worth(group: Ints, worth: Floats) -> Ints:
    """(groups,) the row of each group that is worth most; of several as good, the first one.

    Args:
        group: (n,) of each row, from 0 without gaps.
        worth: (n,) of each row.
    """
    order = np.lexsort((np.arange(len(group)), -worth, group))
    return np.asarray(order[np.flatnonzero(np.append(True, np.diff(group[order]) > 0))])
