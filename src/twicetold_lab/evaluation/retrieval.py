"""Retrieval: among the documents of a split, and among all texts of a corpus.

In a split each document is a query against all others (leave-one-out): precision and recall at k, and k-NN
classification. In the corpus its own texts are queries:
    recall at k   share of a query's relevant texts among the k most similar ones
    MRR at k      1 / rank of the first relevant text, 0 if it is not among the k (mean reciprocal rank)
    nDCG at k     Σ 1 / log2(1 + rank) over the relevant texts found, divided by its largest possible value

Each is averaged over the queries. A query is not among its own results. Texts that training may have related to a query
are removed from its results, and so are neither right nor wrong: see `Asked.known`.

The search is exact. For dense vectors of a large corpus the queries are also searched with an approximate index: recall
with it, and the share of the exact results that it finds.

Shape letters: M documents or texts, k neighbours or ranks, Q queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.inputs import DocumentVectors, Vectors, group_sizes
from twicetold.evaluation.intervals import Interval
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import NOBODY, Index, NearestTexts
from twicetold_lab.evaluation.pair_intervals import clustered_mean_interval
from twicetold_lab.evaluation.units import PairedUnits, Units

VOTES = 4_000_000  # comparisons of two votes in memory at a time


def nearest(vectors: DocumentVectors, *, k: int) -> NearestTexts:
    """Return the k nearest neighbours of each of the M documents among the others.

    Raises:
        ValueError: unless there are more than `k` documents.
    """
    documents = len(vectors)
    if not 0 < k < documents:
        raise ValueError(f"asked for {k} neighbours among {documents} documents: use a larger set or a smaller k")
    neighbours = Index(vectors.right).search(vectors.left, k=k + 1)
    return neighbours.keeping(neighbours.index != np.arange(documents)[:, None], k=k)


def hits(neighbours: NearestTexts, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (M,) number of each document's neighbours that share its code."""
    shared = (codes[neighbours.index] == codes[:, None]) & (neighbours.index != NOBODY)
    return np.asarray(shared.sum(axis=1))


def precision_and_recall(
    neighbours: NearestTexts, codes: NDArray[np.int64]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return precision and recall at k of each document that has a relative, another document of its code.

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
    relevant = hits(neighbours, codes)[queries]
    return relevant / neighbours.index.shape[1], relevant / relatives[queries], queries


def knn_right(neighbours: NearestTexts, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (M,) whether k-NN classification gives each document's own code.

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


@dataclass(frozen=True)
class Asked:
    """The queries of one split, and which texts are relevant to them.

    Args:
        queries: (Q,) rows of the texts.
        relevant: (M,) codes: the other texts of a query's code are its relevant ones.
        known: (M,) codes: texts of a query's code that are not relevant to it are removed from its results.
    """

    queries: NDArray[np.int64]
    relevant: NDArray[np.int64]
    known: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.relevant.shape != self.known.shape:
            raise ValueError(f"expected two codes per text, got {self.relevant.shape} and {self.known.shape} of them")
        if len(self.queries) and self.answers().min() < 1:
            raise ValueError("every query needs a relevant text besides itself")

    def answers(self) -> NDArray[np.int64]:
        """Return (Q,) number of relevant texts of each query."""
        return group_sizes(self.relevant)[self.queries] - 1

    def sample(self, count: int, *, seed: int) -> "Asked":
        """Return at most `count` of the queries, in their order."""
        if len(self.queries) <= count:
            return self
        chosen = np.sort(np.random.default_rng(seed).choice(self.queries, count, replace=False))
        return Asked(chosen, self.relevant, self.known)


@dataclass(frozen=True)
class SearchReport:
    """Results of the search.

    Args:
        metrics: split -> metric -> value; empty for a split without queries.
        intervals: "test" -> metric -> 95 % interval; the unit of sampling is the set of duplicates.
        units: test metric -> what a comparison of two models in pairs needs; of nDCG at `rank`.
    """

    metrics: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, Interval]]
    units: dict[str, PairedUnits] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusSearch:
    """Settings of the evaluation of search in the whole corpus.

    Args:
        at: ranks k of recall.
        ndcg_at: ranks k of nDCG.
        rank: rank k of MRR and the metrics of the index, and of the nDCG by which models are compared.
        max_queries: a split with more queries is evaluated on a sample of this size.
        max_texts: of a larger corpus, the texts of validation and test and a sample of the others are searched.
        index_from: smallest number of texts for which an approximate index is evaluated as well.
        seed: of the samples.
    """

    at: Sequence[int] = (1, 5, 10, 100)
    ndcg_at: Sequence[int] = (1, 3, 10)
    rank: int = 10
    max_queries: int = 2000
    max_texts: int = 100_000
    index_from: int = 10_000
    seed: int = 0

    def report(self, queries: Vectors, texts: Vectors, *, val: Asked, test: Asked) -> SearchReport:
        """Evaluate the queries of both splits.

        Args:
            queries: (M, d) vectors of the texts as queries, dense or CSR.
            texts: (M, d) vectors of the texts as results.
            val: queries of validation.
            test: queries of test.
        """
        asked = {split: each.sample(self.max_queries, seed=self.seed) for split, each in (("val", val), ("test", test))}
        asked = {split: each for split, each in asked.items() if len(each.queries)}
        with_index = not sparse.issparse(texts) and texts.shape[0] >= self.index_from
        exact = Index(texts)
        index = Index(texts, approximate=True) if with_index else None
        metrics: dict[str, dict[str, float]] = {}
        intervals: dict[str, dict[str, Interval]] = {}
        kept: dict[str, PairedUnits] = {}
        for split, each in asked.items():
            depth = max(*self.at, *self.ndcg_at, self.rank)
            results = search_for(each, exact, queries, k=depth)
            values = self._measures(each, results)
            if index is not None:
                index_results = search_for(each, index, queries, k=self.rank)
                values |= {
                    f"index_recall_at_{self.rank}": recall(each, index_results, k=self.rank),
                    f"index_agreement_at_{self.rank}": agreement(results, index_results, k=self.rank),
                }
            metrics[split] = {name: float(value.mean()) for name, value in values.items()}
            if split == "test":
                units = each.relevant[each.queries]
                intervals[split] = {name: clustered_mean_interval(value, units) for name, value in values.items()}
                compared = f"retrieval_ndcg_at_{self.rank}"
                kept = {name: Units.of_mean(value, units) for name, value in values.items() if name == compared}
        return SearchReport(metrics, intervals, kept)

    def _measures(self, asked: Asked, results: NearestTexts) -> dict[str, Floats]:
        return {
            **{f"retrieval_recall_at_{k}": recall(asked, results, k=k) for k in self.at},
            f"retrieval_mrr_at_{self.rank}": reciprocal_rank(asked, results, k=self.rank),
            **{f"retrieval_ndcg_at_{k}": discounted_gain(asked, results, k=k) for k in self.ndcg_at},
        }


