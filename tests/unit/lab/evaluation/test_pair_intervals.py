"""Intervals and tests against naive references, and their coverage by simulation."""

import itertools

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import average_precision_score, roc_auc_score

from twicetold.evaluation import intervals
from twicetold.evaluation.pair_metrics import Confusion
from twicetold_lab.evaluation import pair_intervals
from twicetold_lab.evaluation.comparisons import mcnemar
from twicetold_lab.evaluation.units import units_of


def scored(seed, pairs=120, ties=True):
    rng = np.random.default_rng(seed)
    labels = rng.random(pairs) < 0.4
    labels[:2] = [False, True]
    scores = rng.normal(size=(2, pairs)) + labels * [[1.0], [0.6]]
    return (scores.round(1) if ties else scores), labels


def test_the_auroc_interval_covers_the_truth_in_about_95_of_100_samples():
    truth = stats.norm.cdf(1 / np.sqrt(2))
    covered = 0
    for seed in range(400):
        scores, labels = scored(seed, ties=False)
        low, high = pair_intervals.auroc_interval(scores[0], labels)
        covered += low <= truth <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_the_auroc_interval_has_no_width_at_the_border():
    assert pair_intervals.auroc_interval([0.0, 1.0, 2.0], [0, 1, 1]) == (1.0, 1.0)


def test_as_many_scores_as_labels_are_needed():
    with pytest.raises(ValueError, match="one score per label"):
        pair_intervals.auroc_interval([0.1, 0.2], [0, 1, 0])
    with pytest.raises(ValueError, match="the same pairs"):
        mcnemar([True], [True, False])


@pytest.mark.parametrize(("right", "total"), [(0, 10), (3, 10), (10, 10), (671, 1000)])
def test_the_accuracy_interval_is_wilsons(right, total):
    expected = stats.binomtest(right, total).proportion_ci(method="wilson")
    assert pair_intervals.accuracy_interval(right, total) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(("right", "total"), [(1, 0), (-1, 5), (6, 5)])
def test_an_impossible_accuracy_is_refused(right, total):
    with pytest.raises(ValueError, match="0 <= right <= total"):
        pair_intervals.accuracy_interval(right, total)


@pytest.mark.parametrize("name", ["average_precision", "pearson", "spearman", "mean"])
def test_a_statistic_of_resampling_counts_equals_the_statistic_of_the_copied_rows(name):
    scores, labels = scored(3, pairs=40)
    grades = np.random.default_rng(4).integers(0, 6, 40).astype(float) + scores[0]
    grades = grades.round()
    statistic, reference = {
        "average_precision": (
            pair_intervals.average_precision_statistic(scores[0], labels),
            lambda rows: average_precision_score(labels[rows], scores[0][rows]),
        ),
        "pearson": (
            pair_intervals.pearson_statistic(scores[0], grades),
            lambda rows: stats.pearsonr(scores[0][rows], grades[rows]).statistic,
        ),
        "spearman": (
            pair_intervals.spearman_statistic(scores[0], grades),
            lambda rows: stats.spearmanr(scores[0][rows], grades[rows]).statistic,
        ),
        "mean": (pair_intervals.mean_statistic(scores[0]), lambda rows: scores[0][rows].mean()),
    }[name]
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 40, (25, 40))
    weights = np.stack([np.bincount(rows, minlength=40) for rows in drawn]).astype(float)
    assert statistic(weights) == pytest.approx([reference(rows) for rows in drawn], abs=1e-10)


def test_bootstrap_intervals_are_seeded_and_do_not_depend_on_the_chunk(monkeypatch):
    scores, labels = scored(6)
    statistic = pair_intervals.average_precision_statistic(scores[0], labels)
    whole = intervals.bootstrap_interval(statistic, 120, resamples=200, seed=1)
    monkeypatch.setattr(intervals, "CHUNK", 1000)
    assert intervals.bootstrap_interval(statistic, 120, resamples=200, seed=1) == pytest.approx(whole, abs=1e-12)
    assert intervals.bootstrap_interval(statistic, 120, resamples=200, seed=2) != whole
    assert whole[0] < average_precision_score(labels, scores[0]) < whole[1]


