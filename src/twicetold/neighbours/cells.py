"""Most pairs of many dense vectors with a dot product from a threshold on, by cells.

k-means divides the vectors into about √n cells, as in an inverted file (Jégou, Douze and Schmid 2011, "Product
quantization for nearest neighbor search", without the quantisation). It uses a sample of the vectors, by a hash
of their positions. A vector is compared with all of the cells whose centres are most similar to it, its own among them,
so a pair is missed only if neither text has the other's cell among these. The unit of work is a cell, with the links of
`dense_joining.links_between`. A cell with several times the mean is divided again, as the work grows with the squares
of their sizes.

Shape letters: n vectors, d dimensions, C cells, p probes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.dense_joining import Dense, Found, Turn, compared, gathered, nearly_above, spread
from twicetold.neighbours.grouping import Ints, Vectors
from twicetold.neighbours.parallel import in_threads, serial_products
from twicetold.neighbours.sample import sample

PROBES = 16  # cells that a vector is compared with
ROUNDS, PER_CENTRE = 10, 64  # of k-means, and vectors that it uses for each centre
LARGEST = 3.0  # vectors of a cell, in means of all cells; a larger one is divided
SEED = 0
PART = 1 << 16  # vectors
BLOCK = 4_000_000  # products with centres that are held at a time (16 MB)
ALIKE, SETS = 200, 20  # vectors of each side whose pairs say how many columns cost least, and number of such cells


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
    def of(cls, vectors: Vectors, centres: Dense, *, probes: int) -> "Cells":
        """By (C, d) centres."""
        queries, documents = vectors
        asked = nearest_centres(queries, centres, probes)
        own = asked[:, 0] if queries is documents else nearest_centres(documents, centres, 1)[:, 0]
        cells = np.arange(len(centres) + 1)
        member = np.argsort(own, kind="stable")
        visitor = np.argsort(asked.ravel(), kind="stable")
        visit = np.searchsorted(asked.ravel()[visitor], cells)
        return cls(member, np.searchsorted(own[member], cells), visitor // asked.shape[1], visit)

    def __len__(self) -> int:
        return len(self.start) - 1

    def members(self, cell: int) -> Ints:
        """The vectors in a cell."""
        return self.member[self.start[cell] : self.start[cell + 1]]

    def visitors(self, cell: int) -> Ints:
        """The vectors that are compared with those of a cell."""
        return self.visitor[self.visit[cell] : self.visit[cell + 1]]


def sampled(count: int) -> Ints:
    """Positions, among so many vectors, of those that centres are found with."""
    return sample(count, PER_CENTRE * cells_for(count), salt=SEED)


def cells_for(count: int) -> int:
    """How many cells so many vectors have, about."""
    return max(1, round(math.sqrt(count)))


def centres_of(vectors: Dense, count: int, *, seed: int = SEED) -> Dense:
    """(C, d) centres of about `count` cells; one thread finds them, so the same vectors and seed give the same centres.

    Args:
        vectors: the sample.
        count: of cells.
        seed: of k-means.
    """
    count = min(count, len(vectors))
    centres = _k_means(vectors, count, seed)
    own = nearest_centres(vectors, centres, 1)[:, 0]
    size = np.bincount(own, minlength=len(centres))
    mean = len(vectors) / count
    large = np.flatnonzero(size > LARGEST * mean)
    parts = [_k_means(vectors[own == cell], math.ceil(size[cell] / mean), seed) for cell in large]
    return np.concatenate([np.delete(centres, large, axis=0), *parts])


def nearest_centres(vectors: Dense, centres: Dense, probes: int) -> NDArray[np.int32]:
    """(n, p) the cells with the most similar centres, the most similar first, equal ones by their number.

    A part of the vectors that begins at a multiple of `PART` has the cells that it has in the whole, to the last bit.
    """
    reach = min(probes, len(centres))
    found = np.empty((len(vectors), reach), np.int32)
    step = min(PART, 1 << max(0, (BLOCK // len(centres)).bit_length() - 1))

    def search(block: int) -> None:
        rows = slice(block * step, (block + 1) * step)
        near = vectors[rows] @ centres.T
        if reach == 1:
            found[rows, 0] = near.argmax(axis=1)
            return
        some = np.sort(np.argpartition(-near, reach - 1, axis=1)[:, :reach], axis=1)
        order = np.argsort(-np.take_along_axis(near, some, axis=1), axis=1, kind="stable")
        found[rows] = np.take_along_axis(some, order, axis=1)

    with serial_products():
        for _ in in_threads(search, math.ceil(len(vectors) / step)):
            pass
    return found


def pairs_in_cells(vectors: Vectors, threshold: float, *, most: int) -> Found | None:
    """Most of the pairs i < j with ⟨query_i, document_j⟩ >= threshold, each once.

    Args:
        vectors: (n, d) as queries and as documents, whose dot products are the same for both orders of a pair.
        threshold: of dot products.
        most: of these pairs.

    Returns:
        The earlier rows, the later ones and the dot products; None if there are more than `most` pairs.
    """
    documents = vectors[1]
    count = len(documents)
    centres = centres_of(documents[sampled(count)], cells_for(count))
    parts = links_in(Cells.of(vectors, centres, probes=PROBES), vectors, threshold)
    found = gathered(parts, 2 * most)
    return None if found is None else once(count, *found, most=most)


def links_in(cells: Cells, vectors: Vectors, threshold: float) -> Iterator[Found]:
    """The pairs of a visitor and a member of each cell with ⟨query, document⟩ >= threshold, cell by cell.

    Args:
        cells: of the vectors.
        vectors: (n, d) as queries and as documents.
        threshold: of dot products.
    """
    queries, documents = vectors
    turn = Turn.of(vectors, threshold, _alike(cells))
    heads = turn.reduced(documents)
    asked = heads if queries is documents else turn.reduced(queries)

    def compare(cell: int) -> Found:
        rows, columns = cells.visitors(cell), cells.members(cell)
        left, right = nearly_above(asked[rows], heads[columns], threshold)
        left, right = rows[left], columns[right]
        apart = left != right
        return compared(queries, left[apart], documents, right[apart], threshold)

    with serial_products():
        yield from in_threads(compare, len(cells))


def once(count: int, left: Ints, right: Ints, dots: NDArray[Any], *, most: int) -> Found | None:
    """Each pair once, whichever of its texts found the other; None if there are more than `most`."""
    keys, first = np.unique(np.minimum(left, right) * count + np.maximum(left, right), return_index=True)
    return None if len(keys) > most else (keys // count, keys % count, dots[first])


def _alike(cells: Cells) -> list[tuple[Ints, Ints]]:
    """Some vectors that are compared with some cells, and some of these cells'."""
    there = np.flatnonzero(np.diff(cells.start))
    sides = ((cells.visitors(int(cell)), cells.members(int(cell))) for cell in there[spread(len(there), SETS)])
    return [(some[spread(len(some), ALIKE)], own[spread(len(own), ALIKE)]) for some, own in sides]


def _k_means(vectors: Dense, count: int, seed: int) -> Dense:
    import faiss  # slow to import, and most searches are exact

    faiss.omp_set_num_threads(1)  # another order of sums would give other centres
    means = faiss.Kmeans(
        vectors.shape[1],
        count,
        niter=ROUNDS,
        seed=seed,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=2 * PER_CENTRE,  # all of the sample
    )
    means.train(np.ascontiguousarray(vectors, np.float32))
    return np.ascontiguousarray(means.centroids, np.float32)
