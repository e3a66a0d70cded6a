"""Intervals and tests against naive references, and their coverage by simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from twicetold.evaluation import intervals, resampling
from twicetold.evaluation.pair_metrics import Confusion


def scored(seed, pairs=120, ties=True):
    rng = np.random.default_rng(seed)
    labels = rng.random(pairs) < 0.4
    labels[:2] = [False, True]
    scores = rng.normal(size=(2, pairs)) + labels * [[1.0], [0.6]]
    return (scores.round(1) if ties else scores), labels


def test_delongs_covariance_equals_the_naive_sum_over_all_pairs():
    scores, labels = scored(0)
    placements = []
    for score in scores:
        wins = np.sign(score[labels][:, None] - score[~labels][None, :]) / 2 + 0.5
        placements.append((wins.mean(axis=1), wins.mean(axis=0)))
    naive = np.cov([p for p, _ in placements]) / labels.sum() + np.cov([n for _, n in placements]) / (~labels).sum()
    area, covariance = intervals._delong(list(scores), labels)
    assert area == pytest.approx([roc_auc_score(labels, score) for score in scores])
    assert covariance == pytest.approx(naive)


def test_the_auroc_interval_covers_the_truth_in_about_95_of_100_samples():
    truth = stats.norm.cdf(1 / np.sqrt(2))
    covered = 0
    for seed in range(400):
        scores, labels = scored(seed, ties=False)
        low, high = intervals.auroc_interval(scores[0], labels)
        covered += low <= truth <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_the_auroc_interval_has_no_width_at_the_border():
    assert intervals.auroc_interval([0.0, 1.0, 2.0], [0, 1, 1]) == (1.0, 1.0)


def test_delongs_paired_test_finds_a_difference_where_there_is_one_only():
    scores, labels = scored(1, pairs=3000)
    better = intervals.paired_auroc_test(scores[0], scores[1], labels)
    assert better.difference == pytest.approx(roc_auc_score(labels, scores[0]) - roc_auc_score(labels, scores[1]))
    assert better.low > 0
    assert better.p_value < 1e-4
    turned = intervals.paired_auroc_test(scores[1], scores[0], labels)
    assert (turned.difference, turned.low, turned.p_value) == pytest.approx(
        (-better.difference, -better.high, better.p_value)
    )
    same = intervals.paired_auroc_test(scores[0], 2 * scores[0] + 1, labels)
    assert (same.difference, same.p_value) == (0, 1)


def test_delongs_p_value_is_uniform_when_two_models_are_equally_good():
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(300):
        labels = rng.random(200) < 0.5
        shared = rng.normal(size=200) + labels
        p_values.append(intervals.paired_auroc_test(*(shared + rng.normal(size=(2, 200))), labels).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_models_scored_on_different_pairs_cannot_be_compared():
    with pytest.raises(ValueError, match="one score per label"):
        intervals.paired_auroc_test([0.1, 0.2, 0.3], [0.1, 0.2], [0, 1, 0])
    with pytest.raises(ValueError, match="the same pairs"):
        intervals.mcnemar([True], [True, False])


@pytest.mark.parametrize(("right", "total"), [(0, 10), (3, 10), (10, 10), (671, 1000)])
def test_the_accuracy_interval_is_wilsons(right, total):
    expected = stats.binomtest(right, total).proportion_ci(method="wilson")
    assert intervals.accuracy_interval(right, total) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(("right", "total"), [(1, 0), (-1, 5), (6, 5)])
def test_an_impossible_accuracy_is_refused(right, total):
    with pytest.raises(ValueError, match="0 <= right <= total"):
        intervals.accuracy_interval(right, total)


def test_mcnemars_test_is_the_exact_binomial_one():
    a = np.array([True] * 12 + [False] * 3 + [True] * 40 + [False] * 10)
    b = np.array([False] * 12 + [True] * 3 + [True] * 40 + [False] * 10)
    found = intervals.mcnemar(a, b)
    assert found.difference == pytest.approx(9 / 65)
    assert found.p_value == pytest.approx(stats.binomtest(3, 15).pvalue)
    assert 0 < found.low < found.difference < found.high
    assert intervals.mcnemar(a, a).p_value == 1.0


@pytest.mark.parametrize("name", ["average_precision", "pearson", "spearman", "mean"])
def test_a_statistic_of_resampling_counts_equals_the_statistic_of_the_copied_rows(name):
    scores, labels = scored(3, pairs=40)
    grades = np.random.default_rng(4).integers(0, 6, 40).astype(float) + scores[0]
    grades = grades.round()
    statistic, reference = {
        "average_precision": (
            intervals.average_precision_statistic(scores[0], labels),
            lambda rows: average_precision_score(labels[rows], scores[0][rows]),
        ),
        "pearson": (
            intervals.pearson_statistic(scores[0], grades),
            lambda rows: stats.pearsonr(scores[0][rows], grades[rows]).statistic,
        ),
        "spearman": (
            intervals.spearman_statistic(scores[0], grades),
            lambda rows: stats.spearmanr(scores[0][rows], grades[rows]).statistic,
        ),
        "mean": (intervals.mean_statistic(scores[0]), lambda rows: scores[0][rows].mean()),
    }[name]
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 40, (25, 40))
    weights = np.stack([np.bincount(rows, minlength=40) for rows in drawn]).astype(float)
    assert statistic(weights) == pytest.approx([reference(rows) for rows in drawn], abs=1e-10)


def test_bootstrap_intervals_are_seeded_and_do_not_depend_on_the_chunk(monkeypatch):
    scores, labels = scored(6)
    statistic = intervals.average_precision_statistic(scores[0], labels)
    whole = intervals.bootstrap_interval(statistic, 120, resamples=200, seed=1)
    monkeypatch.setattr(resampling, "CHUNK", 1000)
    assert intervals.bootstrap_interval(statistic, 120, resamples=200, seed=1) == pytest.approx(whole, abs=1e-12)
    assert intervals.bootstrap_interval(statistic, 120, resamples=200, seed=2) != whole
    assert whole[0] < average_precision_score(labels, scores[0]) < whole[1]


def test_the_bootstrap_interval_of_a_mean_is_the_normal_one():
    values = np.random.default_rng(7).normal(size=2000)
    low, high = intervals.bootstrap_interval(intervals.mean_statistic(values), 2000, resamples=2000)
    error = values.std() / np.sqrt(2000)
    assert (low, high) == pytest.approx((values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.15 * error)


def test_resamples_without_a_positive_are_left_out_and_without_any_are_an_error():
    statistic = intervals.average_precision_statistic([0.3, 0.2, 0.1], [0, 1, 0])
    assert np.isnan(statistic(np.array([[2.0, 0.0, 1.0]])))
    assert intervals.bootstrap_interval(statistic, 3, resamples=50) <= (1.0, 1.0)
    with pytest.raises(ValueError, match="too few pairs"):
        intervals.bootstrap_interval(lambda weights: np.full(len(weights), np.nan), 3)


def test_drawing_the_four_counts_is_resampling_the_pairs():
    confusion = Confusion(40, 15, 10, 35)
    rows = np.repeat(list(itertools.product([0, 1], [0, 1])), [35, 10, 15, 40], axis=0)  # decided, label
    rng = np.random.default_rng(8)
    drawn = [Confusion.of(*rows[rng.integers(0, 100, 100)].T).f1 for _ in range(2000)]
    found = intervals.confusion_intervals(confusion, resamples=2000)
    assert found["f1"] == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), abs=0.02)
    assert found["mcc"][0] < confusion.mcc < found["mcc"][1]


def test_a_mean_over_stories_is_as_certain_as_there_are_stories():
    values = np.repeat([0.0, 1.0], 50)
    alone = intervals.clustered_mean_interval(values, np.arange(100))
    by_ten = intervals.clustered_mean_interval(values, np.arange(100) // 10)
    assert np.ptp(alone) == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(99), rel=1e-3)
    assert np.ptp(by_ten) == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(9), rel=1e-3)


def test_a_share_has_wilsons_interval_and_none_without_cases():
    found = intervals.Share(3, 4)
    assert (found.value, found.interval) == (0.75, intervals.accuracy_interval(3, 4))
    empty = intervals.Share(0, 0)
    assert np.isnan(empty.value)
    assert empty.interval is None
