"""Cells of dense vectors, so that each is compared with the cells that are nearest to it, and the nearest in these.

k-means divides the vectors into about √n cells, as in an inverted file (Jégou, Douze and Schmid 2011, "Product
quantization for nearest neighbor search", without the quantisation). It uses a sample of the vectors, by a hash
of their positions. A vector is compared with all of the cells whose centres are most similar to it, its own among them,
so a pair is missed only if neither text has the other's cell among these. A cell with several times the mean is divided
again, as the work grows with the squares of their sizes. Cells that centres cannot divide, as of equal vectors, are
cut.

A cell is searched by one product of its visitors with its members, in tiles that begin at its first visitor. So what is
found in it, to the last bit, follows from its visitors and members alone, and tasks may have some of the cells each.

Shape letters: n vectors, d dimensions, C cells, p probes, Q queries, k neighbours, v visitors, m members.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.errors import require
from twicetold.neighbours.components import Ints
from twicetold.neighbours.exact_search import OFTEN, TILE, Hits, rank_in_runs, tile_products, true_places
from twicetold.neighbours.parallel import in_parallel, in_threads, serial_products
from twicetold.neighbours.sample import sample

PROBES = 16  # cells that a vector is compared with
ROUNDS, PER_CENTRE = 10, 64  # of k-means, and vectors that it uses for each centre
LARGEST = 3.0  # vectors of a cell, in means of all cells; a larger one is divided
SEED = 0
PART = 1 << 16  # vectors
BLOCK = 4_000_000  # products with centres that are held at a time (16 MB)
MOST = 4096  # vectors of a cell that are compared with a visitor
Dense: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Cells:
    """Cell of each vector, and those that it is compared with.

    Args:
        member: (n,) vectors in the order of their cells.
        start: (C + 1,) of each cell in `member`.
        visitor: vectors that are compared with a cell, in the order of cells.
        visit: (C + 1,) of each cell in `visitor`.
    """

    member: Ints
    start: Ints
    visitor: Ints
    visit: Ints

    @classmethod
    def of(cls, cells: Ints, own: NDArray[Any], visitor: Ints, visited: NDArray[Any]) -> "Cells":
        """Return all cells, or some of them.

        Args:
            cells: which, ascending.
            own: (n,) cell of each vector, which may be another one.
            visitor: vectors that are compared with one of the cells, in any order.
            visited: which cell each of these is compared with.
        """
        member = np.flatnonzero(np.isin(own, cells))
        member = member[np.argsort(own[member], kind="stable")]
        order = np.argsort(visited, kind="stable")
        start, visit = (np.searchsorted(sorted, cells) for sorted in (own[member], visited[order]))
        return cls(member, np.append(start, len(member)), visitor[order], np.append(visit, len(order)))

    def blocks(self) -> list[tuple[Ints, Ints]]:
        """Return the vectors that are compared with each cell, and those in it."""
        return list(zip(np.split(self.visitor, self.visit[1:-1]), np.split(self.member, self.start[1:-1]), strict=True))

    def hits(self, queries: Dense, texts: Dense, k: int, least: Dense) -> Iterator[Hits]:
        """Yield the `k` nearest members of each visitor of a cell, or a few more, cell by cell.

        Args:
            queries: (Q, d) vectors of visitors.
            texts: (n, d) vectors of members.
            k: at least 1.
            least: (Q,) similarity that is looked for; it may be raised between two cells.

        Raises:
            ValueError: if a similarity is not a number.
        """
        blocks = [block for block in self.blocks() if len(block[0]) and len(block[1])]

        def search(number: int) -> Hits:
            parts = _cut(*blocks[number])
            return Hits.joined([_nearest(queries, some, texts, own, k, least) for some, own in parts])

        yield from in_parallel(search, len(blocks))


def sampled(count: int) -> Ints:
    """Return positions, among so many vectors, of those that centres are computed from."""
    return sample(count, PER_CENTRE * cells_for(count), salt=SEED)


def cells_for(count: int) -> int:
    """Return the approximate number of cells for so many vectors."""
    return max(1, round(math.sqrt(count)))


def centres_of(vectors: Dense, count: int) -> Dense:
    """Return (C, d) centres of about `count` cells of a sample; one thread computes them, so they are always equal."""
    count = min(count, len(vectors))
    centres = _k_means(vectors, count)
    own = nearest_centres(vectors, centres, 1)[:, 0]
    size = np.bincount(own, minlength=len(centres))
    mean = len(vectors) / count
    large = np.flatnonzero(size > LARGEST * mean)
    parts = [_k_means(vectors[own == cell], math.ceil(size[cell] / mean)) for cell in large]
    return np.concatenate([np.delete(centres, large, axis=0), *parts])


def nearest_centres(vectors: Dense, centres: Dense, probes: int) -> NDArray[np.int32]:
    """Return (n, p) the cells with the most similar centres, the most similar first, equal ones by their number.

    A part of the vectors that begins at a multiple of `PART` has the cells that it has in the whole, to the last bit.
    """
    reach = min(probes, len(centres))
    found = np.empty((len(vectors), reach), np.int32)
    step = min(PART, 1 << max(0, (BLOCK // len(centres)).bit_length() - 1))

    def search(block: int) -> None:
        rows = slice(block * step, (block + 1) * step)
        near = vectors[rows] @ centres.T
        for place in range(reach):
            found[rows, place] = nearest = near.argmax(axis=1)
            near[np.arange(len(near)), nearest] = -np.inf

    with serial_products():
        for _ in in_threads(search, math.ceil(len(vectors) / step)):
            pass
    return found


def in_cells(queries: Dense, texts: Dense, centres: Dense, probes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (n,) the cell of each text, and (Q, p) those that each query visits; see `nearest_centres`."""
    visited = nearest_centres(queries, centres, probes)
    return (visited if queries is texts else nearest_centres(texts, centres, 1))[:, 0], visited


