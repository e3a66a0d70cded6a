"""Thresholds and calibration: optimal on what they were chosen on, and nothing else goes in."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import accuracy_score, f1_score

from twicetold.evaluation.decision import Decision, decide, decide_counts, decide_weighted, effective_size
from twicetold.evaluation.ranking import ScoreCounts
from twicetold.evaluation.stored import record

labelled = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: 0 < sum(label for _, label in rows) < len(rows)
)
AIMS = ("accuracy", "f1")


@settings(max_examples=50)
@given(labelled)
def test_no_other_threshold_has_a_higher_accuracy_or_f1(rows):
    scores, labels = np.array(rows, dtype=float).T
    counts = ScoreCounts.of(scores, labels)
    cuts = np.concatenate([np.unique(scores), [99.0]])
    for aim, measure in (("accuracy", accuracy_score), ("f1", f1_score)):
        attained = measure(labels, decide_counts(counts, aim=aim).duplicate(scores))
        assert attained == pytest.approx(max(measure(labels, scores >= cut) for cut in cuts), abs=1e-12)


def test_of_equally_good_cuts_the_middle_of_the_widest_gap_is_taken():
    assert decide([0.0, 1.0, 2.0, 9.0], [0, 0, 1, 1]).threshold == 1.5
    # Cuts below 1, 3 and 8 are each right for 3 of 4; the gap from 3 to 8 is the widest.
    assert decide([0.0, 1.0, 3.0, 8.0], [0, 1, 0, 1]).threshold == 5.5


def test_a_threshold_between_neighbouring_floats_still_separates_them():
    low = 0.5
    high = np.nextafter(low, 1)
    decision = decide([low, high], [0, 1])
    assert decision.duplicate([low, high]).tolist() == [False, True]


def test_a_constant_score_decides_for_the_larger_class_with_its_probability():
    few = decide([2.0] * 10, [1] + [0] * 9)
    assert not few.duplicate([2.0]).any()
    assert few.slope == 0
    assert few.probability([2.0])[0] == pytest.approx((2 / 3 + 9 / 11) / 10, abs=1e-6)
    assert decide([2.0] * 10, [0] + [1] * 9).duplicate([2.0]).all()


def test_calibration_minimises_platts_smoothed_likelihood():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.3
    scores = 5 + 0.01 * (rng.normal(size=400) + labels)
    target = np.where(labels, (labels.sum() + 1) / (labels.sum() + 2), 1 / ((~labels).sum() + 2))

    def loss(at):
        log_odds = at[0] * (scores - 5) * 100 + at[1]
        return np.logaddexp(0, log_odds).sum() - target @ log_odds

    best = minimize(loss, [0, 0], tol=1e-12).x
    decision = decide(scores, labels)
    assert decision.slope == pytest.approx(best[0] * 100, rel=1e-4)
    assert decision.intercept == pytest.approx(best[1] - best[0] * 500, rel=1e-4)


def test_separable_scores_have_a_finite_calibration_that_keeps_their_order():
    decision = decide([0.0, 1.0, 5.0, 6.0], [0, 0, 1, 1])
    probability = decision.probability([0.0, 1.0, 5.0, 6.0])
    assert np.isfinite([decision.slope, decision.intercept]).all()
    assert (np.diff(probability) > 0).all()
    assert probability[1] < 0.5 < probability[2]


def test_probabilities_of_extreme_scores_do_not_overflow():
    assert Decision(0.0, 1000.0, 0.0).probability([-1e6, 1e6]).tolist() == [0.0, 1.0]


def test_a_decision_survives_json_and_refuses_other_keys():
    decision = Decision(threshold=0.25, slope=3.0, intercept=-1.0)
    assert record(Decision, asdict(decision), "a decision") == decision
    with pytest.raises(ValueError, match="expected the fields"):
        record(Decision, {"threshold": 1.0}, "a decision")


def test_bad_scores_and_labels_are_refused():
    with pytest.raises(ValueError, match="both classes"):
        decide([0.1, 0.2], [1, 1])
    with pytest.raises(ValueError, match="NaN"):
        decide([0.1, np.nan], [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        Decision(0, 1, 0).duplicate([np.nan])


@given(labelled, st.sampled_from([1.0, 0.3, 1e5]))
def test_with_equal_weights_the_decision_is_that_without(rows, weight):
    scores, labels = np.array(rows, dtype=float).T
    expected = decide_counts(ScoreCounts.of(scores, labels), aim="f1")
    got = decide_weighted(scores, labels.astype(bool), np.full(len(rows), weight))
    assert got.threshold == expected.threshold
    assert got.slope == pytest.approx(expected.slope, rel=1e-4, abs=1e-6)
    assert got.intercept == pytest.approx(expected.intercept, rel=1e-4, abs=1e-6)


@given(labelled, st.randoms(use_true_random=False))
def test_a_weight_of_three_is_three_pairs(rows, chance):
    scores, labels = np.array(rows, dtype=float).T
    weights = np.array([chance.randint(1, 4) for _ in rows])
    repeated = ScoreCounts.of(np.repeat(scores, weights), np.repeat(labels, weights))
    got = decide_weighted(scores, labels.astype(bool), weights.astype(float))
    assert got.threshold == decide_counts(repeated, aim="f1").threshold


def test_labels_of_unequal_weight_tell_as_much_as_fewer_of_equal_weight():
    assert effective_size(np.full(50, 7.0)) == pytest.approx(50)
    weight = np.where(np.arange(10_000) % 10 == 0, 9.0, 1.0)
    share = np.random.default_rng(0).random((500, len(weight))) < 0.3
    spread = np.average(share, axis=1, weights=weight).std()
    assert effective_size(weight) == pytest.approx(0.3 * 0.7 / spread**2, rel=0.2)


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_weights_are_positive(weight):
    with pytest.raises(ValueError, match="expected positive weights"):
        decide_weighted(np.arange(2.0), np.array([False, True]), np.array([1.0, weight]))
