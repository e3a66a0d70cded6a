"""The pairwise k-NN rule: two texts say the same if and only if each is among the k nearest neighbours of the other.

Tang and Aw 2020, "FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching",
arXiv:2010.05523, section 3.3.

    r_a(b)       1 + number of texts, a left out, that are more similar to a than b is
    same(a, b)   max(r_a(b), r_b(a)) ≤ k

Neighbours are searched in the pool, the texts of the evaluated split, by the family's own similarity (the cosine, for
all families but BM25). The rule is transductive: the decision on two texts depends on which other texts are evaluated
at the same time. A threshold on the score is not transductive, so the two are reported side by side.

Texts that are equally similar, up to the rounding of float32, share the best rank among them. With sparse vectors, two
texts without a common term are never neighbours.

k is the smallest with the highest accuracy on validation. The rule only says yes or no, so its cross-entropy needs two
probabilities, which the paper does not give. Here they are estimated on validation at each k, with add-one smoothing:
(TP + 1) / (TP + FP + 2) after a yes and (FN + 1) / (FN + TN + 2) after a no.

Shape letters: n texts of the pool, P pairs, K values of k.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from twicetold.evaluation.inputs import Vectors, binary
from twicetold.evaluation.intervals import Interval
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import similarities
from twicetold.neighbours.parallel import in_parallel
from twicetold_lab.evaluation.pair_intervals import share_interval

if TYPE_CHECKING:
    from torch import Tensor


BLOCK = 2**20  # similarities that each thread holds at a time: 4 MB stay in cache
ROUNDING = 1e-6  # of a similarity, relative to itself or to 1
RankOf: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], "Tensor"]
"""From b texts and a neighbour of each to the (b,) ranks of these neighbours."""


@dataclass(frozen=True)
class PooledPairs:
    """Labelled pairs of texts, and the pool of texts that they are part of.

    Args:
        queries: (n, d) vectors of the pool as queries, dense or CSR.
        texts: (n, d) vectors of the pool as texts; the same object where the two roles do not differ.
        left: (P,) rows of the pool.
        right: (P,) rows of the pool.
        label: (P,) 0 or 1.
    """

    queries: Vectors
    texts: Vectors
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    label: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.left)

    def sample(self, count: int, *, seed: int) -> "PooledPairs":
        """At most `count` of the pairs, in their order, within the same pool."""
        if len(self) <= count:
            return self
        rows = np.sort(np.random.default_rng(seed).choice(len(self), count, replace=False))
        return PooledPairs(self.queries, self.texts, self.left[rows], self.right[rows], self.label[rows])


@dataclass(frozen=True)
class KnnReport:
    """Metrics of the rule.

    Args:
        metrics: split -> metric -> value, at the k that is best on validation.
        intervals: "test" -> metric -> 95 % interval.
    """

    metrics: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, Interval]]


@dataclass(frozen=True)
class PairwiseKnn:
    """Evaluates the rule for every k.

    Args:
        max_k: K, the largest k that is tried.
        max_pairs: a larger split is evaluated on a sample of this many pairs, in the whole pool.
        seed: of that sample.
    """

    max_k: int = 55
    max_pairs: int = 20_000
    seed: int = 0

    def report(self, *, val: PooledPairs, test: PooledPairs) -> KnnReport:
        """Choose k on validation and apply it to test.

        Raises:
            ValueError: if a split has pairs of one class only.
        """
        sampled = {
            split: pairs.sample(self.max_pairs, seed=self.seed) for split, pairs in (("val", val), ("test", test))
        }
        ranks = {split: mutual_ranks(pairs) for split, pairs in sampled.items()}
        counts = {split: self._counts(ranks[split], pairs) for split, pairs in sampled.items()}
        best = int(counts["val"].accuracy.argmax())
        metrics = {
            split: {
                "pairwise_knn_accuracy": float(each.accuracy[best]),
                "pairwise_knn_log_loss": float(each.cross_entropy(counts["val"])[best]),
                "pairwise_knn_k": float(best + 1),
            }
            for split, each in counts.items()
        }
        right = (ranks["test"] <= best + 1) == sampled["test"].label
        interval = share_interval(right, units_of(sampled["test"].left, sampled["test"].right))
        return KnnReport(metrics, {"test": {"pairwise_knn_accuracy": interval}})

    def _counts(self, ranks: NDArray[np.int64], pairs: PooledPairs) -> "_Counts":
        truth = binary(pairs.label)
        capped = np.minimum(ranks, self.max_k + 1)
        same = np.bincount(2 * capped + truth, minlength=2 * self.max_k + 4).reshape(-1, 2)[1:-1].cumsum(axis=0)
        return _Counts(same[:, 1], same[:, 0], int(truth.sum()) - same[:, 1], int((~truth).sum()) - same[:, 0])


def mutual_ranks(pairs: PooledPairs) -> NDArray[np.int64]:
    """(P,) the larger of the two ranks that the texts of each pair have among each other's neighbours.

    Works in blocks of pairs, so that no (n, n) matrix is needed.
    """
    from_ends = np.concatenate([pairs.left, pairs.right])
    to_ends = np.concatenate([pairs.right, pairs.left])
    ranks = np.empty(len(from_ends), np.int64)
    if sparse.issparse(pairs.texts):
        step, rank_of = max(1, BLOCK // pairs.texts.shape[0]), _sparse_ranks(pairs)
    else:
        step, rank_of = math.isqrt(BLOCK), _dense_ranks(pairs)

    def rank(block: int) -> None:
        part = slice(block * step, (block + 1) * step)
        ranks[part] = rank_of(from_ends[part], to_ends[part]).numpy()

    for _ in in_parallel(rank, math.ceil(len(ranks) / step)):
        pass
    return np.asarray(ranks.reshape(2, -1).max(axis=0))


def _sparse_ranks(pairs: PooledPairs) -> RankOf:
    import torch  # which models in use do without

    similar = similarities(pairs.queries, pairs.texts)

    def rank_of(source: NDArray[np.int64], target: NDArray[np.int64]) -> torch.Tensor:
        scores = torch.from_numpy(similar(source))
        row = torch.arange(len(scores))
        own = scores[row, torch.from_numpy(target)]
        scores[row, torch.from_numpy(source)] = -torch.inf  # a text is no neighbour of itself
        nearer = scores > _above(own)[:, None]
        return torch.where(own.isneginf(), scores.shape[1], nearer.sum(dim=1) + 1)

    return rank_of


def _dense_ranks(pairs: PooledPairs) -> RankOf:
    import torch

    queries = torch.tensor(pairs.queries, dtype=torch.float32)
    texts = queries if pairs.texts is pairs.queries else torch.tensor(pairs.texts, dtype=torch.float32)
    width = math.isqrt(BLOCK)

    def rank_of(source: NDArray[np.int64], target: NDArray[np.int64]) -> torch.Tensor:
        asking, number = queries[source], torch.from_numpy(source)
        least = _above((asking * texts[target]).sum(dim=1))[:, None]
        rank = torch.ones(len(source), dtype=torch.int64)
        for start in range(0, len(texts), width):
            scores = torch.mm(asking, texts[start : start + width].T)
            row = torch.nonzero((number >= start) & (number < start + width))[:, 0]
            scores[row, number[row] - start] = -torch.inf  # a text is no neighbour of itself
            rank += (scores > least).sum(dim=1)
        return rank

    return rank_of


def _above(own: "Tensor") -> "Tensor":
    """(b,) what a similarity must exceed to be larger than each of these by more than rounding."""
    return own + ROUNDING * own.abs().clamp(1, 1e6)


def units_of(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P,) connected component of each pair, where texts are nodes and pairs are edges; numbered by its first pair.

    It is the unit of sampling: pairs that share texts, directly or by way of others, are not independent.

    Args:
        left: (P,) text of each pair.
        right: (P,) the other one.
    """
    texts, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    one, other = place.reshape(2, -1)
    edges = sparse.coo_matrix((np.ones(len(one), np.int8), (one, other)), shape=(len(texts), len(texts)))
    _, component = connected_components(edges, directed=False)
    _, first, unit = np.unique(component[one], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[unit], np.int64)


@dataclass(frozen=True)
class _Counts:
    """Pairs of each label that the rule predicts to be the same or not, (K,) each."""

    true_positive: NDArray[np.int64]
    false_positive: NDArray[np.int64]
    false_negative: NDArray[np.int64]
    true_negative: NDArray[np.int64]

    @property
    def accuracy(self) -> Floats:
        return (self.true_positive + self.true_negative) / self._pairs

    def cross_entropy(self, calibration: "_Counts") -> Floats:
        """(K,) with the probabilities that other counts give, those of validation."""
        after_yes = (calibration.true_positive + 1) / (calibration.true_positive + calibration.false_positive + 2)
        after_no = (calibration.false_negative + 1) / (calibration.false_negative + calibration.true_negative + 2)
        surprise = (
            self.true_positive * -np.log(after_yes)
            + self.false_positive * -np.log1p(-after_yes)
            + self.false_negative * -np.log(after_no)
            + self.true_negative * -np.log1p(-after_no)
        )
        return surprise / self._pairs

    @property
    def _pairs(self) -> NDArray[np.int64]:
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative
