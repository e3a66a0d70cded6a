"""Who represents a group: a distinct text, or by a column, a row.

Shape letters: m distinct texts, n rows.
"""

import numpy as np

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.options import KEEP_BY, DedupeOptions, KeepBy
from twicetold.dedupe.pairs import PairScores
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.tables.columns import Column, numbers_of, times_of


def representatives(
    pairs: PairScores,
    codes: Ints,
    options: DedupeOptions,
    *,
    distinct: DistinctTexts,
) -> tuple[Ints, Floats]:
    """Return representatives of the group of each distinct text, by the options.

    Args:
        pairs: scores of the texts.
        codes: (m,) group of each.
        options: what represents a group.
        distinct: the texts with their rows.

    Returns:
        (m,) rows, and the (m,) probability that a text says the same; 1 of what represents a group itself.
    """
    if isinstance(options.keep, tuple):
        rows = best_rows(codes[distinct.place], values_to_keep(*options.keep))
        survivor = distinct.place[rows]
    else:
        longest = options.keep == "longest"
        value = np.array([*map(len, distinct.texts)], np.float64) if longest else np.zeros(len(codes))
        survivor = best_rows(codes, value)
        rows = distinct.rows[survivor]
    representative = survivor[codes]
    probability = np.ones(len(codes))
    other = np.flatnonzero(representative != np.arange(len(codes)))
    probability[other] = pairs.probability(pairs.score(other, representative[other]))
    return rows[codes], probability


def values_to_keep(by: KeepBy, values: Column) -> Floats:
    """Return (n,) values by which a column chooses rows: the highest is kept; a missing one only if all are missing.

    Args:
        by: `newest` and `oldest` are of dates, `highest` and `lowest` of numbers.
        values: (n,) of the column.

    Raises:
        TypeError: if the column has values of a kind that cannot be used.
        ValueError: if `by` is unknown, or a value is no date or number.
    """
    if by not in KEEP_BY:
        raise ValueError(f"expected one of {KEEP_BY} to keep by a column, got {by!r}")
    numbers = times_of(values) if by in ("newest", "oldest") else numbers_of(values)
    numbers = numbers if by in ("newest", "highest") else -numbers
    return np.where(np.isnan(numbers), -np.inf, numbers)


def best_rows(group: Ints, value: Floats) -> Ints:
    """Return (groups,) the row of each group with the highest value; of several as good, the first one.

    Args:
        group: (n,) of each row, from 0 without gaps.
        value: (n,) of each row.
    """
    order = np.lexsort((np.arange(len(group)), -value, group))
    return np.asarray(order[np.flatnonzero(np.append(True, np.diff(group[order]) > 0))])