def test_the_bootstrap_interval_of_a_mean_is_the_normal_one():
    values = np.random.default_rng(7).normal(size=2000)
    low, high = intervals.bootstrap_interval(pair_intervals.mean_statistic(values), 2000, resamples=2000)
    error = values.std() / np.sqrt(2000)
    assert (low, high) == pytest.approx((values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.15 * error)


def test_resamples_without_a_positive_are_left_out_and_without_any_are_an_error():
    statistic = pair_intervals.average_precision_statistic([0.3, 0.2, 0.1], [0, 1, 0])
    assert np.isnan(statistic(np.array([[2.0, 0.0, 1.0]])))
    assert intervals.bootstrap_interval(statistic, 3, resamples=50) <= (1.0, 1.0)
    with pytest.raises(ValueError, match="too few pairs"):
        intervals.bootstrap_interval(lambda weights: np.full(len(weights), np.nan), 3)


def test_drawing_the_four_counts_is_resampling_the_pairs():
    rows = np.repeat(list(itertools.product([0, 1], [0, 1])), [35, 10, 15, 40], axis=0)  # decided, label
    rng = np.random.default_rng(8)
    drawn = [Confusion.of(*rows[rng.integers(0, 100, 100)].T).f1 for _ in range(2000)]
    for units in (None, np.arange(100)):
        found = pair_intervals.confusion_intervals(*rows.T, units, resamples=2000)
        assert found["f1"] == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), abs=0.02)
        assert found["mcc"][0] < Confusion.of(*rows.T).mcc < found["mcc"][1]


