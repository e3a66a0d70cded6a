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
    probability = np.bincount(drawn.band, DECISION.probability(candidates[drawn.rows]), len(drawn.sizes))
    likely = probability / np.maximum(np.bincount(drawn.band, minlength=len(drawn.sizes)), 1)
    return Sample(candidates[rows], label[rows], band, drawn.sizes, drawn.thresholds, drawn.above, likely)


def true_values(candidates, label, threshold):
    said = candidates >= threshold
    return (said & label).sum() / said.sum(), (said & label).sum() / label.sum()


def test_where_all_candidates_are_labelled_the_estimates_are_the_plain_proportions_and_certain():
    candidates, label = population(400)
    found = estimate(labelled(candidates, label, pairs=400, seed=0))
    assert found.duplicates == pytest.approx(label.sum())
    for row in found.at:
        said = candidates >= row.threshold
        assert row.candidates == said.sum()
        if said.any():
            assert row.precision.value == pytest.approx(precision_score(label, said))
            assert row.precision.low == pytest.approx(row.precision.value)
            assert row.precision.high == pytest.approx(row.precision.value)
            assert row.recall == pytest.approx(recall_score(label, said))


@pytest.mark.parametrize("answered", [None, 80])
def test_sums_and_precision_are_unbiased_also_if_one_stops_early(answered):
    candidates, label = population()
    said = candidates >= DECISION.threshold
    found = []
    for seed in range(400):
        one = estimate(labelled(candidates, label, pairs=240, seed=seed, answered=answered), resamples=2)
        row = one.at[STORED]
        true_positives = row.recall * one.duplicates
        found.append([one.duplicates, true_positives, row.precision.value])
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
        bias.append(abs(np.mean([estimate(one, resamples=2).at[STORED].recall for one in drawn]) - recall))
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
            truth, _ = true_values(candidates, label, row.threshold)
            held.append(row.precision.low <= truth <= row.precision.high)
            widths.append(row.precision.high - row.precision.low)
    held, widths = np.array(held).reshape(200, -1), np.array(widths).reshape(200, -1)
    assert (held.mean(axis=0) > 0.9).all(), held.mean(axis=0)
    assert (widths.mean(axis=0) < 0.6).all(), widths.mean(axis=0)


def test_a_band_without_a_labelled_duplicate_is_not_sure_to_hold_none():
    score = np.concatenate([np.full(10_000, 0.7), np.full(20, 0.9)])
    row = estimate(labelled(score, score > 0.8, pairs=40, seed=0)).at[STORED]
    assert row.precision.value < 0.01
    assert row.precision.high > 0.02


def test_very_many_unlikely_pairs_are_not_taken_for_duplicates_that_nobody_met():
    score = np.concatenate([np.full(2, 0.9), np.full(6, 0.1), np.full(10, 0.95)])  # two of the unlikely band are above
    label, band = np.arange(18) > 8, np.repeat([0, 1], [8, 10])
    bands, above = np.array([34_000, 200]), np.array([[8_500], [200]])
    drawn = Sample(score, label, band, bands, np.array([0.5]), above, likely=np.array([0.001, 0.9]))
    precision = estimate(drawn).at[0].precision
    assert precision.low < 180 / 8_700 < precision.high < 0.1  # half a pair of either label: 0.42


def test_estimates_are_within_their_intervals_and_between_0_and_1():
    candidates, label = population(500)
    for seed in range(20):
        found = estimate(labelled(candidates, label, pairs=30, seed=seed, answered=7), resamples=200)
        for row in found.at:
            share = row.precision
            assert 0 <= share.low <= (share.low if share.value is None else share.value) <= share.high <= 1
            assert row.recall is None or 0 <= row.recall <= 1


def test_without_a_labelled_duplicate_recall_is_not_known():
    candidates, label = population(500)
    found = estimate(labelled(candidates, np.zeros_like(label), pairs=30, seed=0))
    assert {row.recall for row in found.at} == {None}
    assert found.duplicates == 0


def test_nothing_is_estimated_from_nothing_and_no_band_has_more_labels_than_pairs():
    candidates, label = population(50)
    with pytest.raises(ValueError, match="no pair is labelled yet"):
        estimate(labelled(candidates, label, pairs=10, seed=0, answered=0))
    with pytest.raises(ValueError, match=r"at most \[1\] labelled pairs, got \[2\]"):
        Sample(
            np.ones(2),
            np.ones(2, bool),
            np.zeros(2, np.int64),
            np.ones(1, np.int64),
            np.ones(1),
            np.ones((1, 1)),
            np.ones(1),
        )
