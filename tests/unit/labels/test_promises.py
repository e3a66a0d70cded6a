"""Precision to be expected of links whose threshold was chosen on few labels."""

import numpy as np

from twicetold.evaluation.decision import decide
from twicetold.evaluation.labelled_links import thresholds
from twicetold.labels.promises import promises
from twicetold.labels.sampling import CandidatePairs, draw
from twicetold.labels.weighted import decide_weighted


def test_the_expected_precision_is_a_cautious_one_among_all_candidates_and_its_interval_holds_it():
    rng = np.random.default_rng(0)
    label = rng.random(20_000) < 0.3
    score = rng.normal(size=20_000) + 2.0 * label
    nobody = np.empty(0, np.int64)
    candidates = CandidatePairs(nobody, nobody, score)
    stored, seen, expected, true, held = decide(score + 0.3, label), [], [], [], []
    for seed in range(40):
        drawn = draw(candidates, stored, pairs=120, seed=seed)
        taken = np.bincount(drawn.band, minlength=len(drawn.sizes))
        labelled = (score[drawn.rows], label[drawn.rows], (drawn.sizes / np.maximum(taken, 1))[drawn.band])
        links = {link.aimed: link for link in thresholds(*labelled)}
        found = promises(decide_weighted(*labelled), *labelled, drawn.band, seed=seed, resamples=100)
        assert [each.aimed for each in found] == [aimed for aimed, link in links.items() if link.threshold is not None]
        for promise in found:
            if promise.precision is not None:
                truth = label[score >= links[promise.aimed].threshold].mean()
                seen.append(links[promise.aimed].precision)
                expected.append(promise.precision.value)
                true.append(truth)
                held.append(promise.precision.low <= truth <= promise.precision.high)
    assert len(held) > 60
    assert np.mean(seen) > np.mean(true) + 0.01
    assert np.mean(true) - 0.04 < np.mean(expected) < np.mean(true) + 0.01
    assert np.mean(held) >= 0.9


def test_a_precision_that_is_not_reached_has_no_promise():
    label = np.arange(100) % 2 == 0
    score = np.arange(100) / 100
    ones, zeros = np.ones(100), np.zeros(100, np.int64)
    assert promises(decide_weighted(score, label, ones), score, label, ones, zeros) == ()
