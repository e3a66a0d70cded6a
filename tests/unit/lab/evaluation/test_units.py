"""What is kept of each unit of test gives the jackknife's error of a difference, and a test that holds its level."""

import json

import numpy as np
import pytest
from scipy.stats import pearsonr

from twicetold.evaluation.all_pairs import pair_histograms
from twicetold.evaluation.group_metrics import jackknife_variance, without_each
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import MOST, variance
from twicetold_lab.evaluation import units
from twicetold_lab.evaluation.influence import all_pairs_intervals, all_pairs_units
from twicetold_lab.evaluation.units import Units, Verdicts, holm, mcnemar, paired_test, pearson_terms, verdict_units


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


def test_the_variance_of_a_difference_is_that_of_the_jackknife_of_differences():
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(60), rng.integers(1, 6, 60))
    one, other = (np.where(rng.random(len(true)) < share, true, rng.integers(0, 60, len(true))) for share in (0.9, 0.8))
    left = [without_each(predicted, true)[-1] for predicted in (one, other)]
    terms = [Units.of_left_out(each, true).terms for each in left]
    assert variance(terms[0]) == pytest.approx(jackknife_variance(left[0]))
    assert variance(terms[0] - terms[1]) == pytest.approx(jackknife_variance(left[0] - left[1]))


def test_more_units_than_are_kept_are_pooled_without_changing_the_variance():
    rng = np.random.default_rng(1)
    terms = rng.exponential(size=20 * MOST) - 1
    pooled = Units.of(terms, np.arange(len(terms)))
    assert len(pooled.terms) == MOST
    assert pooled.terms.sum() == pytest.approx(terms.sum())
    assert variance(pooled.terms) == pytest.approx(variance(terms), rel=0.1)


def test_where_a_measure_is_undefined_without_a_unit_this_adds_nothing():
    left = np.array([0.5, np.nan, 0.7, 0.6])
    found = Units.of_left_out(left, np.arange(4))
    assert found.terms[1] == 0
    assert np.isfinite(found.terms).all()


def test_terms_of_pearson_are_its_change_when_a_pair_is_left_out():
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    whole = pearsonr(x, y).statistic
    lost = [whole - pearsonr(np.delete(x, one), np.delete(y, one)).statistic for one in range(400)]
    assert np.corrcoef(pearson_terms(x, y), lost)[0, 1] > 0.999
    assert pearson_terms(np.ones(3), np.arange(3)).tolist() == [0, 0, 0]


def test_what_is_kept_survives_json_and_is_small():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 10_001)
    verdicts = Verdicts.of(rng.integers(0, 2, 10_001), label)
    terms = Units.of(rng.normal(size=MOST) * 1e-7, np.arange(MOST))
    text = json.dumps(units.to_json({"accuracy": verdicts, "average_precision_story": terms}))
    assert len(text) < 5000
    found = units.from_json(json.loads(text))
    assert np.array_equal(found["accuracy"].right, verdicts.right)
    assert found["accuracy"].digest == verdicts.digest
    assert found["average_precision_story"].terms == pytest.approx(terms.terms, rel=1e-3, abs=1e-10)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "expected a list of measures"),
        (["x"], "expected .* of each measure"),
        ([{"measure": "accuracy", "units": 8, "digest": "a", "right": "!"}], "are no base64"),
        (
            [{"measure": "accuracy", "units": 9, "digest": "a", "right": "AA=="}],
            "expected 9 units of 'accuracy', got 1",
        ),
        ([{"measure": "a", "units": 1, "digest": "a", "terms": "AHw=", "largest": 1.0}], "expected finite terms"),
    ],
)
def test_units_that_are_something_else_are_refused(content, said):
    with pytest.raises(ValueError, match=said):
        units.from_json(content)


def test_models_of_other_units_cannot_be_compared_in_pairs():
    one = Verdicts.of([1, 0, 1], [1, 0, 0])
    for other in (Verdicts.of([1, 0, 1], [1, 1, 0]), Verdicts.of([1, 0], [1, 0])):
        with pytest.raises(ValueError, match="different units of test"):
            paired_test([one], [other], difference=0.0)
    with pytest.raises(ValueError, match="those of 1 and 0 runs"):
        paired_test([one], [], difference=0.0)


