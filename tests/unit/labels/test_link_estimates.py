"""Precision to be expected of links whose threshold was chosen on few labels."""

from collections import defaultdict

import numpy as np

from twicetold.evaluation.decision import best_threshold, decide, decide_weighted
from twicetold.evaluation.thresholds import choose_on_labels
from twicetold.labels.link_estimates import link_estimates
from twicetold.labels.sampling import CandidatePairs, draw


def test_the_expected_precision_is_a_cautious_one_among_all_candidates_and_its_interval_holds_it():
    rng = np.random.default_rng(0)
    label = rng.random(20_000) < 0.3
    score = rng.normal(size=20_000) + 2.0 * label
    nobody = np.empty(0, np.int64)
    candidates = CandidatePairs(nobody, nobody, score)
    stored, found_of = decide(score + 0.3, label), defaultdict(list)
    for seed in range(40):
        drawn = draw(candidates, stored, pairs=120, seed=seed)
        taken = np.bincount(drawn.band, minlength=len(drawn.sizes))
        labelled = (score[drawn.rows], label[drawn.rows], (drawn.sizes / np.maximum(taken, 1))[drawn.band])
        links = {link.aimed: link.threshold for link in choose_on_labels(*labelled)}
        links = {None: best_threshold(*labelled, aim="f1")} | links
        found = link_estimates(decide_weighted(*labelled), *labelled, drawn.band, seed=seed, resamples=100)
        assert [(each.aimed, each.threshold) for each in found] == [
            each for each in links.items() if each[1] is not None
        ]
        for promise in found:
            if (precision := promise.precision) is not None:
                truth = label[score >= promise.threshold].mean()
                reached = labelled[0] >= promise.threshold
                seen = np.average(labelled[1][reached], weights=labelled[2][reached])
                held = precision.low <= truth <= precision.high
                found_of[promise.aimed is None].append((seen, precision.value, truth, held))
    seen, expected, true, held = np.mean(found_of[False], axis=0)
    assert len(found_of[False]) > 60
    assert seen > true + 0.01
    assert true - 0.04 < expected < true + 0.01
    assert held >= 0.9
    seen, expected, true, held = np.mean(found_of[True], axis=0)  # of the highest F1
    assert len(found_of[True]) == 40
    assert abs(expected - true) < 0.03
    assert held >= 0.9


def test_a_precision_that_is_not_reached_has_no_promise_and_the_highest_f1_has_one():
    label = np.arange(100) % 2 == 0
    score = np.arange(100) / 100
    ones, zeros = np.ones(100), np.zeros(100, np.int64)
    [found] = link_estimates(decide_weighted(score, label, ones), score, label, ones, zeros)
    assert (found.aimed, found.threshold) == (None, best_threshold(score, label, ones, aim="f1"))
    assert found.precision.low < 0.5 < found.precision.high
