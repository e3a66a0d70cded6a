"""The comparison of two models holds its level, its interval covers, and its order is as sure as it says."""

import numpy as np
import pytest
from scipy import stats

from twicetold.evaluation.all_pairs import pair_histograms
from twicetold.evaluation.inputs import DocumentVectors
from twicetold_lab.evaluation.comparisons import PairedDifference, compare, decide_measure, mcnemar
from twicetold_lab.evaluation.influence import all_pairs_intervals, all_pairs_units
from twicetold_lab.evaluation.units import Units, Verdicts, verdict_units


def of_mean(values):
    return Units.of_mean(values, np.arange(len(values)))


def stories(rng, number, noises):
    """The same texts as models of such noise see them, which are equally good if it is equal."""
    story = np.repeat(np.arange(number), rng.integers(1, 6, number))
    meant = 0.6 * rng.normal(size=(len(story), 8)) + rng.normal(size=(number, 8))[story]
    for noise in noises:
        vectors = meant + noise * rng.normal(size=meant.shape)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        yield DocumentVectors(vectors, vectors, {"story": story})


def average_precision(vectors):
    """Its value, units and interval."""
    histograms = pair_histograms(vectors, bins=1024)
    found = all_pairs_units(vectors, histograms, clusters=vectors.groups["story"])
    ends = all_pairs_intervals(histograms, found)["story"]["average_precision"]
    return histograms["story"].counts().average_precision(), found["story"]["average_precision"], ends


def versus(one, other, difference):
    """The comparison where the mean over seeds differs so."""
    return compare(one, other, of_one=[difference] * len(one), of_other=[0.0] * len(other))


def test_models_of_other_units_cannot_be_compared_in_pairs():
    one = Verdicts.of([1, 0, 1], [1, 0, 0])
    for other in (Verdicts.of([1, 0, 1], [1, 1, 0]), Verdicts.of([1, 0], [1, 0])):
        with pytest.raises(ValueError, match="different units of test"):
            versus([one], [other], 0.0)
    with pytest.raises(ValueError, match="those of 1 and 0 runs"):
        versus([one], [], 0.0)


def test_verdicts_of_one_seed_are_compared_by_mcnemars_exact_test():
    rng = np.random.default_rng(4)
    label, one, other = rng.integers(0, 2, (3, 500))
    found = versus([Verdicts.of(one, label)], [Verdicts.of(other, label)], 0.0)
    assert found == mcnemar(one == label, other == label)


def test_of_several_seeds_the_mean_is_compared():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3, 300))
    seeds = [of_mean(each) for each in values[:2]]
    found = versus(seeds, [of_mean(values[2])], 0.1)
    mean = versus([of_mean(values[:2].mean(axis=0))], [of_mean(values[2])], 0.1)
    assert found.p_value == pytest.approx(mean.p_value)
    assert (found.low, found.high) == pytest.approx((mean.low, mean.high))


def test_equal_models_are_told_apart_in_a_twentieth_of_samples():
    """Means over stories, of models that err on the same ones."""
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(2000):
        story = np.repeat(np.arange(80), rng.integers(1, 8, 80))
        hard = rng.normal(size=80)[story]
        values = [(hard + rng.normal(size=80)[story] + rng.normal(size=len(story)) > 0).astype(float) for _ in range(2)]
        kept = [Units.of_mean(each, story) for each in values]
        rejected += versus(kept[:1], kept[1:], values[0].mean() - values[1].mean()).p_value < 0.05
    assert 0.03 < rejected / 2000 < 0.07


def test_equal_models_are_told_apart_in_a_twentieth_of_samples_also_where_few_units_decide():
    """Pairs in components of very unlike sizes, as verdicts about them are kept."""
    rng = np.random.default_rng(9)
    rejected = 0
    for _ in range(1000):
        unit = np.repeat(np.arange(200), np.minimum(rng.zipf(2.0, 200), 100))
        right = [rng.normal(size=200)[unit] + rng.normal(size=len(unit)) > 0 for _ in range(2)]
        kept = [verdict_units(each, np.ones(len(unit)), unit) for each in right]
        rejected += versus(kept[:1], kept[1:], right[0].mean() - right[1].mean()).p_value < 0.05
    assert rejected / 1000 < 0.07


