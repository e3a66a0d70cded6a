"""Ranking measures of pairs against scikit-learn, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from twicetold.evaluation.ranking import RocCurve, ScoreCounts, cuts, place_reaching

labelled = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=60).filter(
    lambda rows: 0 < sum(label for _, label in rows) < len(rows)
)


@given(labelled)
def test_area_average_precision_and_curve_equal_scikit_learns(rows):
    scores, labels = np.array(rows).T
    counts = ScoreCounts.of(scores, labels)
    assert counts.auroc() == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert counts.average_precision() == pytest.approx(average_precision_score(labels, scores), abs=1e-12)
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    curve = counts.roc_curve()
    assert curve.area == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    ours = set(zip(curve.fpr.round(9).tolist(), curve.tpr.round(9).tolist(), strict=True))
    assert ours <= set(zip(fpr.round(9).tolist(), tpr.round(9).tolist(), strict=True))


def test_a_constant_score_has_area_one_half_and_the_precision_of_chance():
    counts = ScoreCounts.of([3.0, 3.0, 3.0, 3.0], [1, 0, 0, 0])
    assert (counts.auroc(), counts.average_precision()) == (0.5, 0.25)


def test_the_resolution_error_bounds_what_rounding_costs():
    rng = np.random.default_rng(0)
    labels = rng.random(2000) < 0.4
    scores = rng.normal(size=2000) + labels
    rounded = ScoreCounts.of(scores.round(1), labels)
    assert 0 < abs(rounded.auroc() - roc_auc_score(labels, scores)) <= rounded.resolution_error()


def test_a_thinned_curve_keeps_its_ends_its_corners_and_nearly_all_of_its_area():
    rng = np.random.default_rng(1)
    labels = rng.random(30_000) < 0.5
    curve = ScoreCounts.of(rng.normal(size=30_000) + labels, labels).roc_curve()
    thin = curve.thinned(1000)
    assert len(curve.fpr) > 5000
    assert 900 < len(thin.fpr) <= 1000
    assert (thin.fpr[0], thin.tpr[0], thin.fpr[-1], thin.tpr[-1]) == (0, 0, 1, 1)
    assert np.isin(thin.fpr, curve.fpr).all()
    assert thin.area == pytest.approx(curve.area, abs=1e-5)
    assert thin.thinned(1000) is thin


def test_a_long_vertical_or_level_stretch_survives_thinning():
    fpr = np.concatenate([[0.0, 0.0], np.linspace(0, 1, 5001)])
    tpr = np.concatenate([[0.0, 0.7], 0.7 + 0.3 * np.linspace(0, 1, 5001)])
    thin = RocCurve(fpr, tpr).thinned(100)
    assert (thin.fpr[1], thin.tpr[1]) == (0.0, 0.7)
    assert thin.area == pytest.approx(0.85, abs=1e-3)


def test_counts_of_trillions_of_pairs_do_not_overflow():
    many = np.array([10**12, 10**12])
    counts = ScoreCounts(np.array([0.0, 1.0]), many, many)
    assert counts.auroc() == 0.5
    assert counts.roc_curve().area == 0.5


def test_a_cut_is_above_the_score_below_it_also_where_no_number_is_between():
    below = 0.1
    score = np.array([below, np.nextafter(below, 1), 0.5, 0.75])
    assert cuts(score).tolist() == [below, score[1], (score[1] + 0.5) / 2, 0.625]
    assert (cuts(score)[1:] > score[:-1]).all()


def test_rounding_does_not_decide_whether_an_aim_is_reached():
    precision, pairs = np.array([0.5, np.nextafter(0.9, 0), 0.9]), np.array([30, 20, 10])
    assert place_reaching(precision, pairs, 0.9, fewest=5) == (1, True)
    assert place_reaching(precision - 1e-6, pairs, 0.9, fewest=5)[1] is False


def test_the_lowest_place_that_reaches_an_aim_is_that_of_trying_each():
    rng = np.random.default_rng(0)
    for _ in range(200):
        precision, pairs = rng.integers(0, 5, 9) / 4, np.sort(rng.integers(1, 20, 9))[::-1]
        aim, fewest = rng.integers(0, 5) / 4, int(rng.integers(1, 25))
        enough = [place for place in range(9) if pairs[place] >= fewest]
        good = [place for place in enough if precision[place] >= aim]
        best = min(enough, key=lambda place: (-precision[place], place), default=0)
        assert place_reaching(precision, pairs, aim, fewest=fewest) == ((good[0], True) if good else (best, False))