def test_verdicts_of_one_seed_are_compared_by_mcnemars_exact_test():
    rng = np.random.default_rng(4)
    label, one, other = rng.integers(0, 2, (3, 500))
    found = paired_test([Verdicts.of(one, label)], [Verdicts.of(other, label)], difference=0.0)
    assert found == mcnemar(one == label, other == label)


def test_of_several_seeds_the_mean_is_compared():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3, 300))
    seeds = [of_mean(each) for each in values[:2]]
    found = paired_test(seeds, [of_mean(values[2])], difference=0.1)
    mean = paired_test([of_mean(values[:2].mean(axis=0))], [of_mean(values[2])], difference=0.1)
    assert found.p_value == pytest.approx(mean.p_value)
    assert (found.low, found.high) == pytest.approx((mean.low, mean.high))


def test_holm_multiplies_the_smallest_p_value_by_their_number_and_never_falls():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_equal_models_are_told_apart_in_a_twentieth_of_samples():
    """Means over stories, of models that err on the same ones."""
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(2000):
        story = np.repeat(np.arange(80), rng.integers(1, 8, 80))
        hard = rng.normal(size=80)[story]
        values = [(hard + rng.normal(size=80)[story] + rng.normal(size=len(story)) > 0).astype(float) for _ in range(2)]
        kept = [Units.of_mean(each, story) for each in values]
        rejected += paired_test(kept[:1], kept[1:], difference=values[0].mean() - values[1].mean()).p_value < 0.05
    assert 0.03 < rejected / 2000 < 0.07


def test_equal_models_are_told_apart_in_a_twentieth_of_samples_also_where_few_units_decide():
    """Pairs in components of very unlike sizes, as verdicts about them are kept."""
    rng = np.random.default_rng(9)
    rejected = 0
    for _ in range(1000):
        unit = np.repeat(np.arange(200), np.minimum(rng.zipf(2.0, 200), 100))
        right = [rng.normal(size=200)[unit] + rng.normal(size=len(unit)) > 0 for _ in range(2)]
        kept = [verdict_units(each, np.ones(len(unit)), unit) for each in right]
        rejected += paired_test(kept[:1], kept[1:], difference=right[0].mean() - right[1].mean()).p_value < 0.05
    assert rejected / 1000 < 0.07


def test_no_models_are_told_apart_where_one_unit_holds_most_pairs():
    rng = np.random.default_rng(10)
    unit = np.where(np.arange(400) < 300, 0, np.arange(400) - 299)
    right = [rng.random(400) < share for share in (0.95, 0.5)]
    kept = [verdict_units(each, np.ones(400), unit) for each in right]
    assert paired_test(kept[:1], kept[1:], difference=0.45).p_value == 1


def test_verdicts_are_kept_one_by_one_unless_pairs_share_texts():
    verdict, label = np.arange(7) > 0, np.ones(7)
    assert isinstance(verdict_units(verdict, label, None), Verdicts)
    assert isinstance(verdict_units(verdict, label, np.arange(7)), Verdicts)
    found = verdict_units(verdict, label, np.array([0, 0, 1, 2, 3, 4, 5]))
    assert found.terms == pytest.approx([-5 / 49, *[1 / 49] * 5])


def test_the_interval_of_a_difference_covers_the_true_one():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        hard = rng.normal(size=300)
        values = [(hard + rng.normal(size=300) > cut).astype(float) for cut in (0.0, 0.5)]
        found = paired_test([of_mean(values[0])], [of_mean(values[1])], difference=values[0].mean() - values[1].mean())
        covered += found.low <= 0.13817 <= found.high  # of a normal variable with variance 2, the share from 0 to 0.5
    assert 0.93 < covered / 1000 < 0.97


def test_a_paired_test_of_average_precision_has_more_power_than_apart_intervals_and_keeps_its_level():
    rng = np.random.default_rng(8)
    told, apart = {"equal": 0, "worse": 0}, {"equal": 0, "worse": 0}
    for kind, noises in (("equal", (0.3, 0.3)), ("worse", (0.2, 0.35))):
        for _ in range(60):
            (a, of_a, first), (b, of_b, second) = map(average_precision, stories(rng, 60, noises))
            told[kind] += paired_test([of_a], [of_b], difference=a - b).p_value < 0.05
            apart[kind] += first[1] < second[0] or second[1] < first[0]
    assert told["equal"] / 60 <= 0.07
    assert told["worse"] > 25
    assert apart["worse"] < 10