def test_no_models_are_told_apart_where_one_unit_holds_most_pairs():
    rng = np.random.default_rng(10)
    unit = np.where(np.arange(400) < 300, 0, np.arange(400) - 299)
    right = [rng.random(400) < share for share in (0.95, 0.5)]
    kept = [verdict_units(each, np.ones(400), unit) for each in right]
    assert versus(kept[:1], kept[1:], 0.45).p_value == 1


def test_the_interval_of_a_difference_covers_the_true_one():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        hard = rng.normal(size=300)
        values = [(hard + rng.normal(size=300) > cut).astype(float) for cut in (0.0, 0.5)]
        found = versus([of_mean(values[0])], [of_mean(values[1])], values[0].mean() - values[1].mean())
        covered += found.low <= 0.13817 <= found.high  # of a normal variable with variance 2, the share from 0 to 0.5
    assert 0.93 < covered / 1000 < 0.97


def test_a_paired_test_of_average_precision_has_more_power_than_apart_intervals_and_keeps_its_level():
    rng = np.random.default_rng(8)
    told, apart = {"equal": 0, "worse": 0}, {"equal": 0, "worse": 0}
    for kind, noises in (("equal", (0.3, 0.3)), ("worse", (0.2, 0.35))):
        for _ in range(60):
            (a, of_a, first), (b, of_b, second) = map(average_precision, stories(rng, 60, noises))
            told[kind] += versus([of_a], [of_b], a - b).p_value < 0.05
            apart[kind] += first[1] < second[0] or second[1] < first[0]
    assert told["equal"] / 60 <= 0.07
    assert told["worse"] > 25
    assert apart["worse"] < 10


def test_mcnemars_test_is_the_exact_binomial_one():
    a = np.array([True] * 12 + [False] * 3 + [True] * 40 + [False] * 10)
    b = np.array([False] * 12 + [True] * 3 + [True] * 40 + [False] * 10)
    found = mcnemar(a, b)
    assert found.difference == pytest.approx(9 / 65)
    assert found.p_value == pytest.approx(stats.binomtest(3, 15).pvalue)
    assert 0 < found.low < found.difference < found.high
    assert mcnemar(a, a).p_value == 1.0


def test_a_model_that_is_worse_by_the_margin_passes_for_not_worse_in_a_fortieth_of_samples():
    rng = np.random.default_rng(11)
    passed = 0
    for _ in range(2000):
        shared, noise = rng.normal(size=200), rng.normal(size=200)
        one, other = 0.1 * shared + 0.1 * noise - 0.02, 0.1 * shared
        passed += versus([of_mean(one)], [of_mean(other)], float((one - other).mean())).not_worse(0.02)
    assert 0.015 < passed / 2000 < 0.035
    assert PairedDifference(-0.01, -0.015, -0.005, 0.0).not_worse()  # a sure difference within the margin
    assert not PairedDifference(0.0, -0.1, 0.1, 1.0).not_worse()  # nothing is known


def test_the_order_of_models_is_right_as_often_as_its_probability_says():
    rng = np.random.default_rng(12)
    said, right = [], []
    for _ in range(2000):
        better = 0.02 * rng.normal()  # by as much is model a better
        shared = rng.normal(size=200)
        seeds = [better + 0.02 * rng.normal() for _ in range(3)]
        one = [0.1 * (shared + rng.normal(size=200)) + each for each in seeds]
        other = 0.1 * shared
        means = [float(each.mean()) for each in one]
        found = compare([of_mean(each) for each in one], [of_mean(other)], of_one=means, of_other=[float(other.mean())])
        said.append(found.order)
        right.append((found.difference > 0) == (better > 0))
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.06)
    assert versus([of_mean(shared)], [of_mean(other)], 0.1).order is None


@pytest.mark.parametrize(("same", "measure"), [(0.1, "f1"), (0.37, "accuracy")])
def test_accuracy_decides_unless_few_pairs_say_the_same(same, measure):
    assert decide_measure(same) == measure
