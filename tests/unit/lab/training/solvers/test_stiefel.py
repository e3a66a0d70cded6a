"""Descent on the Stiefel manifold: the Cayley transform, the line search, the optimum."""

import numpy as np
import pymanopt
import pytest

from twicetold_lab.training.solvers.film import Surrogate
from twicetold_lab.training.solvers.stiefel import (
    Descent,
    barzilai_borwein,
    cayley,
    descend,
    orthonormal,
)

SHAPES = [(12, 3), (12, 6), (12, 9), (7, 7), (5, 1)]


def random_point(rank, columns, seed=0):
    return orthonormal(np.random.default_rng(seed).standard_normal((rank, columns)))


def surrogate(rank, smoothing=1.0, scale=1.0):
    matrix = scale * np.random.default_rng(1).standard_normal((rank, rank))
    return Surrogate((matrix + matrix.T) / 2, smoothing)


def start(rank, columns):
    point = random_point(rank, columns)
    return Descent(point, point)


@pytest.mark.parametrize(("rank", "columns"), SHAPES)
@pytest.mark.parametrize("step", [1e-3, 0.5, 20.0])
def test_the_sherman_morrison_woodbury_form_is_the_cayley_transform(rank, columns, step):
    random = np.random.default_rng(2)
    point, gradient = random_point(rank, columns), random.standard_normal((rank, columns))
    skew = gradient @ point.T - point @ gradient.T
    identity = np.eye(rank)
    expected = np.linalg.inv(identity + step / 2 * skew) @ (identity - step / 2 * skew) @ point  # equation 24
    left, right = np.hstack([gradient, point]), np.hstack([point, -gradient])
    woodbury = point - step * left @ np.linalg.solve(
        np.eye(2 * columns) + step / 2 * right.T @ left, right.T @ point
    )  # equation 25
    np.testing.assert_allclose(woodbury, expected, atol=1e-9)
    np.testing.assert_allclose(cayley(point, gradient, step), expected, atol=1e-9)


@pytest.mark.parametrize(("rank", "columns"), SHAPES)
def test_the_envelope_falls_at_every_step_and_bounds_the_values(rank, columns):
    _, trace = descend(surrogate(rank), start(rank, columns), steps=40)
    assert (np.diff(trace.envelope) <= 0).all()
    assert all(value <= bound for value, bound in zip(trace.value, trace.envelope))


@pytest.mark.parametrize(("rank", "columns"), [(12, 3), (12, 9), (7, 7)])
def test_the_optimum_is_that_of_pymanopt(rank, columns):
    function = surrogate(rank)
    manifold = pymanopt.manifolds.Stiefel(rank, columns)
    cost = pymanopt.function.numpy(manifold)(lambda point: function(point)[0])
    gradient = pymanopt.function.numpy(manifold)(lambda point: function(point)[1])
    optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0, max_iterations=2000, min_gradient_norm=1e-9)
    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    expected = min(optimizer.run(problem, initial_point=random_point(rank, columns, seed)).cost for seed in range(4))
    actual = min(
        descend(function, Descent(*[random_point(rank, columns, seed)] * 2), steps=2000, tolerance=1e-7)[1].value[-1]
        for seed in range(4)
    )
    assert actual == pytest.approx(expected, rel=1e-4)


def test_steps_are_taken_by_turns():
    moved, bent = np.array([[1.0], [2.0]]), np.array([[2.0], [5.0]])
    assert barzilai_borwein(moved, bent, odd=False) == pytest.approx(5 / 12)
    assert barzilai_borwein(moved, bent, odd=True) == pytest.approx(12 / 29)
    assert barzilai_borwein(moved, 0 * bent, odd=True) is None


def test_nothing_moves_at_a_critical_point():
    state, trace = descend(Surrogate(np.zeros((6, 6)), 1.0), start(6, 2), steps=5)
    assert state.count == 0
    assert len(trace.value) == 1
