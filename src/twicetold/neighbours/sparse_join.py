"""All pairs of sparse vectors with a dot product of at least a threshold.

By prefix filtering (Bayardo, Ma and Srikant 2007, "Scaling up all pairs similarity search"): columns are ordered from
the most to the least frequent one. The first entries of a row, as long as they have at most norm 0.8 t / B, are its
common part c, the others its rare part r; B is the largest norm of a row. Two rows that share columns in the common
part of either alone have a dot product of at most 0.8 t. So the rare parts of any two rows x and y with ⟨x, y⟩ >= t
share a column, and

    ⟨x, y⟩ <= ⟨r_x, r_y⟩ + B max(|c_x|, |c_y|)

A second bound looks at both rows (as L2AP, Anastasiu and Karypis 2014): before the end of the longer common part, x and
y add at most the product of their norms there. Products of rare parts are few, and only pairs whose bounds reach t are
compared in full.

Where rows share so many columns that this costs more than all products, as lines of one template do, or vectors of an
ensemble with lexical and dense members, they are compared by dense bounds: the columns that many rows have, f, as they
are, and of all others the norms p in each of `BASKETS` baskets,

    ⟨x, y⟩ <= ⟨f_x, f_y⟩ + ⟨p_x, p_y⟩

so a join of dense vectors (`dense_join`) leaves few pairs. Where it leaves more than `LOOSE`, all rows are multiplied.

Nothing is approximate. Each pair that is left is compared by itself, so what is found does not depend on how rows come
in blocks. Rows that share no column are not found, whatever the threshold.

Shape letters: n queries or rows, m documents, D columns, F of them that many rows have, B baskets, L pairs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from twicetold.neighbours.dense_join import Dense, Pairs, dense_pairs, dense_self_pairs, gathered, spread, verified
from twicetold.neighbours.grouping import Floats, Ints, Vectors
from twicetold.neighbours.nearest import FEWEST_FULL, FULL, Matrix, products
from twicetold.neighbours.parallel import in_parallel, in_threads

WORK = 10_000_000  # products of entries that a block may need (some hundred MB)
WORTH, SHARE = 0.5, 0.4  # products for each pair of rows, and of all products; with more, comparing all rows costs less
COMMON = 0.8  # share of the threshold that the common part may add
STRIPES = 8  # parts of the rows whose columns are indexed anew
EDGES = 32  # places up to which norms of rows are known
BLOCK = 16_000_000  # products that are held at a time by each thread (64 MB)
BASKETS, OFTEN, MOST_OFTEN = 256, 0.02, 1024  # share of rows that have a column of the bounds, and most columns
SAMPLE, LOOSE = 1000, 0.02  # rows whose pairs say how good bounds are, and share of pairs that may reach the threshold
ROWS = 65_536  # that are divided at a time
ROUNDING = 1e-5  # of float32 sums
SHARED = float(np.finfo(np.float32).tiny)  # the least product of sparse rows that share a column


def pairs_between(queries: Matrix, documents: Matrix, threshold: float) -> Pairs:
    """Return the pairs of a query and a document with a dot product of at least the threshold.

    Args:
        queries: (n, D), dense or CSR.
        documents: (m, D), of the same kind.
        threshold: of dot products.

    Returns:
        Rows of the queries, rows of the documents and dot products, each (L,).
    """
    if isinstance(queries, np.ndarray):
        return dense_pairs(queries, documents, threshold)
    left, right = np.nonzero(products(queries, documents)(slice(None)) >= _nearly(threshold))
    return verified(queries, left, documents, right, max(threshold, SHARED))


def has_dense_columns(rows: Any) -> bool:
    """Return true if most rows of a CSR matrix have the same columns, such as those of dense vectors beside others."""
    often = np.bincount(rows.indices, minlength=rows.shape[1]) > FULL * rows.shape[0]
    return int(np.count_nonzero(often)) >= FEWEST_FULL


def by_prefixes(rows: Any, threshold: float, *, most: int) -> Pairs | None:
    """Return the pairs i < j with ⟨row_i, row_j⟩ >= threshold, by prefix filtering.

    Args:
        rows: (n, D) CSR.
        threshold: above 0.
        most: of these pairs.

    Returns:
        The earlier rows, the later ones and the dot products, each (L,); None if there are more than `most` pairs, or
        if so many columns are shared that comparing all rows costs less.
    """
    longest = math.sqrt(max(float(np.asarray(rows.multiply(rows).sum(axis=1)).max(initial=0.0)), 1e-12))
    rare, prefixes = _parts(rows, COMMON * threshold / longest)
    every = float((np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.float64) ** 2).sum())
    if _work(rare).sum() > WORTH * rows.shape[0] ** 2 + SHARE * every:
        return None
    return gathered(_of_parts(rows, rare, threshold, prefixes, longest), most)


def _of_parts(rows: Any, parts: Any, threshold: float, prefixes: "_Prefixes", longest: float) -> Iterator[Pairs]:
    """Yield the pairs i < j of rows whose rare parts share a column, with ⟨row_i, row_j⟩ >= threshold.

    Args:
        rows: (n, D) CSR.
        parts: (n, D) CSR, the rare part of each row.
        threshold: above 0.
        prefixes: the common parts.
        longest: largest norm of a row.
    """
    common = prefixes.common
    least = threshold - longest * float(common.max(initial=0.0)) - ROUNDING
    block = np.floor(np.cumsum(_work(parts)) / WORK).astype(np.int64)
    starts = np.append(np.flatnonzero(np.append(True, np.diff(block) > 0))[: len(block)], len(block))

    def compare(number: int, first: int, columns: Any) -> Pairs:
        start, stop = int(starts[number]), int(starts[number + 1])
        near = parts[start:stop] @ columns
        some = np.flatnonzero(near.data >= least)  # most products are too small whatever the other entries are
        left = np.searchsorted(near.indptr, some, side="right") - 1 + start
        right, product = near.indices[some].astype(np.int64) + first, near.data[some]
        later = right > left
        left, right, product = left[later], right[later], product[later]
        keep = product + longest * np.maximum(common[left], common[right]) >= threshold - ROUNDING
        left, right, product = left[keep], right[keep], product[keep]
        keep = product + prefixes.most(left, right) >= threshold - ROUNDING
        return verified(rows, left[keep], rows, right[keep], threshold)

    for numbers in np.array_split(np.arange(len(starts) - 1), max(1, min(STRIPES, len(starts) - 1))):
        if len(numbers):
            first = int(starts[numbers[0]])
            columns = parts[first:].T.tocsr()  # made once for several blocks: it takes as long as one of them
            yield from in_threads(lambda at: compare(int(numbers[at]), first, columns), len(numbers))  # noqa: B023


def by_all_columns(vectors: Vectors, threshold: float, *, most: int) -> Pairs | None:
    """Return the pairs i < j with ⟨query_i, document_j⟩ >= threshold, by dense bounds or by all products.

    Args:
        vectors: (n, D) CSR as queries and as documents, whose dot products are the same for both orders of a pair.
        threshold: of dot products.
        most: of these pairs.

    Returns:
        The earlier rows, the later ones and the dot products; None if there are more than `most` pairs.
    """
    queries, documents = vectors
    if queries is documents and threshold > 0 and (bounds := _bounds(documents, threshold)) is not None:

        def verify(left: Ints, right: Ints) -> Pairs:
            return verified(documents, left, documents, right, max(threshold, SHARED))

        return dense_self_pairs((bounds, bounds), _nearly(threshold), most=most, verify=verify)
    count = queries.shape[0]
    step = max(1, BLOCK // max(1, count))
    product = products(queries, documents)

    def compare(number: int) -> Pairs:
        start = number * step
        left, right = np.nonzero(product(slice(start, start + step)) >= _nearly(threshold))
        left += start
        later = right > left
        return verified(queries, left[later], documents, right[later], max(threshold, SHARED))

    return gathered(in_parallel(compare, -(-count // step)), most)


def _divided(rows: Any, columns: Ints) -> tuple[Dense, Any]:
    """Return the (n, F) columns as a dense matrix, and the (n, D - F) others as CSR."""
    others = np.setdiff1d(np.arange(rows.shape[1]), columns)
    dense = np.empty((rows.shape[0], len(columns)), np.float32)
    parts = []
    for start in range(0, len(dense), ROWS):
        some = rows[start : start + ROWS]
        dense[start : start + ROWS] = some[:, columns].toarray()
        parts.append(some[:, others])
    return dense, sparse.vstack(parts, format="csr")


def _baskets(rows: Any) -> Dense:
    """Return (n, B) norms of each row in each basket; the columns that most rows have are dealt first."""
    count, width = rows.shape
    order = np.argsort(-np.bincount(rows.indices, minlength=width), kind="stable")
    basket = np.empty(width, np.int64)
    basket[order] = np.arange(width) % BASKETS
    place = np.repeat(np.arange(count), np.diff(rows.indptr)) * BASKETS + basket[rows.indices]
    squares = rows.data.astype(np.float64) ** 2
    summed = np.bincount(place, weights=squares, minlength=count * BASKETS)
    return np.sqrt(summed).astype(np.float32).reshape(count, BASKETS)


@dataclass(frozen=True)
class _Prefixes:
    """The end of the common part of each of n rows, and the norms of its first entries.

    Args:
        common: (n,) norms of the common parts.
        edge: (n,) the first of K places in the order of columns that is not before the end of the common part.
        norm: (n, K) of the entries before each of these places.
    """

    common: Floats
    edge: Ints
    norm: Floats

    def most(self, left: Ints, right: Ints) -> Floats:
        """Return (L,) what the columns before the rare part of either row add at most to the dot product."""
        edge = np.maximum(self.edge[left], self.edge[right])
        return np.asarray(self.norm[left, edge] * self.norm[right, edge])


def _parts(rows: Any, bound: float) -> tuple[Any, _Prefixes]:
    """Return the rare parts as CSR, and what is known of the common ones, whose norms are at most a bound."""
    count, width = rows.shape
    number = np.repeat(np.arange(count), np.diff(rows.indptr))
    frequency = np.bincount(rows.indices, minlength=width)
    square = rows.data.astype(np.float64) ** 2
    order = np.lexsort((rows.indices, -frequency[rows.indices], number))
    total = np.cumsum(square[order])
    is_common = np.empty(len(order), bool)
    is_common[order] = total - np.append(0.0, total)[rows.indptr[:-1]][number] <= bound**2
    common = np.sqrt(np.bincount(number[is_common], weights=square[is_common], minlength=count))
    rank = np.empty(width, np.int64)
    rank[np.lexsort((np.arange(width), -frequency))] = np.arange(width)
    place = rank[rows.indices]
    end = np.full(count, width)  # of the common part
    np.minimum.at(end, number[~is_common], place[~is_common])
    edges = np.unique(np.append(np.quantile(end, np.linspace(0, 1, EDGES), method="higher"), width).astype(np.int64))
    at = number * (len(edges) + 1) + np.searchsorted(edges, place, side="right")
    squares = np.bincount(at, weights=square, minlength=count * (len(edges) + 1)).reshape(count, -1)
    norms = np.sqrt(np.cumsum(squares[:, :-1], axis=1))
    rare, before = ~is_common, np.append(0, np.cumsum(~is_common))
    parts = sparse.csr_matrix((rows.data[rare], rows.indices[rare], before[rows.indptr]), rows.shape)
    return parts, _Prefixes(common, np.searchsorted(edges, end), norms)


def _work(rows: Any) -> Floats:
    """Return (n,) products of entries of each row with those of all rows."""
    return np.asarray(rows.astype(bool).astype(np.float64) @ np.bincount(rows.indices, minlength=rows.shape[1]))


def _bounds(rows: Any, threshold: float) -> Dense | None:
    """Return (n, F + B) vectors whose dot products are bounds; None if too many of these reach the threshold."""
    often = np.bincount(rows.indices, minlength=rows.shape[1])
    often[np.argsort(-often, kind="stable")[MOST_OFTEN:]] = 0
    dense, rest = _divided(rows, np.flatnonzero(often > OFTEN * rows.shape[0]))
    bounds = np.concatenate([dense, _baskets(rest)], axis=1)
    some = bounds[spread(len(bounds), SAMPLE)]
    reached = np.triu(some @ some.T >= _nearly(threshold), 1)
    return bounds if reached.mean() <= LOOSE / 2 else None


def _nearly(threshold: float) -> float:
    return max(threshold - ROUNDING * max(1.0, threshold), SHARED)
