"""Pairs of texts whose search vectors are near each other: those that may be links.

All pairs from a threshold on are found: of sparse vectors (`joining`), and of dense ones up to `EXACT_UP_TO` texts
(`dense_joining`). Of more texts with dense vectors, cells are compared, which may miss pairs (`cells`). Where there is
no threshold, or more pairs reach it than are held, each text is compared with its nearest ones.

Shape letters: m distinct texts, C pairs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.options import EXACT_UP_TO as EXACT_UP_TO
from twicetold.dedupe.options import MOST_NEIGHBOURS
from twicetold.neighbours import cells, dense_joining, joining
from twicetold.neighbours.dense_joining import Found
from twicetold.neighbours.grouping import Ints, Vectors
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
        approximate: whether an approximate index was searched, which may miss pairs.
    """

    left: Ints
    right: Ints
    dots: NDArray[Any]
    unfinished: int
    approximate: bool


def near_pairs(vectors: Vectors, least: float | None, *, neighbours: int) -> NearPairs:
    """Find pairs of texts that are near each other.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        least: dot product of a link: a text whose nearest ones are all linked is searched again for more; None: not.
        neighbours: of each text.
    """
    queries, documents = vectors
    approximate = not is_sparse(documents) and documents.shape[0] > EXACT_UP_TO
    joined = None if least is None else _joined(vectors, least, approximate=approximate)
    if joined is not None:
        return NearPairs(*joined, unfinished=0, approximate=approximate)
    index = Index(documents, approximate=approximate)
    todo, reach = np.arange(len(index)), neighbours
    found: list[tuple[Ints, Ints, NDArray[np.float32]]] = []
    while True:
        near = _search(index, queries if len(todo) == len(index) else queries[todo], reach + 1, approximate=approximate)
        there = (near.index != NOBODY) & (near.index != todo[:, None])
        if least is not None:
            there &= near.similarity >= least
        full = there.sum(axis=1) >= reach
        deeper = min(4 * reach, MOST_NEIGHBOURS)
        held = sum(len(pairs[0]) for pairs in found)
        last = least is None or deeper == reach or not full.any() or held + full.sum() * deeper > MOST_PAIRS
        row, column = np.nonzero(there if last else there & ~full[:, None])
        found.append((todo[row], near.index[row, column], near.similarity[row, column]))
        if last:
            left, right, similarity = (np.concatenate(part) for part in zip(*found, strict=True))
            unfinished = 0 if least is None else int(full.sum())
            return NearPairs(*_once(len(index), left, right, similarity), unfinished, approximate)
        todo, reach = todo[full], deeper


def _joined(vectors: Vectors, least: float, *, approximate: bool) -> Found | None:
    """All pairs from a dot product on, or with `approximate` most of them; None if another search costs less."""
    queries, documents = vectors
    if not is_sparse(documents):
        join = cells.pairs_in_cells if approximate else dense_joining.pairs_above
        return join(vectors, least, most=MOST_PAIRS)
    return joining.pairs_above(queries, least, most=MOST_PAIRS) if least > 0 and documents is queries else None


def _once(
    count: int, left: Ints, right: Ints, similarity: NDArray[np.float32]
) -> tuple[Ints, Ints, NDArray[np.float32]]:
    """Each pair once, whichever of its texts found the other."""
    keys, first = np.unique(np.minimum(left, right) * count + np.maximum(left, right), return_index=True)
    return keys // count, keys % count, similarity[first]


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
