"""Truncated SVD against the dense one."""

import numpy as np
import pytest
import scipy.sparse as sp

from twicetold_lab.training.solvers import svd
from twicetold_lab.training.solvers.svd import truncated_svd


def sparse(rows, columns, seed=0):
    return sp.random(rows, columns, density=0.2, format="csr", dtype=np.float32, random_state=seed)


def test_it_is_the_singular_value_decomposition(monkeypatch):
    monkeypatch.setattr(svd, "ROWS", 7)
    matrix = sparse(40, 25)
    directions, sigma = truncated_svd(matrix, rank=6, rounds=4, seed=0)
    _, expected, right = np.linalg.svd(matrix.toarray())
    np.testing.assert_allclose(sigma, expected[:6], rtol=1e-3)
    np.testing.assert_allclose(np.abs((directions * right[:6].T).sum(0)), 1, atol=1e-2)
    np.testing.assert_allclose(directions.T @ directions, np.eye(6), atol=1e-5)


def test_directions_without_any_size_are_left_out():
    matrix = sp.csr_matrix(np.outer(np.arange(1, 9), [1, 0, 2, 3]).astype(np.float32))
    directions, sigma = truncated_svd(matrix, rank=3, rounds=2, seed=0)
    assert directions.shape == (4, 1)
    assert sigma.shape == (1,)


def test_the_same_seed_gives_the_same_directions():
    one, other = (truncated_svd(sparse(30, 20), rank=5, rounds=2, seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_zero_matrix_is_refused():
    with pytest.raises(ValueError, match="no feature in common"):
        truncated_svd(sp.csr_matrix((4, 3), dtype=np.float32), rank=2, rounds=1, seed=0)
