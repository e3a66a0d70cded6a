"""Stacking against scikit-learn, and cross-fitted scores against what was memorised."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from twicetold_lab.scoring import stacking
from twicetold_lab.scoring.stacking import cross_fit, deal, fit_weights, pairs_of_documents


def scored(count=2000, members=3, seed=0):
    """Scores of members, each of which knows something of the label, on scales of their own."""
    rng = np.random.default_rng(seed)
    label = rng.random(count) < 0.3
    scores = label[:, None] * np.linspace(0.5, 1.5, members) + rng.standard_normal((count, members))
    return scores * 10.0 ** np.arange(members) + 7.0, label


def documents(count=30, size=4, seed=0):
    """Groups, and two members' vectors of unit length near the centre of their group."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(count), size)
    vectors = []
    for noise in (0.5, 1.0):
        matrix = rng.standard_normal((count, 8))[codes] + noise * rng.standard_normal((len(codes), 8))
        vectors.append((matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32))
    return codes, vectors


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_logistic_regression_where_all_of_them_are_above_0(weighted):
    scores, label = scored()
    weight = np.random.default_rng(1).uniform(0.5, 20, len(label)) if weighted else None
    found = fit_weights(scores, label, weight)
    spread = scores.std(0)
    expected = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(scores / spread, label, weight)
    np.testing.assert_allclose(found.members, expected.coef_[0] / spread, rtol=1e-3)
    assert found.intercept == pytest.approx(expected.intercept_[0], rel=1e-3)


def test_features_of_pairs_have_weights_of_any_sign_and_a_ridge():
    scores, label = scored()
    inputs = np.column_stack([scores, -scores[:, 0] + 5 * np.random.default_rng(2).standard_normal(len(label))])
    found = fit_weights(inputs, label, members=3)
    spread = inputs.std(0)
    expected = LogisticRegression(tol=1e-10, max_iter=1000).fit((inputs - inputs.mean(0)) / spread, label)
    np.testing.assert_allclose([*found.members, *found.features], expected.coef_[0] / spread, rtol=1e-3)


def test_a_member_that_scores_duplicates_lower_or_all_alike_has_weight_0_and_the_others_ignore_it():
    scores, label = scored(members=2)
    alone = fit_weights(scores, label)
    found = fit_weights(np.column_stack([scores, -3.0 * label, np.full(len(label), 5.0)]), label)
    assert found.members[2:] == (0.0, 0.0)
    np.testing.assert_allclose(found.members[:2], alone.members, rtol=1e-4)
    with pytest.raises(ValueError, match="no member of the ensemble scores duplicates of validation higher"):
        fit_weights(-scores, label)


def test_separable_classes_have_finite_weights_and_one_class_is_an_error():
    label = np.arange(10) > 4
    assert np.isfinite(fit_weights(label[:, None] * 2.0, label).members).all()
    with pytest.raises(ValueError, match="expected pairs of both classes"):
        fit_weights(label[:, None] * 2.0, label | True)


def test_members_that_are_noise_gain_on_the_pairs_they_were_fitted_on_and_not_on_cross_fitted_ones():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(60), 5)
    fold = deal(cluster)
    gained, honest = [], []
    for _ in range(10):
        scores, label = rng.standard_normal((len(cluster), 40)), rng.random(len(cluster)) < 0.5
        gained.append(roc_auc_score(label, scores @ fit_weights(scores, label).members))
        by_fold = np.array([each.members for each in cross_fit(scores, label, (fold, fold))])
        inside = [roc_auc_score(label[fold == k], (scores @ by_fold[k])[fold == k]) for k in range(len(by_fold))]
        honest.append(np.mean(inside))
    assert np.mean(gained) > 0.6
    assert np.mean(honest) == pytest.approx(0.5, abs=0.03)


def test_the_weights_of_a_fold_do_not_depend_on_pairs_that_have_a_text_in_it():
    scores, label = scored(count=600)
    rng = np.random.default_rng(0)
    folds = rng.integers(5, size=600), rng.integers(5, size=600)
    before = cross_fit(scores, label, folds)
    touched = (folds[0] == 2) | (folds[1] == 2)
    after = cross_fit(np.where(touched[:, None], rng.standard_normal(scores.shape), scores), label, folds)
    assert after[2] == before[2]
    assert after[1] != before[1]


def test_clusters_are_dealt_whole_into_folds_of_about_one_size():
    rng = np.random.default_rng(0)
    clusters = rng.permutation(np.repeat(np.arange(200), rng.integers(1, 30, size=200)))
    fold = deal(clusters, folds=5)
    assert all(len(np.unique(fold[clusters == code])) == 1 for code in range(200))
    sizes = np.bincount(fold)
    assert len(sizes) == 5
    assert sizes.max() - sizes.min() <= 30
    assert sorted(deal(np.array([4, 4, 9]))) == [0, 0, 1]
    with pytest.raises(ValueError, match="at least two clusters"):
        deal(np.zeros(3, np.int64))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_with_all_texts_as_neighbours_the_pairs_are_all_pairs(kind, monkeypatch):
    codes, vectors = documents()
    shifted = [kind(np.abs(matrix)) for matrix in vectors]  # sparse search finds similarities above 0 alone
    monkeypatch.setattr(stacking, "NEIGHBOURS", len(codes))
    found = pairs_of_documents(codes, [(matrix, matrix) for matrix in shifted])
    low, high = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
    left, right = np.triu_indices(len(codes), 1)
    np.testing.assert_array_equal(np.sort(low * len(codes) + high), left * len(codes) + right)
    np.testing.assert_array_equal(found.label, codes[low] == codes[high])
    assert set(found.weight) == {1.0}


def test_sampled_pairs_stand_for_all_pairs(monkeypatch):
    codes, vectors = documents(count=100)
    left, right = np.triu_indices(len(codes), 1)
    every = np.stack([np.einsum("pd,pd->p", matrix[left], matrix[right]) for matrix in vectors], 1)
    expected = fit_weights(every, codes[left] == codes[right])
    monkeypatch.setattr(stacking, "NEIGHBOURS", 5)
    monkeypatch.setattr(stacking, "MOST", 20_000)
    found = pairs_of_documents(codes, [(matrix, matrix) for matrix in vectors])
    assert found.weight.sum() == pytest.approx(len(left))
    assert found.label.sum() == 600
    np.testing.assert_array_equal(found.label, codes[found.left] == codes[found.right])
    some = np.stack([np.einsum("pd,pd->p", matrix[found.left], matrix[found.right]) for matrix in vectors], 1)
    weights = fit_weights(some, found.label, found.weight)
    np.testing.assert_allclose(weights.members, expected.members, rtol=0.05)


def test_of_too_many_pairs_within_groups_a_sample_is_taken(monkeypatch):
    codes, vectors = np.repeat([3, 8], [60, 5]), documents(count=13, size=5)[1]
    monkeypatch.setattr(stacking, "MOST", 500)
    found = pairs_of_documents(codes, [(matrix, matrix) for matrix in vectors])
    assert found.label.sum() == 500
    assert (codes[found.left] == codes[found.right])[found.label].all()
    assert (found.left != found.right).all()
    assert found.weight[found.label].sum() == pytest.approx(60 * 59 / 2 + 10)
