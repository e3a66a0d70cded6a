"""Nearest neighbours of documents: precision and recall at k, and k-NN classification.

Each document is a query against all others of the evaluated set (leave-one-out); the search is exact.

Shape letters: M documents, k neighbours.
"""

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.inputs import DocumentVectors, group_sizes
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import NOBODY, Index, NearestTexts

VOTES = 4_000_000  # comparisons of two votes in memory at a time


def nearest(vectors: DocumentVectors, *, k: int) -> NearestTexts:
    """The k nearest neighbours of each of the M documents among the others.

    Raises:
        ValueError: unless there are more than `k` documents.
    """
    documents = len(vectors)
    if not 0 < k < documents:
        raise ValueError(f"asked for {k} neighbours among {documents} documents: use a larger set or a smaller k")
    found = Index(vectors.right).search(vectors.left, k=k + 1)
    return found.keeping(found.index != np.arange(documents)[:, None], k=k)


def hits(neighbours: NearestTexts, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(M,) number of each document's neighbours that share its code."""
    shared = (codes[neighbours.index] == codes[:, None]) & (neighbours.index != NOBODY)
    return np.asarray(shared.sum(axis=1))


def precision_and_recall(
    neighbours: NearestTexts, codes: NDArray[np.int64]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Precision and recall at k of each document that has a relative, another document of its code.

    Precision divides by k, even where a document has fewer than k relatives; recall divides by the number
    of relatives.

    Returns:
        Precision (m,), recall (m,), and the m documents they belong to.

    Raises:
        ValueError: if no document has a relative.
    """
    relatives = group_sizes(codes) - 1
    queries = np.flatnonzero(relatives > 0)
    if queries.size == 0:
        raise ValueError("no document has another of its group in the evaluated set: retrieval cannot be measured")
    found = hits(neighbours, codes)[queries]
    return found / neighbours.index.shape[1], found / relatives[queries], queries


def knn_right(neighbours: NearestTexts, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(M,) whether k-NN classification gives each document's own code.

    The majority of the neighbours decides; ties are broken by the larger summed similarity, then by the nearest
    neighbour. A document without neighbours counts as wrong.
    """
    right = np.empty(len(codes), dtype=bool)
    step = max(1, VOTES // neighbours.index.shape[1] ** 2)
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
