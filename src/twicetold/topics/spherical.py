r"""Clusters of directions: spherical k-means, and Ward's agglomeration of unit vectors.

Dhillon and Modha 2001, "Concept decompositions for large sparse text data using clustering": with unit vectors x and
unit centres c, k-means maximises

    Σ_x ⟨x, c_{topic(x)}⟩,   topic(x) = argmax_t ⟨x, c_t⟩,   c_t = Σ_{x in t} x / ‖Σ_{x in t} x‖

in turns, from centres by k-means++ (Arthur and Vassilvitskii 2007), whose squared distance is 2 − 2⟨x, c⟩ here. The
best of a few starts is kept. A large set is clustered by a sample of it; then each vector goes to its nearest centre.
Centres of sparse vectors stay sparse. No array has a row for each pair of texts.

Ward's agglomeration (1963) joins the two clusters whose union adds least to the squared distances. It compares all
pairs, so it is for few vectors.

Shape letters: n vectors, D dimensions, T clusters, b rows of a block.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.nearest import Matrix, products

STARTS = 4
ROUNDS = 50  # of a start, at most; headlines need about ten
SAMPLE, PER_CLUSTER = 50_000, 256  # vectors that centres are learnt from: the larger of both, the second one a cluster
BLOCK = 4_000_000  # products held at a time (16 MB)
SAME = 1e-5  # squared distance of vectors that are equal but for rounding
MOST_AGGLOMERATED = 5_000  # vectors; their distances take some 500 MB at most
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Clusters:
    """Clusters, the largest first; of equal ones, the one with the first vector."""

    label: Ints
    """(n,) from 0; no cluster is empty."""
    closeness: Floats
    """(n,) cosine of each vector with the centre of its cluster."""
    centre: Matrix
    """(T, D) unit vectors, dense or CSR as the vectors are."""


def unit(vectors: Matrix) -> Matrix:
    """(n, D) vectors at length 1; those without a direction stay 0."""
    if sparse.issparse(vectors):
        rows = vectors.tocsr().astype(np.float32)
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64)).ravel()
        return sparse.diags(_inverse(length)).dot(rows).tocsr().astype(np.float32)
    dense = np.asarray(vectors, np.float32)
    return dense * _inverse(np.linalg.norm(dense.astype(np.float64), axis=1)).astype(np.float32)[:, None]


def spherical_k_means(vectors: Matrix, count: int, *, seed: int = 0) -> Clusters:
    """Cluster unit vectors into `count` clusters, or fewer if they have fewer directions.

    Args:
        vectors: (n, D) of length 1, dense or CSR.
        count: of clusters, from 1 to n.
        seed: of samples and starts; the same seed gives the same clusters.
    """
    random, number = np.random.default_rng(seed), vectors.shape[0]
    learnt_from = max(SAMPLE, PER_CLUSTER * count)
    sample = vectors
    if number > learnt_from:
        sample = vectors[np.sort(random.choice(number, learnt_from, replace=False))]
    best, most = None, -np.inf
    for _ in range(STARTS if count > 1 else 1):
        centre = _descend(sample, _spread(sample, count, random))
        closeness = nearest_centre(sample, centre)[1].sum(dtype=np.float64)
        if closeness > most + 1e-9:
            best, most = centre, closeness
    return _ordered(*nearest_centre(vectors, best), best)


def ward(vectors: Matrix, count: int) -> Clusters:
    """Cluster unit vectors by Ward's agglomeration; arguments as of `spherical_k_means`.

    Raises:
        ValueError: if there are more than `MOST_AGGLOMERATED`.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    number = vectors.shape[0]
    require_few(number)
    if number == 1:
        label = np.zeros(1, np.int64)
    else:
        cosine = vectors @ vectors.T
        cosine = cosine.toarray() if sparse.issparse(cosine) else cosine
        np.fill_diagonal(cosine, 1)
        joined = linkage(squareform(np.sqrt(_squares(cosine)), checks=False), "ward")
        label = fcluster(joined, SAME, "distance")  # equal vectors are together, however many clusters are asked for
        if label.max() > count:
            label = fcluster(joined, count, "maxclust")
        label = label.astype(np.int64) - 1
    centre = _means(vectors, label, int(label.max()) + 1)
    closeness = np.empty(number, np.float32)
    for rows, dots in _dots(vectors, centre):
        closeness[rows] = np.take_along_axis(dots, label[rows, None], axis=1)[:, 0]
    return _ordered(label, closeness, centre)


