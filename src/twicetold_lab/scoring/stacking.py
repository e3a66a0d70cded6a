"""Stacking: the weights of an ensemble's members, by logistic regression on validation.

Wolpert 1992, "Stacked generalization". Weights are at least 0, as in Breiman 1996, "Stacked regressions", so that a
weighted sum of dot products is a dot product again. With scores sᵢ of M members and labels y,

    log-odds(y = 1) = Σᵢ wᵢ sᵢ + c        wᵢ >= 0

With features x of a pair, Σⱼ vⱼ xⱼ is added, with vⱼ of any sign and a ridge of 1 on standardised features.

Scores that a threshold or anything else is chosen on are cross-fitted: clusters of texts are dealt into folds, and the
pairs of a fold are scored with weights that were fitted without its texts. The weights that are kept are fitted on all
folds.

Of documents, all pairs count, duplicates are one in hundreds or in millions, and pairs are too many to hold. The
regression takes the pairs within groups, for each member the nearest texts of other groups, and a random sample of the
rest, weighted for what it stands for (Horvitz and Thompson 1952).

Shape letters: P pairs, M members, n texts, K folds, F features of a pair.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from twicetold.evaluation.decision import sigmoid
from twicetold.evaluation.inputs import binary, finite
from twicetold.neighbours.nearest import NOBODY, Index, Matrix
from twicetold.trained.ensemble import Weights

FOLDS = 5
NEIGHBOURS = 20  # texts of other groups, for each text and member
MOST = 500_000  # pairs of a kind, within groups or at random
RIDGE = 1e-6  # of squared weights of standardised scores, beside the mean loss: separable classes have finite weights
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WeightedPairs:
    """Pairs of texts that stand for all pairs of a split.

    Args:
        left: (P,) text.
        right: (P,) another text.
        label: (P,) whether they are of one group.
        weight: (P,) how many pairs each stands for.
    """

    left: Ints
    right: Ints
    label: NDArray[np.bool_]
    weight: Floats


def fit_weights(
    scores: Floats, labels: NDArray[np.bool_], weight: Floats | None = None, *, members: int | None = None
) -> Weights:
    """Return logistic regression with weights of at least 0.

    Args:
        scores: (P, M) of each member, or (P, M + F) with features of the pairs, whose weights have any sign.
        labels: (P,) 0 or 1.
        weight: (P,) of each pair; None: 1.
        members: M; None: all columns are scores.

    Raises:
        ValueError: if a score is not finite, one class is missing, or no member scores duplicates higher.
    """
    truth, scores = binary(labels), finite(scores, "scores")
    share = np.full(len(truth), 1.0) if weight is None else weight
    share = share / share.sum()
    mean = share @ scores
    varies = np.ptp(scores, axis=0) > 0
    spread = np.where(varies, np.sqrt(share @ (scores - mean) ** 2), 1.0)
    z = (scores - mean) / spread
    base = float(share @ truth)
    count = scores.shape[1] if members is None else members
    ridge = RIDGE if count == scores.shape[1] else 1 / len(truth)

    def loss(at: Floats) -> tuple[float, Floats]:
        log_odds = z @ at[:-1] + at[-1]
        value = share @ (np.logaddexp(0.0, log_odds) - truth * log_odds) + ridge / 2 * at[:-1] @ at[:-1]
        residual = share * (sigmoid(log_odds) - truth)
        return float(value), np.append(residual @ z + ridge * at[:-1], residual.sum())

    start = np.append(np.zeros(scores.shape[1]), math.log(base / (1 - base)))
    bounds = [(0.0, None)] * count + [(None, None)] * (len(start) - count)
    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-9}
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    weights = np.where(varies, solution[:-1] / spread, 0.0)
    if not weights[:count].any():
        raise ValueError("no member of the ensemble scores duplicates of validation higher than other pairs")
    intercept = float(solution[-1] - weights @ mean)
    return Weights(tuple(weights[:count].tolist()), intercept, tuple(weights[count:].tolist()))


def cross_fit(
    scores: Floats,
    labels: NDArray[np.bool_],
    folds: tuple[Ints, Ints],
    weight: Floats | None = None,
    *,
    members: int | None = None,
) -> list[Weights]:
    """Return for each fold, the weights from the pairs that have no text in it.

    Args:
        scores: as of `fit_weights`, like the others.
        labels: (P,) 0 or 1.
        folds: (P,) fold of the left text of each pair, and of the right one.
        weight: (P,) of each pair; None: 1.
        members: M, if there are features.

    Raises:
        ValueError: as `fit_weights` does.
    """
    fitted = []
    for fold in range(1 + int(max(side.max() for side in folds))):
        kept = (folds[0] != fold) & (folds[1] != fold)
        some = None if weight is None else weight[kept]
        fitted.append(fit_weights(scores[kept], labels[kept], some, members=members))
    return fitted


def deal(clusters: Ints, *, folds: int = FOLDS) -> Ints:
    """Return (n,) fold of each text: clusters are dealt by size, largest first, there and back.

    Args:
        clusters: (n,) code of each text; texts of one cluster are in one fold.
        folds: K, fewer if there are fewer clusters.

    Raises:
        ValueError: if there are fewer than two clusters.
    """
    _, place, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError("cross-fitting needs at least two clusters of texts in validation, and there is one")
    count = min(folds, len(sizes))
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    turn, at = np.divmod(rank, count)
    return np.asarray(np.where(turn % 2, count - 1 - at, at)[place], np.int64)


def pairs_of_documents(codes: Ints, vectors: Sequence[tuple[Matrix, Matrix]]) -> WeightedPairs:
    """Return pairs that stand for all pairs of documents.

    Args:
        codes: (n,) group of each document.
        vectors: by member, search vectors of the documents, as queries and as documents.
    """
    count, rng = len(codes), np.random.default_rng(0)
    left, right, within = _within_groups(codes, rng)
    near = np.unique(np.concatenate([_nearest_others(codes, *each) for each in vectors]))
    low, high = np.sort(rng.integers(count, size=(2, MOST)), axis=0)
    others = (codes[low] != codes[high]) & ~np.isin(low * count + high, near)
    low, high = low[others], high[others]
    rest = count * (count - 1) // 2 - within - len(near)
    parts = (
        (left, right, within / max(len(left), 1)),
        (*np.divmod(near, count), 1.0),
        (low, high, rest / max(len(low), 1)),
    )
    return WeightedPairs(
        np.concatenate([one for one, _, _ in parts]),
        np.concatenate([other for _, other, _ in parts]),
        np.arange(len(left) + len(near) + len(low)) < len(left),
        np.repeat([each for _, _, each in parts], [len(one) for one, _, _ in parts]),
    )


def _within_groups(codes: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, int]:
    """Return pairs of one group, all of them or a sample, and how many there are."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order][:1] - 1))
    first = np.repeat(starts, np.diff(np.append(starts, len(codes))))
    before = np.cumsum(np.arange(len(codes)) - first)  # pairs whose later text is here or earlier
    total = int(before[-1])
    numbers = np.arange(total) if total <= MOST else np.sort(rng.integers(total, size=MOST))
    later = np.searchsorted(before, numbers, side="right")
    earlier = first[later] + numbers - (before[later] - (later - first[later]))
    return order[earlier], order[later], total


def _nearest_others(codes: Ints, queries: Matrix, documents: Matrix) -> Ints:
    """Return smaller × n + larger number of each pair of a text and one of the nearest ones of other groups."""
    neighbours = Index(documents).search(queries, k=min(NEIGHBOURS, len(codes)), apart=(codes, codes)).index
    text = np.repeat(np.arange(len(codes)), neighbours.shape[1])
    other = neighbours.ravel()
    there = other != NOBODY
    text, other = text[there], other[there]
    return np.asarray(np.unique(np.minimum(text, other) * len(codes) + np.maximum(text, other)))
