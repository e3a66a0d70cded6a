"""Paired tests of two models on the pairs that both scored, by metric.

DeLong et al. 1988 for AUROC, a bootstrap over pairs for correlations; they detect differences that two separate
intervals do not. For decisions see `evaluation.intervals.mcnemar`.

Shape letters: P test pairs.
"""

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import ScoredPairs
from twicetold.evaluation.intervals import (
    PairedTest,
    bootstrap_interval,
    paired_auroc_test,
    pearson_statistic,
    spearman_statistic,
)

CORRELATIONS = {"pearson": pearson_statistic, "spearman": spearman_statistic}


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
