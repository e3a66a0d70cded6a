"""All pairs of rows with a dot product from a threshold on, by the products of all rows.

Products of blocks say which pairs reach the threshold or nearly do, and each of these is compared by itself. So what is
found does not depend on how rows come in blocks, as in `dense_joining` and `joining`. Sparse rows that share no column
are not found, whatever the threshold.

Shape letters: n queries, m documents, L pairs.
"""

import numpy as np

from twicetold.neighbours.dense_joining import Found, gathered, links_between
from twicetold.neighbours.grouping import Ints, Vectors, row_dots
from twicetold.neighbours.nearest import Matrix, products
from twicetold.neighbours.parallel import in_parallel

BLOCK = 16_000_000  # products that are held at a time by each thread (64 MB)
ROUNDING = 1e-5  # of float32 sums, of the threshold or of 1
SHARED = float(np.finfo(np.float32).tiny)  # the least product of sparse rows that share a column


def links_of(queries: Matrix, documents: Matrix, threshold: float) -> Found:
    """The pairs of a query and a document with a dot product of at least the threshold.

    Args:
        queries: (n, D), dense or CSR.
        documents: (m, D), alike.
        threshold: of dot products.

    Returns:
        Rows of the queries, rows of the documents and dot products, each (L,).
    """
    if isinstance(queries, np.ndarray):
        return links_between(queries, documents, threshold)
    near = products(queries, documents)(slice(None)) >= _nearly(threshold)
    left, right = np.nonzero(near)
    return _checked(queries, documents, left, right, threshold)


def pairs_above(vectors: Vectors, threshold: float, *, most: int) -> Found | None:
    """The pairs i < j with ⟨query_i, document_j⟩ >= threshold.

    Args:
        vectors: (n, D) CSR as queries and as documents, whose dot products are the same for both orders of a pair.
        threshold: of dot products.
        most: of these pairs.

    Returns:
        The earlier rows, the later ones and the dot products; None if there are more than `most` pairs.
    """
    queries, documents = vectors
    count = queries.shape[0]
    step = max(1, BLOCK // max(1, count))
    product = products(queries, documents)

    def compare(number: int) -> Found:
        start = number * step
        left, right = np.nonzero(product(slice(start, start + step)) >= _nearly(threshold))
        left += start
        later = right > left
        return _checked(queries, documents, left[later], right[later], threshold)

    return gathered(in_parallel(compare, -(-count // step)), most)


def _nearly(threshold: float) -> float:
    return max(threshold - ROUNDING * max(1.0, threshold), SHARED)


def _checked(queries: Matrix, documents: Matrix, left: Ints, right: Ints, threshold: float) -> Found:
    dots = row_dots(queries, left, documents, right)
    keep = dots >= max(threshold, SHARED)
    return left[keep], right[keep], dots[keep]
