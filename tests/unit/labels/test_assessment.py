"""What a chosen decision is worth: estimates that do not flatter, and intervals that hold the truth."""

import numpy as np
import pytest

from twicetold.evaluation.decision import decide, decide_weighted, effective_size, platt_of_each
from twicetold.evaluation.pair_metrics import Confusion, squared_errors
from twicetold.labels.assessment import METRICS, assess, for_half
from twicetold.labels.sampling import draw

SHARES = ("accuracy", "precision", "recall")
MANY = 20_000


def scored(share, distance, seed=0):
    """Scores of many pairs, of which a share are duplicates, and their labels."""
    rng = np.random.default_rng(seed)
    label = rng.random(MANY) < share
    return rng.normal(size=MANY) + distance * label, label


def worth(decision, score, label):
    """The true metrics of a decision."""
    confusion = Confusion.of(decision.duplicate(score), label)
    found = {name: getattr(confusion, name) for name in (*SHARES, "f1")}
    return found | {"brier": float(squared_errors(decision.probability(score), label).mean())}


def drawn(score, label, stored, rng, *, labels, by_label):
    """Scores, labels, weights and strata of a draw."""
    if not by_label:
        rows = rng.choice(len(score), labels, replace=False)
        return score[rows], label[rows], np.ones(labels), np.zeros(labels, np.int64)
    found = draw(score, stored, pairs=labels, seed=int(rng.integers(2**31)))
    taken = np.bincount(found.band, minlength=len(found.sizes))
    return score[found.rows], label[found.rows], (found.sizes / np.maximum(taken, 1))[found.band], found.band


@pytest.mark.parametrize("by_label", [False, True])
@pytest.mark.parametrize(("share", "distance"), [(0.37, 1.2), (0.15, 2.0)])
def test_the_intervals_hold_what_the_new_decision_is_worth_on_all_pairs(share, distance, by_label):
    score, label = scored(share, distance)
    stored = decide(*scored(share, distance, seed=1))
    score, rng = score + 0.5, np.random.default_rng(0)  # the stored threshold does not fit
    before, held, gained, off, draws = worth(stored, score, label), [], [], [], 100
    for seed in range(draws):
        labelled = drawn(score, label, stored, rng, labels=100, by_label=by_label)
        found = assess(stored, *labelled, seed=seed, resamples=300)
        after = worth(found.after, score, label)
        held.append([found.fitted[name].low <= value <= found.fitted[name].high for name, value in after.items()])
        gain = {name: after[name] - before[name] for name in SHARES}
        gained.append([found.gained[name].low <= value <= found.gained[name].high for name, value in gain.items()])
        off.append([found.fitted[name].value - after[name] for name in ("accuracy", "brier")])
    assert np.mean(held, axis=0).min() >= 0.87  # of 100 draws, 0.93 less three standard errors
    assert np.mean(held) >= 0.93
    assert np.mean(gained, axis=0).min() >= 0.87
    assert np.abs(np.mean(off, axis=0)).max() < 0.012


def test_what_is_seen_on_the_labelled_pairs_flatters_and_the_estimate_does_not():
    score, label = scored(0.4, 0.5)
    rng, stored = np.random.default_rng(0), decide(score, label)
    seen, estimated, true = [], [], []
    for seed in range(60):
        one, same, *equal = drawn(score, label, stored, rng, labels=60, by_label=False)
        found = assess(stored, one, same, *equal, seed=seed, resamples=200)
        seen.append(worth(found.after, one, same)["accuracy"])
        estimated.append(found.fitted["accuracy"].value)
        true.append(worth(found.after, score, label)["accuracy"])
    assert np.mean(seen) > np.mean(true) + 0.05
    assert np.mean(estimated) == pytest.approx(np.mean(true), abs=0.02)


def test_the_unit_of_the_weights_does_not_matter_and_a_seed_gives_the_same_numbers():
    score, label = scored(0.4, 1.0)
    rng, stored = np.random.default_rng(0), decide(score, label)
    one, same, weight, band = drawn(score, label, stored, rng, labels=80, by_label=True)
    found = assess(stored, one, same, weight, band)
    assert assess(stored, one, same, weight, band) == found
    other = assess(stored, one, same, 1000 * weight, band)
    for mine, its in ((found.fitted, other.fitted), (found.gained, other.gained)):
        for name in METRICS:
            assert (its[name].low, its[name].high) == pytest.approx((mine[name].low, mine[name].high), abs=0.01)


def test_intervals_are_half_as_wide_with_as_many_labels_as_are_said():
    score, label = scored(0.4, 1.2)
    rng, stored, widths = np.random.default_rng(0), decide(score, label), []
    for labels in (100, 100 + for_half(100)):
        found = [
            assess(stored, *drawn(score, label, stored, rng, labels=labels, by_label=False), resamples=200)
            for _ in range(20)
        ]
        widths.append(np.mean([[each.fitted[name].high - each.fitted[name].low for name in SHARES] for each in found]))
    assert widths[1] / widths[0] == pytest.approx(0.5, abs=0.1)


def test_labels_of_unequal_weight_tell_as_much_as_fewer_of_equal_weight():
    assert effective_size(np.full(50, 7.0)) == pytest.approx(50)
    weight = np.where(np.arange(10_000) % 10 == 0, 9.0, 1.0)
    share = np.random.default_rng(0).random((500, len(weight))) < 0.3
    spread = np.average(share, axis=1, weights=weight).std()
    assert effective_size(weight) == pytest.approx(0.3 * 0.7 / spread**2, rel=0.2)


def test_the_calibration_of_each_resample_is_that_of_its_pairs():
    rng = np.random.default_rng(0)
    score = np.sort(rng.normal(size=50))
    label = rng.random(50) < 0.5 + 0.4 * np.tanh(score)
    near = decide_weighted(score, label, np.ones(50))
    weight = rng.integers(1, 5, (8, 50)).astype(float)
    slope, intercept = platt_of_each(score, weight * label, weight * ~label, start=(near.slope, near.intercept))
    for row in range(len(weight)):  # pairs that are there twice, not pairs of twice the weight
        places = np.repeat(np.arange(50), weight[row].astype(int))
        expected = decide_weighted(score[places], label[places], np.ones(len(places)))
        assert (slope[row, 0], intercept[row, 0]) == pytest.approx((expected.slope, expected.intercept), rel=1e-3)


def test_equal_scores_are_decided_alike():
    score, label = np.repeat([0.0, 0.5, 1.0], 20), np.arange(60) % 20 < np.repeat([2, 10, 18], 20)
    found = assess(decide(score, label), score, label, np.ones(60), np.zeros(60, np.int64))
    for numbers in (found.stored, found.fitted, found.gained):
        assert all(number.low <= number.value <= number.high for number in numbers.values())
    assert 0.6 < found.fitted["accuracy"].low < found.fitted["accuracy"].high < 0.95
