"""Estimates from stratified samples, against populations that are known."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.labels.estimates import Sample, estimate
from twicetold.labels.sampling import draw

DECISION = Decision(threshold=0.6, slope=12.0, intercept=-7.2)
STORED = 6  # place of the stored threshold among those of a draw


def population(count=12_000, seed=1, shift=-0.5):
    """Candidates and their labels; about 7 % are duplicates, and the calibration is somewhat wrong."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 5, count)
    label = rng.random(count) < sigmoid(9.0 * (score - DECISION.threshold) + shift)
    return score, label


def labelled(candidates, label, *, pairs, seed, answered=None):
    drawn = draw(candidates, DECISION, pairs=pairs, seed=seed)
    rows, band = drawn.rows[:answered], drawn.band[:answered]
    return Sample(candidates[rows], label[rows], band, drawn.sizes, drawn.thresholds, drawn.above)


def true_values(candidates, label, threshold):
    said = candidates >= threshold
    return (said & label).sum() / said.sum(), (said & label).sum() / label.sum()


def test_where_all_candidates_are_labelled_the_estimates_are_the_plain_proportions_and_certain():
    candidates, label = population(400)
    found = estimate(labelled(candidates, label, pairs=400, seed=0))
    assert (found.duplicates.value, found.duplicates.low, found.duplicates.high) == (label.sum(),) * 3
    for row in found.at:
        said = candidates >= row.threshold
        assert row.candidates == said.sum()
        if said.any():
            for share, measure in ((row.precision, precision_score), (row.recall, recall_score)):
                assert share.value == pytest.approx(measure(label, said, zero_division=0))
                assert share.low == pytest.approx(share.value)
                assert share.high == pytest.approx(share.value)


@pytest.mark.parametrize("answered", [None, 80])
def test_sums_and_precision_are_unbiased_also_if_one_stops_early(answered):
    candidates, label = population()
    said = candidates >= DECISION.threshold
    found = []
    for seed in range(400):
        one = estimate(labelled(candidates, label, pairs=240, seed=seed, answered=answered), resamples=2)
        row = one.at[STORED]
        true_positives = row.recall.value * one.duplicates.value
        found.append([one.duplicates.value, true_positives, row.precision.value])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    # At the end of a band the denominator of precision is no estimate.
    truth = np.array([label.sum(), (said & label).sum(), label[said].mean()])
    assert (np.abs(mean - truth) < 3 * error).all(), (mean, truth, error)


def test_recall_which_is_a_ratio_of_two_estimates_is_right_in_the_limit():
    candidates, label = population()
    _, recall = true_values(candidates, label, DECISION.threshold)
    bias = []
    for pairs in (80, 240, 2_000):
        drawn = (labelled(candidates, label, pairs=pairs, seed=seed) for seed in range(150))
        bias.append(abs(np.mean([estimate(one, resamples=2).at[STORED].recall.value for one in drawn]) - recall))
    assert bias[0] > bias[1] > bias[2]
    assert bias[2] < 0.01


def test_intervals_hold_the_truth_in_about_95_of_100_draws():
    candidates, label = population()
    held, widths = [], []
    places = (4, STORED, 8)
    for seed in range(200):
        found = estimate(labelled(candidates, label, pairs=150, seed=seed), resamples=400, seed=seed)
        for place in places:
            row = found.at[place]
            for share, truth in zip((row.precision, row.recall), true_values(candidates, label, row.threshold)):
                held.append(share.low <= truth <= share.high)
                widths.append(share.high - share.low)
    held, widths = np.array(held).reshape(200, -1), np.array(widths).reshape(200, -1)
    assert (held.mean(axis=0) > 0.9).all(), held.mean(axis=0)
    assert (widths.mean(axis=0) < 0.6).all(), widths.mean(axis=0)


def test_a_band_without_a_labelled_duplicate_is_not_sure_to_hold_none():
    score = np.concatenate([np.full(10_000, 0.1), np.full(20, 0.9)])
    label = score > 0.5
    found = estimate(labelled(score, label, pairs=40, seed=0))
    row = found.at[STORED]
    assert (row.recall.value, row.recall.high) == (1.0, 1.0)
    assert row.recall.low < 0.2


def test_estimates_are_within_their_intervals_and_between_0_and_1():
    candidates, label = population(500)
    for seed in range(20):
        found = estimate(labelled(candidates, label, pairs=30, seed=seed, answered=7), resamples=200)
        for row in found.at:
            for share in (row.precision, row.recall):
                assert 0 <= share.low <= (share.low if share.value is None else share.value) <= share.high <= 1


def test_without_a_labelled_duplicate_recall_is_not_known():
    candidates, label = population(500)
    found = estimate(labelled(candidates, np.zeros_like(label), pairs=30, seed=0))
    assert {row.recall.value for row in found.at} == {None}
    assert found.duplicates.value == 0
    assert found.duplicates.high > 0


def test_nothing_is_estimated_from_nothing_and_no_band_has_more_labels_than_pairs():
    candidates, label = population(50)
    with pytest.raises(ValueError, match="no pair is labelled yet"):
        estimate(labelled(candidates, label, pairs=10, seed=0, answered=0))
    with pytest.raises(ValueError, match=r"at most \[1\] labelled pairs, got \[2\]"):
        Sample(np.ones(2), np.ones(2, bool), np.zeros(2, np.int64), np.ones(1, np.int64), np.ones(1), np.ones((1, 1)))
