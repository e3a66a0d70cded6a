"""What the nearest documents of each document are: precision and recall at k, and k-NN classification.

Each document is a query against all others of the evaluated set (leave-one-out). Of equally similar documents
the earlier one is nearer. With sparse vectors a document that shares no term with the query is not retrieved,
as in a search engine, so a query may have fewer than k neighbours.

Shape letters: M documents, k neighbours, b rows of a block.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.tiles import in_parallel

BLOCK = 4_000_000  # similarities held at a time (16 MB)
NOBODY = -1  # index where a query has fewer than k neighbours


@dataclass(frozen=True)
class Neighbours:
    """The k most similar other documents of each document, nearest first."""

    index: NDArray[np.int64]
    """(M, k), `NOBODY` where there are fewer."""
    similarity: NDArray[np.float32]
    """(M, k), meaningless where there is nobody."""


def nearest(vectors: DocumentVectors, *, k: int) -> Neighbours:
    """The k nearest neighbours of each of the M documents, block by block.

    Raises:
        ValueError: unless there are more than `k` documents.
    """
    documents = len(vectors)
    if not 0 < k < documents:
        raise ValueError(f"asked for {k} neighbours among {documents} documents: use a larger set or a smaller k")
    similarities = (_sparse_rows if sparse.issparse(vectors.left) else _dense_rows)(vectors)
    index = np.empty((documents, k), dtype=np.int64)
    similarity = np.empty((documents, k), dtype=np.float32)
    step = max(1, BLOCK // documents)

    def search(block: int) -> None:
        rows = slice(block * step, min((block + 1) * step, documents))
        scores = similarities(rows)
        own = torch.arange(rows.stop - rows.start)
        scores[own, own + rows.start] = -torch.inf
        index[rows], similarity[rows] = _top(scores, k)

    for _ in in_parallel(search, math.ceil(documents / step)):
        pass
    return Neighbours(index, similarity)


def hits(neighbours: Neighbours, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(M,) how many of each document's neighbours share its code."""
    shared = (codes[neighbours.index] == codes[:, None]) & (neighbours.index != NOBODY)
    return np.asarray(shared.sum(axis=1))


def precision_and_recall(neighbours: Neighbours, codes: NDArray[np.int64]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Precision and recall at k of each document that has a relative, that is another of its code.

    Precision divides by k, even where a document has fewer than k relatives; recall divides by the number
    of relatives.

    Returns:
        Precision (m,), recall (m,), and the m documents they belong to.

    Raises:
        ValueError: if no document has a relative.
    """
    _, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    relatives = sizes[place] - 1
    queries = np.flatnonzero(relatives > 0)
    if queries.size == 0:
        raise ValueError("no document has another of its group in the evaluated set: retrieval cannot be measured")
    found = hits(neighbours, codes)[queries]
    return found / neighbours.index.shape[1], found / relatives[queries], queries


def knn_right(neighbours: Neighbours, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(M,) whether the vote of its neighbours gives each document's own code.

    The majority wins; of equally large parties the one with the larger summed similarity, then the one with
    the nearest member. A document without neighbours is not classified, which counts as wrong.
    """
    right = np.empty(len(codes), dtype=bool)
    step = max(1, BLOCK // neighbours.index.shape[1] ** 2)
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        there = neighbours.index[rows] != NOBODY
        vote = codes[neighbours.index[rows]]
        party = (vote[:, :, None] == vote[:, None, :]) & there[:, None, :]
        size = np.where(there, party.sum(axis=2), 0)
        weight = np.where(party, neighbours.similarity[rows][:, None, :], 0).sum(axis=2)
        weight = np.where(size == size.max(axis=1, keepdims=True), weight, -np.inf)
        winner = np.take_along_axis(vote, weight.argmax(axis=1)[:, None], axis=1)[:, 0]
        right[rows] = (winner == codes[rows]) & there.any(axis=1)
    return right


def _dense_rows(vectors: DocumentVectors) -> Callable[[slice], Tensor]:
    left, right = (torch.tensor(side, dtype=torch.float32) for side in (vectors.left, vectors.right))
    return lambda rows: torch.mm(left[rows], right.T)


def _sparse_rows(vectors: DocumentVectors) -> Callable[[slice], Tensor]:
    left, right = vectors.left.tocsr(), vectors.right.T.tocsr()

    def similarities(rows: slice) -> Tensor:
        scores = torch.from_numpy((left[rows] @ right).toarray().astype(np.float32))
        return scores.masked_fill_(scores <= 0, -torch.inf)

    return similarities


def _top(scores: Tensor, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Columns and values of the k largest of each row of (b, M) scores, ties to the lower column."""
    values, columns = (found.numpy() for found in torch.topk(scores, k + 1, dim=1))
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
