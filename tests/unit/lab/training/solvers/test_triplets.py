"""The triplet problem against its definition."""

import numpy as np
import pytest

from twicetold_lab.training.solvers import triplets as module
from twicetold_lab.training.solvers.triplets import RowTriplets

RANDOM = np.random.default_rng(0)
N, R, D = 15, 6, 3
ANCHOR = np.array([0, 0, 1, 2, 3, 3, 3, 9])
POSITIVE = np.array([1, 2, 0, 2, 4, 5, 6, 10])
NEGATIVE = np.array([7, 8, 9, 3, 7, 8, 9, 11])
V = RANDOM.standard_normal((N, R))


def problem(similarity):
    return RowTriplets(anchor=ANCHOR, positive=POSITIVE, negative=NEGATIVE, similarity=similarity)


def loss(metric, similarity, margin):
    """Equation 10, an anchor at a time."""
    gram = V @ metric @ V.T
    if similarity == "cosine":
        length = np.sqrt(np.diag(gram))
        gram = gram / length[:, None] / length
    total = 0.0
    for i in np.unique(ANCHOR):
        mine = i == ANCHOR
        z = sum(gram[i, k] - gram[i, j] for j, k in zip(POSITIVE[mine], NEGATIVE[mine])) / (mine.sum() + 1)
        total += max(0.0, z + margin)
    return total


def factor(seed):
    return np.random.default_rng(seed).standard_normal((R, D))


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_loss_is_equation_10(similarity):
    root = factor(1)
    pull = problem(similarity).pull(V, V @ root, margin=0.3)
    assert pull.loss == pytest.approx(loss(root @ root.T, similarity, 0.3))


def test_the_margin_counts_once_for_each_anchor_as_in_equation_10_and_not_as_in_equations_4_to_7():
    """docs/explanation/film.md lists that the paper has two losses, with these values."""
    random = np.random.default_rng(0)
    anchor = np.repeat(np.arange(12), random.integers(1, 5, 12))
    positive, negative = random.integers(0, 30, (2, len(anchor)))
    rows = random.standard_normal((30, D))
    sim = rows @ rows.T / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(rows, axis=1)
    inside = outside = 0.0
    for i in range(12):
        gaps = [sim[i, k] - sim[i, j] for a, j, k in zip(anchor, positive, negative) if a == i]
        inside += max(0.0, sum(gap + 0.5 for gap in gaps) / (len(gaps) + 1))
        outside += max(0.0, sum(gaps) / (len(gaps) + 1) + 0.5)
    mine = RowTriplets(anchor=anchor, positive=positive, negative=negative, similarity="cosine")
    assert mine.pull(rows, rows, margin=0.5).loss == pytest.approx(outside)
    assert (round(inside, 2), round(outside, 2)) == (6.10, 7.86)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_k_is_the_derivative_of_the_loss_with_respect_to_the_metric(similarity, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 4)
    root, direction = factor(2), factor(3) @ factor(4).T
    direction = direction + direction.T
    pull = problem(similarity).pull(V, V @ root, margin=0.3)
    metric, tiny = root @ root.T, 1e-6
    expected = (loss(metric + tiny * direction, similarity, 0.3) - loss(metric - tiny * direction, similarity, 0.3)) / (
        2 * tiny
    )
    assert -np.vdot(pull.matrix, direction) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_without_an_active_triplet_nothing_pulls(similarity):
    pull = problem(similarity).pull(V, V @ factor(1), margin=-1000.0)
    assert (pull.loss, pull.active) == (0, 0)
    assert not pull.matrix.any()


def test_a_zero_embedding_is_similar_to_nothing_and_stays_finite():
    embedding = V @ factor(1)
    embedding[[0, 7]] = 0
    pull = problem("cosine").pull(V, embedding, margin=0.3)
    assert np.isfinite(pull.matrix).all()
    assert np.isfinite(pull.loss)
