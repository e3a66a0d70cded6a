import math

import numpy as np
import pytest

from twicetold_lab.evaluation.pair_intervals import spearman_statistic
from twicetold_lab.export.champion import paired
from twicetold_lab.runs.folder import SampledPairs

PAIRS = 300


@pytest.mark.parametrize(("metric", "ends"), [("auroc", (-1, 1)), ("pearson", (-2, 2))])
def test_runs_whose_pairs_are_one_unit_are_not_told_apart(metric, ends):
    rng, label = np.random.default_rng(3), np.arange(200) % 2.0
    good, bad = (SampledPairs(rng.normal(label, noise), label, np.zeros(200, int)) for noise in (0.1, 3))
    found = paired(metric, good, bad)
    assert found.difference > 0.3
    assert (found.low, found.high) == ends
    assert not found.p_value < 1


def test_correlations_are_compared_by_a_bootstrap_over_the_same_pairs():
    rng = np.random.default_rng(3)
    grade = rng.uniform(0, 5, PAIRS)
    good, poor = (SampledPairs(grade + rng.normal(0, noise, PAIRS), grade) for noise in (0.5, 3.0))
    for metric in ("pearson", "spearman"):
        found = paired(metric, good, poor)
        assert 0 < found.low < found.difference < found.high
        assert math.isnan(found.p_value)
    whole = np.ones((1, PAIRS))
    values = [float(spearman_statistic(one.score, grade)(whole)[0]) for one in (good, poor)]
    assert found.difference == pytest.approx(values[0] - values[1])
    assert paired("accuracy", good, poor) is None
    assert paired("auroc", good, poor) is None, "grades are no labels"
    assert paired("pearson", good, SampledPairs(good.score, grade[::-1])) is None


def test_pairs_that_share_texts_are_one_unit_of_the_tests():
    rng = np.random.default_rng(3)
    unit, label = np.repeat(np.arange(40), 25), rng.integers(0, 2, 1000).astype(float)
    ease = rng.normal(size=(2, 40))[:, unit]
    scores = (2 * label - 1) * (0.5 + ease) + rng.normal(size=(2, 1000))
    alone = [SampledPairs(score, label) for score in scores]
    together = [SampledPairs(score, label, unit) for score in scores]
    apart, whole = paired("auroc", *alone), paired("auroc", *together)
    assert whole.difference == pytest.approx(apart.difference)
    assert whole.high - whole.low > 2 * (apart.high - apart.low)