def require_few(number: int) -> None:
    """Check that so many texts can be agglomerated.

    Raises:
        ValueError: if they are more than `MOST_AGGLOMERATED`.
    """
    if number > MOST_AGGLOMERATED:
        raise ValueError(
            f"agglomerative compares all pairs of texts, so it is for at most {MOST_AGGLOMERATED:,} of them, got "
            f"{number:,}: use kmeans, or a sample of the texts"
        )


def nearest_centre(vectors: Matrix, centre: Matrix) -> tuple[Ints, Floats]:
    """Twice (n,): the centre with the largest product with each vector, of equal ones the first, and that product."""
    label, closeness = np.empty(vectors.shape[0], np.int64), np.empty(vectors.shape[0], np.float32)
    for rows, dots in _dots(vectors, centre):
        label[rows] = dots.argmax(axis=1)
        closeness[rows] = dots.max(axis=1)
    return label, closeness


def _dots(vectors: Matrix, centre: Matrix) -> Iterator[tuple[slice, Floats]]:
    """Rows of a block, and their (b, T) products with the centres."""
    product = products(vectors, centre)
    step = max(1, BLOCK // centre.shape[0])
    for start in range(0, vectors.shape[0], step):
        rows = slice(start, min(start + step, vectors.shape[0]))
        yield rows, product(rows).numpy()


def _spread(vectors: Matrix, count: int, random: np.random.Generator) -> Matrix:
    """(T, D) first centres by k-means++; fewer than `count` if the vectors have fewer directions."""
    chosen = [int(random.integers(vectors.shape[0]))]
    distance = _distance(vectors, chosen[-1])
    while len(chosen) < count and distance.max() > 0:
        upto = np.cumsum(distance)
        chosen.append(int(np.searchsorted(upto, random.random() * upto[-1], side="right")))
        distance = np.minimum(distance, _distance(vectors, chosen[-1]))
    return vectors[np.array(chosen)]


def _distance(vectors: Matrix, row: int) -> NDArray[np.float64]:
    """(n,) squared distance of each vector from one of them."""
    one = vectors[[row]].toarray()[0] if sparse.issparse(vectors) else vectors[row]
    return _squares(vectors @ one)


def _squares(cosine: Floats) -> NDArray[np.float64]:
    """Squared distances of unit vectors from their cosines; rounding makes no distance of none."""
    distance = 2 - 2 * cosine.astype(np.float64)
    return np.where(distance < SAME, 0, distance)


def _descend(vectors: Matrix, centre: Matrix) -> Matrix:
    """(T, D) centres after rounds of k-means, until no vector changes its cluster."""
    former = None
    for _ in range(ROUNDS):
        label, closeness = nearest_centre(vectors, centre)
        label = _refilled(label, closeness, centre.shape[0])
        if former is not None and np.array_equal(label, former):
            break
        centre, former = _means(vectors, label, centre.shape[0]), label
    return centre


def _refilled(label: Ints, closeness: Floats, count: int) -> Ints:
    """Give each empty cluster the vector that is furthest from its centre, of those whose cluster has others."""
    size = np.bincount(label, minlength=count)
    empty = np.flatnonzero(size == 0)
    if not len(empty):
        return label
    label, waiting = label.copy(), iter(empty.tolist())
    target = next(waiting)
    for row in np.argsort(closeness, kind="stable").tolist():
        if size[label[row]] > 1:
            size[label[row]] -= 1
            label[row] = target
            if (following := next(waiting, None)) is None:
                break
            target = following
    return label


def _means(vectors: Matrix, label: Ints, count: int) -> Matrix:
    """(T, D) mean directions."""
    number = len(label)
    member = sparse.csr_matrix((np.ones(number, np.float32), (label, np.arange(number))), (count, number))
    return unit(member @ vectors)


def _ordered(label: Ints, closeness: Floats, centre: Matrix) -> Clusters:
    """Clusters without empty ones, the largest first."""
    there, first, label, size = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -size))
    place = np.empty(len(there), np.int64)
    place[order] = np.arange(len(there))
    return Clusters(place[label], np.clip(closeness, -1, 1), centre[there[order]])


def _inverse(length: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1, length, out=np.zeros_like(length), where=length > 0)
