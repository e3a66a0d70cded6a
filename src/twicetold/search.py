"""The texts most similar to each query: all of them compared, or those that an index leads to.

    similarity(q, t) = ⟨query_q, text_t⟩

The exact search multiplies a block of queries with all texts and keeps the k largest of each row; on one thread it
takes half as long as faiss's exact index. The approximate search uses an inverted file (Jégou, Douze and Schmid 2011,
"Product quantization for nearest neighbor search", without the quantisation; Johnson, Douze and Jégou 2017,
arXiv:1702.08734, its implementation, faiss): k-means puts the texts into cells, and a query is compared with those of
the few cells whose centres are most similar to it. It is built in seconds by one thread from a seed, so the same texts
give the same index.

Of equally similar texts the earlier one is nearer. With sparse vectors a text that shares no term with the query is
not found, as in a search engine, so a query may have fewer than k neighbours.

Shape letters: M texts, Q queries, d dimensions, k neighbours, b rows of a block.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from twicetold.parallel import in_parallel

logging.getLogger("faiss").setLevel(logging.WARNING)  # it logs the instruction sets that it was not built for

BLOCK = 16_000_000  # similarities held at a time by each thread (64 MB)
NOBODY = -1  # index where a query has fewer than k neighbours
PROBES = 16  # cells that a query looks into, of the square root of M
ROUNDS = 10  # of k-means
PER_CENTRE = 64  # texts that k-means looks at, for each centre
Matrix: TypeAlias = Any
"""A dense (n, d) float32 array, or a SciPy CSR matrix of that shape."""
Rows: TypeAlias = slice | NDArray[np.int64]
Apart: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Neighbours:
    """The k most similar texts of each query, nearest first."""

    index: NDArray[np.int64]
    """(Q, k), `NOBODY` where there are fewer."""
    similarity: NDArray[np.float32]
    """(Q, k), 0 where there is nobody."""

    def keeping(self, keep: NDArray[np.bool_], *, k: int) -> "Neighbours":
        """The first `k` that are kept in each row, in the same order; the others move up.

        Args:
            keep: (Q, K) of these K neighbours.
            k: at most K.
        """
        order = np.argsort(~keep, axis=1, kind="stable")[:, :k]
        there = np.take_along_axis(keep, order, axis=1)
        index = np.where(there, np.take_along_axis(self.index, order, axis=1), NOBODY)
        there &= index != NOBODY
        return Neighbours(index, np.where(there, np.take_along_axis(self.similarity, order, axis=1), 0))


class Index:
    """Texts to be searched.

    Args:
        texts: (M, d) vectors.
        approximate: search by an inverted file, for dense vectors only.
        seed: of the inverted file's k-means.

    Raises:
        ValueError: if an approximate index is asked for of sparse vectors, which have no centres worth having.
    """

    def __init__(self, texts: Matrix, *, approximate: bool = False, seed: int = 0) -> None:
        if approximate and sparse.issparse(texts):
            raise ValueError("an approximate index needs dense vectors: search sparse ones exactly")
        self.texts = texts
        self._cells = _inverted_file(texts, seed=seed) if approximate else None

    def __len__(self) -> int:
        return int(self.texts.shape[0])

    def search(self, queries: Matrix, *, k: int, apart: Apart | None = None) -> Neighbours:
        """The `k` most similar texts of each of the (Q, d) queries.

        Args:
            queries: (Q, d) vectors.
            k: how many.
            apart: (Q,) code of each query and (M,) code of each text: texts of a query's own code are not found.

        Raises:
            ValueError: if an approximate index is to leave texts out, which it cannot before it has chosen its k.
        """
        if self._cells is not None:
            if apart is not None:
                raise ValueError("an approximate index finds texts of every code: leave some out in an exact search")
            similarity, index = self._cells.search(np.ascontiguousarray(queries, np.float32), k)
            return Neighbours(index, np.where(index == NOBODY, 0, similarity))
        index = np.full((queries.shape[0], k), NOBODY, dtype=np.int64)
        similarity = np.zeros((queries.shape[0], k), dtype=np.float32)
        similar = similarities(queries, self.texts)
        step = max(1, BLOCK // len(self))
        reach = min(k, len(self))

        def search(block: int) -> None:
            rows = slice(block * step, min((block + 1) * step, len(index)))
            scores = similar(rows)
            if apart is not None:
                scores.masked_fill_(torch.from_numpy(apart[0][rows, None] == apart[1]), -torch.inf)
            index[rows, :reach], similarity[rows, :reach] = _top(scores, reach)

        for _ in in_parallel(search, math.ceil(len(index) / step)):
            pass
        return Neighbours(index, similarity)


def similarities(queries: Matrix, texts: Matrix) -> Callable[[Rows], Tensor]:
    """From the rows of b queries to their (b, M) similarities; with sparse vectors, -inf where no term is shared."""
    if sparse.issparse(queries):
        left, right = queries.tocsr(), texts.T.tocsr()

        def sparsely(rows: Rows) -> Tensor:
            scores = torch.from_numpy((left[rows] @ right).toarray().astype(np.float32, copy=False))
            return scores.masked_fill_(scores <= 0, -torch.inf)

        return sparsely
    asked = torch.tensor(queries, dtype=torch.float32)
    columns = (asked if texts is queries else torch.tensor(texts, dtype=torch.float32)).T
    return lambda rows: torch.mm(asked[rows], columns)


def _inverted_file(texts: NDArray[np.float32], *, seed: int) -> Any:
    import faiss  # takes a moment, and most searches are exact

    count, dimensions = texts.shape
    cells = max(1, round(math.sqrt(count)))
    file = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimensions), dimensions, cells, faiss.METRIC_INNER_PRODUCT)
    file.nprobe = min(PROBES, cells)
    file.cp.seed, file.cp.niter = seed, ROUNDS
    file.cp.max_points_per_centroid, file.cp.min_points_per_centroid = PER_CENTRE, 1
    faiss.omp_set_num_threads(1)  # sums in another order would make other cells
    contiguous = np.ascontiguousarray(texts, np.float32)
    file.train(contiguous)
    file.add(contiguous)
    return file


def _top(scores: Tensor, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Columns and values of the k largest of each row of (b, M) scores, ties to the lower column."""
    values, columns = (found.numpy() for found in torch.topk(scores, min(k + 1, scores.shape[1]), dim=1))
    if values.shape[1] > k:
        # topk promises nothing about which of several equal scores it takes; that matters only where the
        # next score equals the last one taken.
        last = values[:, k]
        tied = np.flatnonzero((last == values[:, k - 1]) & ~np.isneginf(last))
        if tied.size:
            above = (values[tied, :k] > last[tied, None]).sum(axis=1)
            equal = scores[tied].numpy() == last[tied, None]
            place = above[:, None] + np.cumsum(equal, axis=1) - 1
            row, column = np.nonzero(equal & (place < k))
            columns[tied[row], place[row, column]] = column
        values, columns = values[:, :k], columns[:, :k]
    order = np.lexsort((columns, -values), axis=1)
    values, columns = np.take_along_axis(values, order, axis=1), np.take_along_axis(columns, order, axis=1)
    return np.where(np.isneginf(values), NOBODY, columns), np.where(np.isneginf(values), 0, values)