def test_a_mean_over_stories_is_as_certain_as_there_are_stories():
    values = np.repeat([0.0, 1.0], 50)
    alone = pair_intervals.clustered_mean_interval(values, np.arange(100))
    by_ten = pair_intervals.clustered_mean_interval(values, np.arange(100) // 10)
    assert np.ptp(alone) == pytest.approx(2 * stats.t.ppf(0.975, 100) * 0.5 / np.sqrt(99), rel=1e-3)
    assert np.ptp(by_ten) == pytest.approx(2 * stats.t.ppf(0.975, 10) * 0.5 / np.sqrt(9), rel=1e-3)
    assert pair_intervals.clustered_mean_interval(values, np.zeros(100, np.int64)) == (0, 1)


def test_pairs_are_of_one_unit_if_they_share_texts_directly_or_by_way_of_others():
    left, right = np.array([3, 8, 1, 9, 5, 8]), np.array([1, 7, 2, 9, 8, 6])
    assert units_of(left, right).tolist() == [0, 1, 0, 2, 1, 1]


def test_the_auroc_of_units_has_obuchowskis_variance():
    scores, labels = scored(9, pairs=200)
    unit = np.random.default_rng(10).integers(0, 60, 200)
    score, positives, negatives = scores[0], int(labels.sum()), int((~labels).sum())
    wins = np.sign(score[labels][:, None] - score[~labels][None, :]) / 2 + 0.5
    area = wins.mean()
    above, below = np.zeros(60), np.zeros(60)
    for value, of in zip(wins.mean(axis=1), unit[labels], strict=True):
        above[of] += value - area
    for value, of in zip(wins.mean(axis=0), unit[~labels], strict=True):
        below[of] += value - area
    held = [len(set(unit[side].tolist())) for side in (labels, ~labels)]
    units = len(set(unit.tolist()))
    naive = held[0] / (held[0] - 1) * (above**2).sum() / positives**2
    naive += held[1] / (held[1] - 1) * (below**2).sum() / negatives**2
    naive += 2 * units / (units - 1) * (above * below).sum() / positives / negatives
    added = above / positives + below / negatives
    degrees = ((added - added.mean()) ** 2).sum() ** 2 / ((added - added.mean()) ** 4).sum()
    low, high = pair_intervals.auroc_interval(score, labels, unit)
    width = 2 * stats.t.ppf(0.975, degrees) * np.sqrt(naive) / (area * (1 - area))
    assert special.logit(high) - special.logit(low) == pytest.approx(width)


def test_units_of_one_pair_change_no_interval_by_much():
    scores, labels = scored(11, pairs=1000)
    alone = np.arange(1000)
    assert pair_intervals.auroc_interval(scores[0], labels, alone) == pytest.approx(
        pair_intervals.auroc_interval(scores[0], labels), abs=2e-3
    )
    right = (scores[0] > 0.5) == labels
    assert pair_intervals.share_interval(right, alone) == pytest.approx(pair_intervals.share_interval(right), abs=2e-3)
    statistic = pair_intervals.average_precision_statistic(scores[0], labels)
    assert intervals.bootstrap_interval(statistic, 1000, alone, resamples=50) == intervals.bootstrap_interval(
        statistic, 1000, resamples=50
    )


def test_where_all_pairs_of_few_units_are_right_the_interval_is_that_of_few():
    low, high = pair_intervals.share_interval(np.ones(300, bool), np.arange(300) // 100)
    assert low < 0.5 < high == 1
    assert pair_intervals.share_interval(np.ones(300, bool), np.arange(300))[0] > 0.98
    with pytest.raises(ValueError, match="got none"):
        pair_intervals.share_interval([], np.array([], np.int64))


@pytest.mark.parametrize("wrong", [0, 1, 3, 30])
def test_an_interval_of_rare_errors_in_units_of_one_pair_is_not_wider_than_wilsons(wrong):
    right = np.arange(500) >= wrong
    low, high = pair_intervals.share_interval(right, np.arange(500))
    assert (low, high) == pytest.approx(pair_intervals.share_interval(right), abs=1e-3)


def test_an_interval_of_a_mean_of_shares_is_that_of_values_alike_in_units_where_this_is_narrower():
    units, value = np.repeat(np.arange(100), 3), 0.99
    assert intervals.bounded_interval((0.2, 1.0), value, units)[0] > 0.93
    assert intervals.bounded_interval((0.985, 0.995), value, units) == (0.985, 0.995)


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
def test_where_one_unit_holds_most_pairs_nothing_is_known_of_others(share):
    rng, covered = np.random.default_rng(17), 0
    unit = np.where(np.arange(1000) < 1000 * share, 0, np.arange(1000))
    assert intervals.few_units(unit)
    for _ in range(100):
        often = 0.7 + 0.2 * rng.choice([-1, 1], 1000)[unit]
        low, high = pair_intervals.share_interval(rng.random(1000) < often, unit)
        covered += low <= 0.7 <= high
    assert covered >= 95
    assert not intervals.few_units(np.arange(1000))
    assert not intervals.few_units(None)


def test_a_mean_without_variation_has_an_interval_by_effective_clusters():
    low, high = pair_intervals.clustered_mean_interval(np.ones(300), np.arange(300) // 3)
    assert 0.95 < low < 0.98
    assert high == 1


def alike_within_units(rng, number):
    """Pairs in units of very unlike sizes: those of one have scores and labels in common."""
    sizes = np.minimum(rng.zipf(2.0, number), 60)
    unit = np.repeat(np.arange(number), sizes)
    shift, ease, often = rng.normal(size=(3, number))[:, unit] * 0.7
    labels = often + rng.normal(size=len(unit)) > 0
    return unit, labels * (1.3 + ease) + shift + rng.normal(size=len(unit)), labels


@pytest.mark.parametrize("measure", ["accuracy", "auroc", "average_precision", "f1"])
def test_intervals_of_pairs_that_share_texts_cover_the_truth(measure):
    find = {
        "accuracy": lambda unit, score, label: pair_intervals.share_interval((score > 0.6) == label, unit),
        "auroc": lambda unit, score, label: pair_intervals.auroc_interval(score, label, unit),
        "average_precision": lambda unit, score, label: intervals.bootstrap_interval(
            pair_intervals.average_precision_statistic(score, label), len(unit), unit, resamples=200
        ),
        "f1": lambda unit, score, y: pair_intervals.confusion_intervals(score > 0.6, y, unit, resamples=200)["f1"],
    }[measure]
    value = {
        "accuracy": lambda score, label: ((score > 0.6) == label).mean(),
        "auroc": lambda score, label: roc_auc_score(label, score),
        "average_precision": lambda score, label: average_precision_score(label, score),
        "f1": lambda score, label: Confusion.of(score > 0.6, label).f1,
    }[measure]
    _, score, label = alike_within_units(np.random.default_rng(12), 100_000)
    truth, rng = value(score, label), np.random.default_rng(13)
    covered = 0
    for _ in range(200):
        low, high = find(*alike_within_units(rng, 300))
        covered += low <= truth <= high
    assert covered / 200 >= (0.92 if measure in ("accuracy", "auroc") else 0.88)  # the bootstrap of percentiles
