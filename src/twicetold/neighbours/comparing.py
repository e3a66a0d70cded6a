"""All pairs of rows with a dot product from a threshold on, by the products of all rows.

Rows of sparse vectors that share many columns, such as lines of one template, are compared by dense bounds: the columns
that many rows have, f, as they are, and of all others the norms p in each of `BASKETS` baskets. By the Cauchy-Schwarz
inequality

    ⟨x, y⟩ <= ⟨f_x, f_y⟩ + ⟨p_x, p_y⟩

so a join of dense vectors (`dense_joining`) leaves few pairs. Where it leaves more than `LOOSE`, sparse rows are
multiplied.

Products of blocks say which pairs reach the threshold or nearly do, and each of these is compared by itself. So what is
found does not depend on how rows come in blocks, as in `dense_joining` and `joining`. Sparse rows that share no column
are not found, whatever the threshold.

Shape letters: n queries, m documents, D columns, F of them that many rows have, B baskets, L pairs.
"""

from typing import Any

import numpy as np
from scipy import sparse

from twicetold.neighbours import dense_joining
from twicetold.neighbours.dense_joining import Dense, Found, gathered, links_between
from twicetold.neighbours.grouping import Ints, Vectors, row_dots
from twicetold.neighbours.nearest import Matrix, products
from twicetold.neighbours.parallel import in_parallel

BLOCK = 16_000_000  # products that are held at a time by each thread (64 MB)
BASKETS, OFTEN, MOST_OFTEN = 256, 0.02, 1024  # share of rows that have a column of the bounds, and most columns
SAMPLE, LOOSE = 1000, 0.02  # rows whose pairs say how good bounds are, and share of pairs that may reach the threshold
ROWS = 65_536  # that are divided at a time
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
    if queries is documents and threshold > 0 and (bounds := _bounds(documents, threshold)) is not None:

        def check(left: Ints, right: Ints) -> Found:
            return _checked(documents, documents, left, right, threshold)

        return dense_joining.pairs_above((bounds, bounds), _nearly(threshold), most=most, check=check)
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


def _bounds(rows: Any, threshold: float) -> Dense | None:
    """(n, F + B) vectors whose dot products are bounds; None if too many of these reach the threshold."""
    often = np.bincount(rows.indices, minlength=rows.shape[1])
    often[np.argsort(-often, kind="stable")[MOST_OFTEN:]] = 0
    dense, rest = divided(rows, np.flatnonzero(often > OFTEN * rows.shape[0]))
    bounds = np.concatenate([dense, baskets(rest, BASKETS)], axis=1)
    some = bounds[dense_joining.spread(len(bounds), SAMPLE)]
    reached = np.triu(some @ some.T >= _nearly(threshold), 1)
    return bounds if reached.mean() <= LOOSE / 2 else None


def divided(rows: Any, columns: Ints) -> tuple[Dense, Any]:
    """The (n, F) columns as a dense matrix, and the (n, D - F) others as CSR."""
    others = np.setdiff1d(np.arange(rows.shape[1]), columns)
    dense = np.empty((rows.shape[0], len(columns)), np.float32)
    parts = []
    for start in range(0, len(dense), ROWS):
        some = rows[start : start + ROWS]
        dense[start : start + ROWS] = some[:, columns].toarray()
        parts.append(some[:, others])
    return dense, sparse.vstack(parts, format="csr")


def baskets(rows: Any, number: int) -> Dense:
    """(n, B) norms of each row in each basket; the columns that most rows have are dealt first."""
    count, width = rows.shape
    order = np.argsort(-np.bincount(rows.indices, minlength=width), kind="stable")
    basket = np.empty(width, np.int64)
    basket[order] = np.arange(width) % number
    place = np.repeat(np.arange(count), np.diff(rows.indptr)) * number + basket[rows.indices]
    squares = rows.data.astype(np.float64) ** 2
    summed = np.bincount(place, weights=squares, minlength=count * number)
    return np.sqrt(summed).astype(np.float32).reshape(count, number)


def _nearly(threshold: float) -> float:
    return max(threshold - ROUNDING * max(1.0, threshold), SHARED)


def _checked(queries: Matrix, documents: Matrix, left: Ints, right: Ints, threshold: float) -> Found:
    dots = row_dots(queries, left, documents, right)
    keep = dots >= max(threshold, SHARED)
    return left[keep], right[keep], dots[keep]
