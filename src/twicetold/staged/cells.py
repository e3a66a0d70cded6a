"""Cells of dense vectors, and the links in a cell: all pairs above a threshold, without a limit on neighbours.

A text belongs to the cell whose centre it is most similar to, and visits the next ones. The unit of work is the cell:
each visitor is compared with each member, by one product in tiles. A product's last bits depend on the sizes of its
matrices, so it only says which pairs come near the threshold; what counts is the dot product of the two rows by
themselves, which is the same wherever they are met.

Shape letters: n vectors, C cells, D columns, p visited cells, L links.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.grouping import Floats, Ints, row_dots

PROBES = 16  # cells that a text visits, its own among them
ROUNDS, PER_CENTRE = 10, 64  # of k-means, and texts that it uses for each centre
TILE = 1 << 22  # similarities that are held at once (16 MB)
ROUNDING = 1e-5  # of float32 sums of unit vectors
Vectors = NDArray[np.float32]
Pairs = tuple[Ints, Ints, Floats]


def cells_for(count: int) -> int:
    """How many cells so many texts have."""
    return max(1, round(math.sqrt(count)))


def centres_of(sampled: Vectors, cells: int) -> Vectors:
    """(C, D) centres by spherical k-means of a sample; on one thread, as another order of sums gives other centres."""
    import faiss  # slow to import

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        means = faiss.Kmeans(
            sampled.shape[1],
            min(cells, len(sampled)),
            niter=ROUNDS,
            seed=0,
            spherical=True,
            min_points_per_centroid=1,
            max_points_per_centroid=2 * PER_CENTRE,
        )
        means.train(np.ascontiguousarray(sampled, np.float32))
    finally:
        faiss.omp_set_num_threads(threads)
    return np.ascontiguousarray(means.centroids, np.float32)


def nearest_cells(vectors: Vectors, centres: Vectors, probes: int = PROBES) -> NDArray[np.int32]:
    """(n, p) cells of the most similar centres, the most similar first."""
    probes = min(probes, len(centres))
    found = np.empty((len(vectors), probes), np.int32)
    step = max(1, TILE // len(centres))
    for start in range(0, len(vectors), step):
        similarity = vectors[start : start + step] @ centres.T
        if probes < len(centres):
            near = np.argpartition(similarity, -probes, axis=1)[:, -probes:]
        else:
            near = np.broadcast_to(np.arange(probes), similarity.shape)
        order = np.lexsort((near, -np.take_along_axis(similarity, near, axis=1)), axis=1)
        found[start : start + step] = np.take_along_axis(near, order, axis=1)
    return found


def links_between(
    left: Vectors, left_rows: Ints, right: Vectors, right_rows: Ints, least: float, *, same: bool = False
) -> Iterator[Pairs]:
    """The pairs of a row of one matrix and one of another whose dot product reaches `least`, the lower number first.

    Args:
        left: (n, D) vectors.
        left_rows: (n,) numbers of their texts.
        right: (m, D) vectors.
        right_rows: (m,) numbers of theirs.
        least: of the dot products.
        same: whether both are the same, so that each pair is met twice.
    """
    high = max(1, min(len(left), round(TILE**0.5)))
    wide = max(1, TILE // high)
    for top in range(0, len(left), high):
        for begin in range(top - top % wide if same else 0, len(right), wide):
            similarity = left[top : top + high] @ right[begin : begin + wide].T
            place = np.flatnonzero(similarity.ravel() >= least - ROUNDING)
            row, column = np.divmod(place, similarity.shape[1])
            row, column = row + top, column + begin
            keep = row < column if same else left_rows[row] != right_rows[column]
            row, column = row[keep], column[keep]
            dots = row_dots(left, row, right, column)
            there = dots >= least
            one, other = left_rows[row[there]], right_rows[column[there]]
            yield np.minimum(one, other), np.maximum(one, other), dots[there]
