"""What is kept of each unit of test gives the jackknife's variance, and survives JSON."""

import json

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import f1_score

from twicetold.evaluation.group_metrics import jackknife_variance, without_each
from twicetold.evaluation.intervals import MOST, variance
from twicetold_lab.evaluation import units
from twicetold_lab.evaluation.units import Units, Verdicts, f1_terms, pearson_terms, verdict_units


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


@pytest.mark.parametrize(
    ("terms", "measure"), [(pearson_terms, lambda x, y: pearsonr(x, y).statistic), (f1_terms, f1_score)]
)
def test_terms_are_the_change_of_the_measure_when_a_pair_is_left_out(terms, measure):
    x, y = np.random.default_rng(2).normal(size=(2, 400))
    y = x + y
    if measure is f1_score:
        x, y = x > 1, y > 1
    lost = [measure(x, y) - measure(np.delete(x, one), np.delete(y, one)) for one in range(400)]
    assert np.corrcoef(terms(x, y), lost)[0, 1] > 0.999
    assert terms(np.zeros(3, x.dtype), np.zeros(3)).tolist() == [0, 0, 0]


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


def test_verdicts_are_kept_one_by_one_unless_pairs_share_texts():
    verdict, label = np.arange(7) > 0, np.ones(7)
    assert isinstance(verdict_units(verdict, label, None), Verdicts)
    assert isinstance(verdict_units(verdict, label, np.arange(7)), Verdicts)
    found = verdict_units(verdict, label, np.array([0, 0, 1, 2, 3, 4, 5]))
    assert found.terms == pytest.approx([-5 / 49, *[1 / 49] * 5])
