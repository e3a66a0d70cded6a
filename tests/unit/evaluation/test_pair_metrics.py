"""Measures of pairs against scikit-learn and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from twicetold.evaluation.pair_metrics import Confusion, log_losses, squared_errors
from twicetold.evaluation.ranking import midranks, pearson, spearman

decided = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(decided)
def test_decisions_are_measured_as_scikit_learn_measures_them(rows):
    said, labels = np.array(rows).T
    ours = Confusion.of(said, labels)
    assert ours.accuracy == pytest.approx(metrics.accuracy_score(labels, said))
    assert ours.precision == pytest.approx(metrics.precision_score(labels, said, zero_division=0))
    assert ours.recall == pytest.approx(metrics.recall_score(labels, said, zero_division=0))
    assert ours.f1 == pytest.approx(metrics.f1_score(labels, said, zero_division=0))
    if len(set(labels.tolist() + said.tolist())) > 1:
        assert ours.mcc == pytest.approx(metrics.matthews_corrcoef(labels, said))


def test_mcc_of_billions_of_pairs_does_not_overflow():
    assert Confusion(10**10, 0, 0, 10**10).mcc == 1.0


def test_probabilities_are_measured_as_scikit_learn_measures_them():
    rng = np.random.default_rng(0)
    probability, labels = rng.random(300), rng.random(300) < 0.4
    assert log_losses(probability, labels).mean() == pytest.approx(metrics.log_loss(labels, probability))
    assert squared_errors(probability, labels).mean() == pytest.approx(metrics.brier_score_loss(labels, probability))
    assert np.isfinite(log_losses([0.0, 1.0], [1, 0])).all()


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 5)), min_size=2, max_size=40))
def test_correlations_equal_scipys_and_are_0_for_a_constant(rows):
    x, y = np.array(rows, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert (pearson(x, y), spearman(x, y)) == (0, 0)
    else:
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert (midranks(x) == stats.rankdata(x)).all()


def test_correlation_of_a_diverged_model_is_an_error():
    with pytest.raises(ValueError, match="1 of 2 scores are NaN"):
        pearson([np.nan, 1.0], [0, 1])
