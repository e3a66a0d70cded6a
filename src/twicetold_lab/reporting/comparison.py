"""Paired tests of two models on the pairs that both scored, by metric.

DeLong et al. 1988 for AUROC, a bootstrap for correlations; they detect differences that two separate intervals do
not. Pairs that share texts are one unit of sampling (`evaluation.pairwise_knn.units_of`).
"""

import numpy as np

from twicetold.evaluation.intervals import (
    PairedTest,
    bootstrap_interval,
    few_units,
    paired_auroc_test,
    pearson_statistic,
    spearman_statistic,
)
from twicetold_lab.runs.records import SampledPairs

CORRELATIONS = {"pearson": pearson_statistic, "spearman": spearman_statistic}


def paired(metric: str, one: SampledPairs, two: SampledPairs) -> PairedTest | None:
    """The test of whether two models differ in a metric that needs no threshold, on the same pairs.

    Args:
        metric: "auroc" of labelled pairs; "pearson" or "spearman", whose interval is a bootstrap's, without a p-value
            (NaN).
        one: scores of model a.
        two: scores of model b.

    Returns:
        Model a minus model b; None for other metrics, and where the pairs are not the same. Where units are few, the
        interval is all that there can be.
    """
    if not np.array_equal(one.label, two.label):
        return None
    few = few_units(one.units)
    if metric == "auroc" and np.isin(one.label, (0, 1)).all():
        found = paired_auroc_test(one.score, two.score, one.label, one.units)
        return PairedTest(found.difference, -1.0, 1.0, 1.0) if few else found
    if metric not in CORRELATIONS:
        return None
    first, second = (CORRELATIONS[metric](pairs.score, pairs.label) for pairs in (one, two))
    everything = np.ones((1, len(one)))
    ends = (-2.0, 2.0) if few else bootstrap_interval(lambda drawn: first(drawn) - second(drawn), len(one), one.units)
    return PairedTest(float((first(everything) - second(everything))[0]), *ends, float("nan"))
