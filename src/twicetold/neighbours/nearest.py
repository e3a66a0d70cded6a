"""Search for the texts most similar to each query: exact, or with an approximate index.

    similarity(q, t) = ⟨query_q, text_t⟩

The exact search multiplies a block of queries with all texts and keeps the k largest of each row. The approximate
search uses an inverted file (Jégou, Douze and Schmid 2011, "Product quantization for nearest neighbor search", without
the quantisation) as implemented in faiss (Johnson, Douze and Jégou 2017, arXiv:1702.08734): k-means assigns the texts
to cells, and a query is compared with the texts of the cells whose centres are most similar to it. One thread builds it
from a seed, so the same texts give the same index.

Ties are ranked by position. With sparse vectors a text that shares no term with the query is not found, as in a search
engine, so a query may have fewer than k neighbours.

Shape letters: M texts, Q queries, d dimensions, k neighbours, b rows of a block.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.parallel import in_parallel

logging.getLogger("faiss").setLevel(logging.WARNING)  # it logs instruction sets that it was not built for

BLOCK = 16_000_000  # similarities held at a time by each thread (64 MB)
FULL, FEWEST_FULL = 0.5, 16  # share of rows that have a column, and number of such columns, for a dense product
COLUMNS, BLOCKS = (
    64,
    4,
)  # columns of a block of which the largest is taken, and least number of blocks for each neighbour
NOBODY = -1  # index of a missing neighbour, where a query has fewer than k
PROBES = 16  # cells that are searched for a query, out of about √M
ROUNDS = 10  # of k-means
PER_CENTRE = 64  # texts that k-means uses for each centre
Matrix: TypeAlias = Any
"""A dense (n, d) float32 array, or a SciPy CSR matrix of that shape."""
Rows: TypeAlias = slice | NDArray[np.int64]
Apart: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class NearestTexts:
    """The k most similar texts of each query, nearest first."""

    index: NDArray[np.int64]
    """(Q, k), `NOBODY` where there are fewer."""
    similarity: NDArray[np.float32]
    """(Q, k), 0 for a missing neighbour."""

    def keeping(self, keep: NDArray[np.bool_], *, k: int) -> "NearestTexts":
        """The first `k` neighbours of each row that are kept, in the same order.

        Args:
            keep: (Q, K) of these K neighbours.
            k: at most K.
        """
        order = np.argsort(~keep, axis=1, kind="stable")[:, :k]
        there = np.take_along_axis(keep, order, axis=1)
        index = np.where(there, np.take_along_axis(self.index, order, axis=1), NOBODY)
        there &= index != NOBODY
        return NearestTexts(index, np.where(there, np.take_along_axis(self.similarity, order, axis=1), 0))


class Index:
    """An index of texts.

    Args:
        texts: (M, d) vectors.
        approximate: search by an inverted file, for dense vectors only.
        seed: of the inverted file's k-means.
        probes: cells of the inverted file that are searched for a query.

    Raises:
        ValueError: if `approximate` is used with sparse vectors.
    """

    def __init__(self, texts: Matrix, *, approximate: bool = False, seed: int = 0, probes: int = PROBES) -> None:
        if approximate and sparse.issparse(texts):
            raise ValueError("an approximate index needs dense vectors: search sparse ones exactly")
        self.texts = texts
        self._cells = _inverted_file(texts, seed=seed, probes=probes) if approximate else None

    def __len__(self) -> int:
        return int(self.texts.shape[0])

    def search(self, queries: Matrix, *, k: int, apart: Apart | None = None) -> NearestTexts:
        """The `k` most similar texts of each of the (Q, d) queries.

        Args:
            queries: (Q, d) vectors.
            k: number of neighbours.
            apart: (Q,) code of each query and (M,) code of each text: texts of a query's own code are not found.

        Raises:
            ValueError: if `apart` is used with an approximate index, which cannot leave texts out.
        """
        if self._cells is not None:
            if apart is not None:
                raise ValueError("an approximate index finds texts of every code: leave some out in an exact search")
            similarity, index = self._cells.search(np.ascontiguousarray(queries, np.float32), k)
            return NearestTexts(index, np.where(index == NOBODY, 0, similarity))
        index = np.full((queries.shape[0], k), NOBODY, dtype=np.int64)
        similarity = np.zeros((queries.shape[0], k), dtype=np.float32)
        similar = similarities(queries, self.texts)
        step = max(1, BLOCK // len(self))
        reach = min(k, len(self))

        def search(block: int) -> None:
            rows = slice(block * step, min((block + 1) * step, len(index)))
            scores = similar(rows)
            if apart is not None:
                scores[apart[0][rows, None] == apart[1]] = -np.inf
            index[rows, :reach], similarity[rows, :reach] = largest(scores, reach)

        for _ in in_parallel(search, math.ceil(len(index) / step)):
            pass
        return NearestTexts(index, similarity)


def similarities(queries: Matrix, texts: Matrix) -> Callable[[Rows], NDArray[np.float32]]:
    """From the rows of b queries to their (b, M) similarities; with sparse vectors, -inf where no term is shared."""
    product = products(queries, texts)
    if not sparse.issparse(queries):
        return product

    def masked(rows: Rows) -> NDArray[np.float32]:
        scores = product(rows)
        scores[scores <= 0] = -np.inf
        return scores

    return masked


def products(queries: Matrix, texts: Matrix) -> Callable[[Rows], NDArray[np.float32]]:
    """From the rows of b queries to their (b, M) dot products."""
    if sparse.issparse(queries):
        full = _full_columns(queries, texts)
        left, right = queries.tocsr(), texts.tocsr()
        dense = None
        if len(full):
            rest = np.setdiff1d(np.arange(left.shape[1]), full)
            dense = tuple(side[:, full].toarray().astype(np.float32) for side in (left, right))
            left, right = left[:, rest], right[:, rest]
        right = right.T.tocsr()

        def sparsely(rows: Rows) -> NDArray[np.float32]:
            scores: NDArray[np.float32] = (left[rows] @ right).toarray().astype(np.float32, copy=False)
            if dense is not None:
                scores += dense[0][rows] @ dense[1].T
            return scores

        return sparsely
    asked, columns = (np.asarray(side, np.float32) for side in (queries, texts))
    return lambda rows: asked[rows] @ columns.T


def _full_columns(queries: Any, texts: Any) -> NDArray[np.int64]:
    """Columns that most rows have, such as those of dense vectors beside lexical ones: their products are dense."""
    counts = (np.bincount(side.tocsr().indices, minlength=side.shape[1]) for side in (queries, texts))
    often = [count > FULL * side.shape[0] for count, side in zip(counts, (queries, texts), strict=True)]
    full = np.flatnonzero(often[0] & often[1])
    return full if len(full) >= FEWEST_FULL else full[:0]


def row_dots(
    left: Matrix, left_rows: NDArray[np.int64], right: Matrix, right_rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """(P,) dot product of one row of a matrix with one of another, for each pair of rows."""
    if isinstance(left, np.ndarray):
        dots: NDArray[np.float32] = np.einsum("pd,pd->p", left[left_rows], right[right_rows])
        return dots
    return np.asarray(left[left_rows].multiply(right[right_rows]).sum(axis=1), np.float32).ravel()


def _inverted_file(texts: NDArray[np.float32], *, seed: int, probes: int) -> Any:
    import faiss  # slow to import, and most searches are exact

    count, dimensions = texts.shape
    cells = max(1, round(math.sqrt(count)))
    file = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimensions), dimensions, cells, faiss.METRIC_INNER_PRODUCT)
    file.nprobe = min(probes, cells)
    file.cp.seed, file.cp.niter = seed, ROUNDS
    file.cp.max_points_per_centroid, file.cp.min_points_per_centroid = PER_CENTRE, 1
    faiss.omp_set_num_threads(1)  # another order of sums would give other cells
    contiguous = np.ascontiguousarray(texts, np.float32)
    file.train(contiguous)
    file.add(contiguous)
    return file


def largest(scores: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(b, k) columns and values of the k largest of each row of (b, M) scores, ties to the lower column.

    A missing one, where fewer are above -inf, has the column `NOBODY` and the value 0.

    Args:
        scores: in 32 bits, none of them NaN.
        k: from 1 to M.
    """
    count = len(scores)
    row, column = np.nonzero((scores >= reached_by(scores, k)[:, None]) & (scores > -np.inf))
    value = scores[row, column]
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(count))[row]
    kept = place < k
    columns, values = np.full((count, k), NOBODY, np.int64), np.zeros((count, k), np.float32)
    columns[row[kept], place[kept]], values[row[kept], place[kept]] = column[kept], value[kept]
    return columns, values


def reached_by(scores: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """(b,) a number that at least k scores of each row reach, and not many more.

    Where there are many columns it is the k-th largest of the largest scores of blocks of columns, which takes a
    quarter of the time of the k-th largest score.
    """
    width = min(COLUMNS, scores.shape[1] // (BLOCKS * k))
    if width > 1:
        whole = scores.shape[1] // width * width
        scores = scores[:, :whole].reshape(len(scores), -1, width).max(axis=2)
    at = scores.shape[1] - k
    bound: NDArray[np.float32] = np.partition(scores, at, axis=1)[:, at]
    return bound