def search_for(asked: Asked, index: Index, queries: Vectors, *, k: int) -> NearestTexts:
    """Return the k most similar texts of each query, without itself and the known ones."""
    # Known texts are removed after the search, so it has to return as many more.
    deeper = int(group_sizes(asked.known)[asked.queries].max(initial=1))
    results = index.search(queries[asked.queries], k=k + deeper)
    code, known = asked.relevant[asked.queries, None], asked.known[asked.queries, None]
    struck = (asked.known[results.index] == known) & (asked.relevant[results.index] != code)
    return results.keeping(~struck & (results.index != asked.queries[:, None]), k=k)


def recall(asked: Asked, results: NearestTexts, *, k: int) -> Floats:
    """Return (Q,) share of the relevant texts among the first k."""
    return np.asarray(_right(asked, results, k).sum(axis=1) / asked.answers())


def reciprocal_rank(asked: Asked, results: NearestTexts, *, k: int) -> Floats:
    """Return (Q,) 1 / rank of the first relevant text among the first k, 0 where there is none."""
    return np.asarray((_right(asked, results, k) / np.arange(1, k + 1)).max(axis=1))


def discounted_gain(asked: Asked, results: NearestTexts, *, k: int) -> Floats:
    """(Q,) normalised discounted cumulative gain of the first k (Järvelin and Kekäläinen 2002), relevance 0 or 1."""
    gain = 1 / np.log2(np.arange(2, k + 2))
    best = gain.cumsum()[np.minimum(asked.answers(), k) - 1]
    return np.asarray(_right(asked, results, k) @ gain / best)


def agreement(exact: NearestTexts, other: NearestTexts, *, k: int) -> Floats:
    """Return (Q,) share of the first k of the exact search that are among the first k of the other."""
    same = exact.index[:, :k, None] == other.index[:, None, :k]
    return np.asarray(same.any(axis=2).mean(axis=1))


def _right(asked: Asked, results: NearestTexts, k: int) -> NDArray[np.bool_]:
    """Return (Q, k) whether each of the first k is relevant."""
    first = results.index[:, :k]
    return np.asarray((asked.relevant[first] == asked.relevant[asked.queries, None]) & (first != NOBODY))
