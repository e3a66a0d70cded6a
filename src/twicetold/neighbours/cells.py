"""Most pairs of many dense vectors with a dot product of at least a threshold, by cells.

k-means divides the vectors into about √n cells, as in an inverted file (Jégou, Douze and Schmid 2011, "Product
quantization for nearest neighbor search", without the quantisation). It uses a sample of the vectors, by a hash
of their positions. A vector is compared with all of the cells whose centres are most similar to it, its own among them,
so a pair is missed only if neither text has the other's cell among these. A cell is a block of `dense_join`, whose
bounds make it faster than a range search in faiss's inverted file. A cell with several times the mean is divided again,
as the work grows with the squares of their sizes.

Shape letters: n vectors, d dimensions, C cells, p probes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.dense_join import Dense, Pairs, gathered, pairs_of_blocks, spread
from twicetold.neighbours.grouping import Ints, Vectors
from twicetold.neighbours.parallel import in_threads, serial_products
from twicetold.neighbours.sample import sample

PROBES = 16  # cells that a vector is compared with
ROUNDS, PER_CENTRE = 10, 64  # of k-means, and vectors that it uses for each centre
LARGEST = 3.0  # vectors of a cell, in means of all cells; a larger one is divided
SEED = 0
PART = 1 << 16  # vectors
BLOCK = 4_000_000  # products with centres that are held at a time (16 MB)
SAMPLED, SETS = 200, 20  # vectors of each side whose pairs say how many columns cost least, and number of such cells


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

    def pairs(self, vectors: Vectors, threshold: float) -> Iterator[Pairs]:
        """Return the pairs of a visitor and a member of each cell with ⟨query, document⟩ >= threshold, cell by cell.

        Args:
            vectors: (n, d) as queries and as documents.
            threshold: of dot products.
        """
        blocks = self.blocks()
        filled = [block for block in blocks if len(block[1])]
        some = [filled[place] for place in spread(len(filled), SETS)]
        samples = [(one[spread(len(one), SAMPLED)], own[spread(len(own), SAMPLED)]) for one, own in some]
        return pairs_of_blocks(vectors, threshold, blocks, ordered=False, samples=samples)


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


def most_self_pairs(vectors: Vectors, threshold: float, *, most: int) -> Pairs | None:
    """Find most pairs i < j with ⟨query_i, document_j⟩ >= threshold, each once; as `dense_join.dense_self_pairs`."""
    queries, documents = vectors
    count = len(documents)
    centres = centres_of(documents[sampled(count)], cells_for(count))
    asked = nearest_centres(queries, centres, PROBES)
    own = asked[:, 0] if queries is documents else nearest_centres(documents, centres, 1)[:, 0]
    cells = Cells.of(np.arange(len(centres)), own, np.repeat(np.arange(len(asked)), asked.shape[1]), asked.ravel())
    found = gathered(cells.pairs(vectors, threshold), 2 * most)
    pairs = None if found is None else once(count, *found)
    return None if pairs is None or len(pairs[0]) > most else pairs


def once(count: int, left: Ints, right: Ints, dots: NDArray[Any]) -> Pairs:
    """Return each pair once, whichever of its texts found the other."""
    keys, first = np.unique(np.minimum(left, right) * count + np.maximum(left, right), return_index=True)
    return keys // count, keys % count, dots[first]


def _k_means(vectors: Dense, count: int) -> Dense:
    import faiss  # slow to import, and most searches are exact

    faiss.omp_set_num_threads(1)  # another order of sums would give other centres
    means = faiss.Kmeans(
        vectors.shape[1],
        count,
        niter=ROUNDS,
        seed=SEED,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=2 * PER_CENTRE,  # all of the sample
    )
    means.train(np.ascontiguousarray(vectors, np.float32))
    return np.ascontiguousarray(means.centroids, np.float32)
