"""Thresholds are chosen on validation alone, and what they do is counted on test."""

from dataclasses import asdict

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
    points_from_json,
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


def test_precision_under_another_share_is_that_of_pairs_with_this_share():
    val = pairs(6)
    many = by_name(val, pairs(7, number=200_000))["precision 0.9"]
    rare = by_name(val, pairs(8, number=200_000, share=0.05))["precision 0.9"]
    assert many.precision_under(0.05) == pytest.approx(rare.test.precision, abs=0.02)
    assert many.precision_under(0.3) == pytest.approx(many.test.precision, abs=0.01)
    with pytest.raises(ValueError, match="between 0 and 1, got 0"):
        many.precision_under(0)


def test_points_survive_json():
    found = operating_points(pairs(9), pairs(10), calibration=CALIBRATION)
    assert points_from_json([asdict(point) for point in found]) == found
    with pytest.raises(ValueError, match="expected operating points"):
        points_from_json([{"name": "precision 0.9"}])
