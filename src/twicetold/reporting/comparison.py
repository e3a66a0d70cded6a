"""Paired tests of models on the pairs that all of them scored, and the reliability of probabilities.

Paired tests (DeLong et al. 1988 for AUROC, McNemar 1947 for decisions, a bootstrap over pairs for correlations) detect
differences that the two separate intervals do not.

Shape letters: P test pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import ScoredPairs
from twicetold.evaluation.intervals import (
    PairedTest,
    bootstrap_interval,
    mcnemar,
    paired_auroc_test,
    pearson_statistic,
    spearman_statistic,
)
from twicetold.reporting.leaderboard import Leaderboard, Row
from twicetold.runs.records import read_decision, read_scores

BINS = 10
CORRELATIONS = {"pearson": pearson_statistic, "spearman": spearman_statistic}


@dataclass(frozen=True)
class Comparison:
    """The best model against another on the same test pairs."""

    model: str
    auroc: PairedTest
    """DeLong's test of AUROC of the best minus AUROC of the other."""
    only_best_right: int
    """Pairs on which the best model is right and the other wrong, each at its own threshold."""
    only_other_right: int
    mcnemar_p_value: float


@dataclass(frozen=True)
class Bin:
    """Test pairs whose predicted probability lies in one tenth of [0, 1]."""

    low: float
    high: float
    count: int
    predicted: float
    """Mean predicted probability."""
    observed: float
    """Share of duplicates."""


@dataclass(frozen=True)
class Reliability:
    """Predicted probability against observed share for one model."""

    model: str
    bins: tuple[Bin, ...]
    """Those that hold any pair."""

    @property
    def gap(self) -> float:
        """Mean distance between predicted and observed, weighted by pairs (expected calibration error)."""
        pairs = sum(b.count for b in self.bins)
        return sum(b.count * abs(b.predicted - b.observed) for b in self.bins) / pairs


def compare(board: Leaderboard) -> list[Comparison]:
    """The best model of a leaderboard of labelled pairs against each other one; the first seed stands for each.

    Raises:
        ValueError: if two models were not scored on the same pairs.
    """
    best = _scores_and_decision(board.best)
    if best is None:
        return []
    comparisons = []
    for row in board.rows[1:]:
        other = _scores_and_decision(row)
        if other is None:
            continue
        _require_same_pairs(board.best, best[0], row, other[0])
        best_right, other_right = right(*best), right(*other)
        comparisons.append(
            Comparison(
                model=row.model,
                auroc=paired_auroc_test(best[0].score, other[0].score, best[0].label),
                only_best_right=int(np.sum(best_right & ~other_right)),
                only_other_right=int(np.sum(~best_right & other_right)),
                mcnemar_p_value=mcnemar(best_right, other_right).p_value,
            )
        )
    return comparisons


def right(scores: ScoredPairs, decision: Decision) -> NDArray[np.bool_]:
    """Whether a model is right about each labelled pair at its own threshold, (P,)."""
    return np.asarray((scores.score >= decision.threshold) == (scores.label > 0.5))


def paired(metric: str, one: ScoredPairs, two: ScoredPairs) -> PairedTest | None:
    """The test of whether two models differ in a metric that needs no threshold, on the same pairs.

    Args:
        metric: "auroc" of labelled pairs; "pearson" or "spearman", whose interval is a bootstrap's, without a p-value
            (NaN).
        one: scores of model a.
        two: scores of model b.

    Returns:
        Model a minus model b; None for other metrics, and where the pairs are not the same.
    """
    if not np.array_equal(one.label, two.label):
        return None
    if metric == "auroc" and np.isin(one.label, (0, 1)).all():
        return paired_auroc_test(one.score, two.score, one.label)
    if metric not in CORRELATIONS:
        return None
    first, second = (CORRELATIONS[metric](pairs.score, pairs.label) for pairs in (one, two))
    low, high = bootstrap_interval(lambda weights: first(weights) - second(weights), len(one))
    everything = np.ones((1, len(one)))
    return PairedTest(float((first(everything) - second(everything))[0]), low, high, float("nan"))


def _require_same_pairs(one: Row, scores: ScoredPairs, other: Row, others: ScoredPairs) -> None:
    if not np.array_equal(scores.label, others.label):
        raise ValueError(
            f"{one.first.folder.name} and {other.first.folder.name} were scored on different test pairs "
            f"({len(scores):,} and {len(others):,}, or in another order), so they cannot be "
            f"compared pair by pair. Run `dvc repro --force` on both evaluate stages."
        )


def reliabilities(rows: Sequence[Row]) -> list[Reliability]:
    """The reliability of each model's probabilities on test; models without scores of pairs are left out."""
    found = []
    for row in rows:
        scored = _scores_and_decision(row)
        if scored is not None:
            scores, decision = scored
            found.append(Reliability(row.model, reliability_bins(decision.probability(scores.score), scores.label)))
    return found


def reliability_bins(probability: NDArray[np.float64], label: NDArray[np.float64]) -> tuple[Bin, ...]:
    """Group pairs by tenths of predicted probability; equal probabilities always share a bin.

    Args:
        probability: (P,) in [0, 1].
        label: (P,) 0 or 1.
    """
    which = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(which, minlength=BINS)
    predicted = np.bincount(which, weights=probability, minlength=BINS)
    observed = np.bincount(which, weights=label, minlength=BINS)
    return tuple(
        Bin(b / BINS, (b + 1) / BINS, int(counts[b]), float(predicted[b] / counts[b]), float(observed[b] / counts[b]))
        for b in np.flatnonzero(counts)
    )


def _scores_and_decision(row: Row) -> tuple[ScoredPairs, Decision] | None:
    scores = read_scores(row.first.folder, "test")
    return None if scores is None else (scores, read_decision(row.first))
