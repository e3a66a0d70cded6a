"""Pairs of texts whose search vectors are near each other: those that may be links.

All pairs from a threshold on are found: of sparse vectors (`joining`), of those that are sparse and dense
(`mixed_joining`), and of dense ones (`dense_joining`). Of more than `EXACT_UP_TO` texts, dense vectors are compared in
cells, which may miss pairs (`cells`). Where a join costs more than to compare all texts, these are compared
(`comparing`). Where there is no threshold, or more pairs reach it than are held, each text is compared with its nearest
ones.

Shape letters: m distinct texts, C pairs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.options import EXACT_UP_TO as EXACT_UP_TO
from twicetold.neighbours import cells, comparing, dense_joining, joining, mixed_joining
from twicetold.neighbours.dense_joining import Found
from twicetold.neighbours.grouping import Ints, Merges, Vectors
from twicetold.neighbours.nearest import NOBODY, Index, Matrix, NearestTexts
from twicetold.neighbours.parallel import in_threads

MOST_PAIRS = 30_000_000  # pairs that are held
QUERIES = 8192  # texts that are searched for at a time in an approximate index


@dataclass(frozen=True)
class NearPairs:
    """Pairs of distinct texts that are near each other, each once.

    Args:
        left: (C,) the earlier text.
        right: (C,) the later one.
        dots: (C,) dot products of their vectors.
        unfinished: number of texts that may have more links.
        approximate: whether vectors were compared in cells, which may miss pairs.
        start: merges of dense places, which come before all others.
    """

    left: Ints
    right: Ints
    dots: NDArray[Any]
    unfinished: int
    approximate: bool
    start: Merges | None = None


def near_pairs(vectors: Vectors, least: float | None, *, neighbours: int) -> NearPairs:
    """Find pairs of texts that are near each other.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        least: dot product of a link: all pairs from it on are found, unless there are more than are held; None: as many
            as `neighbours` of each text.
        neighbours: of each text.
    """
    queries, documents = vectors
    count = documents.shape[0]
    large = count > EXACT_UP_TO
    if least is not None:
        found, approximate = _joined(vectors, least, large=large)
        if found is not None:
            return NearPairs(*found, unfinished=0, approximate=approximate)
        neighbours = held(count, neighbours)
    approximate = large and not is_sparse(documents)
    index = Index(documents, approximate=approximate)
    near = _search(index, queries, min(neighbours + 1, count), approximate=approximate)
    there = (near.index != NOBODY) & (near.index != np.arange(count)[:, None])
    if least is not None:
        there &= near.similarity >= least
    row, column = np.nonzero(there)
    unfinished = 0 if least is None else int((there.sum(axis=1) >= neighbours).sum())
    pairs = cells.once(count, row, near.index[row, column], near.similarity[row, column], most=len(row))
    assert pairs is not None
    return NearPairs(*pairs, unfinished, approximate)


def held(count: int, neighbours: int) -> int:
    """How many of each text are held, at least `neighbours`, where there are more pairs than `MOST_PAIRS`."""
    return max(neighbours, MOST_PAIRS // count)


def _joined(vectors: Vectors, least: float, *, large: bool) -> tuple[Found | None, bool]:
    """All pairs from a dot product on, or most of them, and whether some may be missing; None if they are too many."""
    queries, documents = vectors
    if not is_sparse(documents):
        join = cells.pairs_in_cells if large else dense_joining.pairs_above
        return join(vectors, least, most=MOST_PAIRS), large
    if least > 0 and documents is queries:
        columns = mixed_joining.dense_columns(documents)
        if len(columns):
            found = mixed_joining.pairs_above(documents, columns, least, most=MOST_PAIRS, approximate=large)
        else:
            found = joining.pairs_above(documents, least, most=MOST_PAIRS)
        if found is not None:
            return found, large and len(columns) > 0
    return comparing.pairs_above(vectors, least, most=MOST_PAIRS), False


def _search(index: Index, queries: Matrix, k: int, *, approximate: bool) -> NearestTexts:
    if not approximate:  # it has threads of its own
        return index.search(queries, k=k)
    blocks = math.ceil(queries.shape[0] / QUERIES)
    found = list(in_threads(lambda b: index.search(queries[b * QUERIES : (b + 1) * QUERIES], k=k), blocks))
    return NearestTexts(
        np.concatenate([each.index for each in found]), np.concatenate([each.similarity for each in found])
    )


def is_sparse(matrix: Any) -> bool:
    """Whether it is a CSR matrix."""
    return not isinstance(matrix, np.ndarray)
