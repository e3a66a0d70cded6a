"""Search in the parts of an index: exact, or in the cells that are nearest to each query.

In cells, what is nearest by 8 bits is compared again by the memory-mapped vectors, so similarities are those of the
exact search, and a search reads some cells and no more. However the same texts are divided into parts, the same ones
are found.

Shape letters: Q queries, D dimensions, C cells, k neighbours, p cells that a query visits, S parts.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.index.cells import Cells
from twicetold.index.centres import Centres, Dense, whole_numbers
from twicetold.index.hits import Hits, numbers
from twicetold.index.parts import numbered, vectors_of
from twicetold.index.segments import Segment
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import BLOCK, Matrix, reached_by, row_dots

NPROBE = 16  # cells that a query visits, where recall has not been measured
AGAIN, MORE = 2, 20  # of k neighbours, AGAIN k + MORE are compared again by their vectors
Part: TypeAlias = tuple[int, Segment, Cells]
"""Number of its first text, the part, its cells."""


def nearest(
    segments: Sequence[Segment],
    centres: Centres | None,
    queries: Matrix,
    k: int,
    *,
    exact: bool = False,
    nprobe: int = NPROBE,
) -> Hits:
    """At least the `k` nearest of each query by dot products, of `nprobe` cells.

    Args:
        segments: the parts.
        centres: of their cells.
        queries: (Q, D).
        k: at least 1.
        exact: compare with all texts, also where there are cells.
        nprobe: cells that a query visits, at least 1.

    Raises:
        ValueError: if a similarity is not a number.
    """
    found, in_cells = [], []
    for first, segment in numbered(segments):
        if exact or centres is None or segment.cells is None:
            found.append(segment.search(queries, k).moved(row=first))
        else:
            in_cells.append((first, segment, segment.cells))
    if in_cells and centres is not None:
        near = centres.nearest(queries, nprobe)
        for some in _blocks(in_cells, near):
            asked = queries[some]
            rough = _rough(in_cells, asked, near[some], AGAIN * k + MORE)
            found.append(_again(segments, asked, rough).moved(query=some.start))
    return Hits.joined(found)


def above(
    segments: Sequence[Segment], centres: Centres | None, queries: Matrix, least: float, *, most: int, nprobe: int
) -> Hits:
    """The texts whose dot products reach a number, in no order; where there are cells, of `nprobe` of them.

    Args:
        segments: the parts.
        centres: of their cells.
        queries: (Q, D).
        least: the dot product.
        most: of each query, about, in a part without cells: the most similar ones, where there are very many.
        nprobe: cells that a query visits, at least 1.

    Raises:
        ValueError: if a similarity is not a number.
    """
    found, near = [], None if centres is None else centres.nearest(queries, nprobe)
    for first, segment in numbered(segments):
        if near is None or segment.cells is None:
            found.append(segment.above(queries, least, most=most).moved(row=first))
            continue
        for cell, visits in _visits(near):
            rows = slice(*segment.cells.starts[cell : cell + 2].tolist())
            if rows.start < rows.stop:
                own = visits // near.shape[1]
                hits = segment.above_in(queries[own], rows, least)
                found.append(Hits(own[hits.query], hits.row + first, hits.similarity))
    return Hits.joined(found)


def _visits(near: NDArray[np.int32]) -> Iterator[tuple[int, Ints]]:
    """Each visited cell, with the places in (Q, p) `near` that name it."""
    order = np.argsort(near, axis=None, kind="stable")
    cell = near.ravel()[order]
    for start, end in pairwise(np.flatnonzero(np.diff(cell, prepend=-1, append=-1)).tolist()):
        yield int(cell[start]), order[start:end]


def _blocks(parts: Sequence[Part], near: NDArray[np.int32]) -> Iterator[slice]:
    """Queries that are searched for at once, so that their scores fit into a block."""
    ends = np.cumsum(_sizes(parts, near).sum(axis=(1, 2)))
    start = 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + BLOCK, side="right")))
        yield slice(start, stop)
        start = stop


def _sizes(parts: Sequence[Part], near: NDArray[np.int32]) -> Ints:
    """(Q, p, S) rows of each visited cell in each part."""
    return np.stack([np.diff(cells.starts)[near] for *_, cells in parts], axis=2)


def _rough(parts: Sequence[Part], queries: Dense, near: NDArray[np.int32], k: int) -> Hits:
    """The `k` texts of the visited cells that are nearest by 8 bits, and all that are as near as the last of them.

    A cell is read once for all queries that visit it. Its scores go to the places of each query, one after another.
    """
    visits, asked = near.shape[1], whole_numbers(queries)
    sizes = _sizes(parts, near).reshape(-1, len(parts))
    ends = np.cumsum(sizes.ravel())
    place = (ends - sizes.ravel()).reshape(sizes.shape)
    scores = np.empty(ends[-1], np.float32)
    for cell, own in _visits(near):
        own_queries = asked[own // visits]
        for number, (_, segment, cells) in enumerate(parts):
            for at, found in cells.scores(own_queries, cell, segment.alive):
                for row, first in enumerate((place[own, number] + at).tolist()):
                    scores[first : first + found.shape[1]] = found[row]
    best = _best(scores, np.append(0, ends[visits * len(parts) - 1 :: visits * len(parts)]), k)
    slot = np.searchsorted(ends, best.row, side="right")
    begins = np.stack([first + cells.starts for first, _, cells in parts])
    rows = begins[slot % len(parts), near.ravel()[slot // len(parts)]] + best.row - place.ravel()[slot]
    return Hits(best.query, rows, best.similarity)


def _best(scores: Dense, bounds: Ints, k: int) -> Hits:
    """Places of the `k` highest scores of each query, and of all that are as high as the last of them.

    Args:
        scores: of all queries, one after another.
        bounds: (Q + 1,) first score of each query.
        k: at least 1.
    """
    found = []
    for query, (start, end) in enumerate(pairwise(bounds.tolist())):
        if start < end:
            own = scores[start:end]
            least = reached_by(numbers(own[None]), min(k, end - start))[0]
            place = np.flatnonzero((own >= least) & (own > -np.inf))
            found.append(Hits(np.full(len(place), query), place + start, own[place]))
    return Hits.joined(found).nearest(k, with_ties=True)


def _again(segments: Sequence[Segment], queries: Dense, rough: Hits) -> Hits:
    """The same texts with dot products of vectors."""
    if not len(rough.row):
        return rough
    rows, place = np.unique(rough.row, return_inverse=True)
    dots = row_dots(queries, rough.query, vectors_of(segments, rows), place)
    return Hits(rough.query, rough.row, numbers(dots))
