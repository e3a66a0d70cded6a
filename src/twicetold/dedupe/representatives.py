"""What stands for a group: a distinct text, by links and vectors, or a row, by a column.

Shape letters: m distinct texts, n rows.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from twicetold.dedupe.options import KEEP_BY, Keep, KeepBy
from twicetold.neighbours.grouping import Floats, Ints, Links, Vectors
from twicetold.neighbours.nearest import row_dots
from twicetold.tables.columns import Column, numbers_of, times_of


def representatives(codes: Ints, links: Links, keep: Keep, lengths: ArrayLike, vectors: Vectors | None) -> Ints:
    """(groups,) the distinct text that stands for each group; of several as good the first one.

    Args:
        codes: (m,) group of each text.
        links: between them.
        keep: what the text has most of.
        lengths: (m,) of the texts, in characters.
        vectors: of the texts; None: links say what is central.
    """
    first = np.unique(codes, return_index=True)[1]
    if keep == "first":
        return first
    worth = np.asarray(lengths, np.float64) if keep == "longest" else _centrality(codes, links, vectors)
    order = np.lexsort((np.arange(len(codes)), -worth, codes))
    return order[np.searchsorted(codes[order], np.arange(len(first)))]


def _centrality(codes: Ints, links: Links, vectors: Vectors | None) -> Floats:
    """(m,) sum of the similarities of a text to the others of its group; without vectors, of its links in the group."""
    inside = codes[links.left] == codes[links.right]
    if vectors is None:
        ends = np.concatenate([links.left[inside], links.right[inside]])
        weights = np.tile(links.similarity[inside], 2)
        return np.bincount(ends, weights=weights, minlength=len(codes)).astype(np.float64)
    several = np.flatnonzero(np.bincount(codes)[codes] > 2)  # of two texts, both are as central
    worth = np.zeros(len(codes))
    if len(several):
        groups, place = np.unique(codes[several], return_inverse=True)
        shape = (len(groups), len(several))
        belongs = sparse.csr_matrix((np.ones(len(several), np.float32), (place, np.arange(len(several)))), shape=shape)
        mine, others = vectors[0][several], vectors[1][several]
        rows = np.arange(len(several))
        worth[several] = row_dots(mine, rows, belongs @ others, place) - row_dots(mine, rows, others, rows)
    return worth


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
