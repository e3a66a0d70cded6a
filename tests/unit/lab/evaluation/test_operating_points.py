"""Thresholds are chosen on validation alone, and what they do is counted on test."""

import numpy as np
import pytest

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import ScoredPairs
from twicetold.evaluation.ranking import ScoreCounts
from twicetold_lab.evaluation.operating_points import (
    AIMS,
    BEST_ACCURACY,
    BEST_F1,
    lowest_reaching,
    operating_points,
)

CALIBRATION = Decision(threshold=0.0, slope=2.0, intercept=0.0)


def pairs(seed, number=4000, share=0.3):
    rng = np.random.default_rng(seed)
    label = (rng.random(number) < share).astype(float)
    return ScoredPairs(rng.normal(size=number) + 3.0 * label, label)


def by_name(val, test):
    return {point.name: point for point in operating_points(val, test, calibration=CALIBRATION)}


def test_the_threshold_for_an_aim_is_the_lowest_that_reaches_it_on_validation():
    val = pairs(0)
    for aim in AIMS:
        threshold = lowest_reaching(ScoreCounts.of(val.score, val.label), aim)
        assert val.label[val.score >= threshold].mean() >= aim
        lower = np.unique(val.score[val.score < threshold])
        tried = [val.label[val.score >= score].mean() for score in lower[::-1][:500]]
        assert max(tried) < aim


def test_a_precision_of_few_pairs_is_none_that_is_reached():
    score = np.arange(300, dtype=float)
    label = (score >= 250).astype(float)  # only the first fifty are right
    assert lowest_reaching(ScoreCounts.of(score, label), 0.99) is None
    assert by_name(ScoredPairs(score, label), ScoredPairs(score, label))["precision 0.99"].test is None


def test_rates_are_counts_of_verdicts_and_lie_in_their_intervals():
    val, test = pairs(1), pairs(2)
    for point in operating_points(val, test, calibration=CALIBRATION):
        said, truth = test.score >= point.threshold, test.label == 1
        found = point.test
        assert found.precision == pytest.approx(truth[said].mean())
        assert found.recall == pytest.approx(said[truth].mean())
        assert found.flagged == pytest.approx(said.mean())
        assert found.errors == pytest.approx((said != truth).mean())
        for name, (low, high) in found.intervals.items():
            assert low < getattr(found, name) < high
        assert point.probability == pytest.approx(1 / (1 + np.exp(-2 * point.threshold)))


def test_other_test_pairs_change_no_threshold():
    val = pairs(3)
    one, other = by_name(val, pairs(4)), by_name(val, pairs(5, share=0.6))
    assert {name: each.threshold for name, each in one.items()} == {n: each.threshold for n, each in other.items()}
    assert {BEST_F1, BEST_ACCURACY} < set(one)