def _cut(visitors: Ints, members: Ints) -> list[tuple[Ints, Ints]]:
    """Cut a cell in parts of at most `MOST` members; a visitor visits that in which it is, or would be, by number."""
    parts = math.ceil(len(members) / MOST)
    if parts == 1:
        return [(visitors, members)]
    part = np.minimum(np.searchsorted(members, visitors), len(members) - 1) * parts // len(members)
    edges = -(np.arange(1, parts) * -len(members) // parts)
    return [(visitors[part == number], own) for number, own in enumerate(np.split(members, edges))]


def _nearest(queries: Dense, visitors: Ints, texts: Dense, members: Ints, k: int, least: Dense) -> Hits:
    """Return the hits of visitors among members, as `Cells.hits`."""
    columns, step, parts = texts[members], max(1, TILE // len(members)), []
    for start in range(0, len(visitors), step):
        rows = visitors[start : start + step]
        scores = tile_products(queries[rows], columns)
        require(not np.isnan(scores.max(initial=0)), "a similarity is not a number")
        query, column = _largest(scores, k, least[rows])
        parts.append(Hits(rows[query], members[column], scores[query, column]))
    return Hits.joined(parts)


def _largest(scores: Dense, k: int, least: Dense) -> tuple[Ints, Ints]:
    """Return rows and columns of the k largest of (v, m) scores that are at least (v,) so large, or of a few more."""
    width = scores.shape[1]
    chosen = scores >= least[:, None]
    if np.count_nonzero(chosen) <= OFTEN * k * len(scores) or width <= k:
        query, column = np.divmod(true_places(chosen), width)
        return query, column
    last = np.partition(scores, width - k, axis=1)[:, width - k]
    query, column = np.divmod(true_places(scores >= np.maximum(last, least)[:, None]), width)
    equal = np.flatnonzero(scores[query, column] == last[query])  # more than there is room for: the first ones
    room = k - np.bincount(query, minlength=len(scores)) + np.bincount(query[equal], minlength=len(scores))
    many = equal[rank_in_runs(query[equal]) >= room[query[equal]]]
    return np.delete(query, many), np.delete(column, many)


def _k_means(vectors: Dense, count: int) -> Dense:
    """Return the centres of at most `count` cells, of length 1; a cell that is left without vectors is none."""
    centres = vectors[np.random.default_rng(SEED).choice(len(vectors), count, replace=False)]
    for _ in range(ROUNDS):
        _, own = np.unique(nearest_centres(vectors, centres, 1)[:, 0], return_inverse=True)
        cells = sparse.csr_array((np.ones(len(own), np.float32), own, np.arange(len(own) + 1)))
        centres = np.asarray(cells.T @ vectors)
        centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return centres
