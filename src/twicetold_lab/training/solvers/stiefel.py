"""Descent on the Stiefel manifold St(d, r) = {P (r, d): PᵀP = I}: Cayley transform, Barzilai–Borwein steps.

Wen and Yin, "A feasible method for optimization with orthogonality constraints", Mathematical Programming 2013; as FILM
uses it (Tang and Aw, arXiv:2010.05523, equations 20 to 27). With G the Euclidean gradient at P:

    A = G Pᵀ − P Gᵀ                                            skew; the paper has φ instead of ∇φ
    P(τ) = (I + τ/2 A)⁻¹ (I − τ/2 A) P                         equation 24, an (r, r) system
         = P − τ F (I + τ/2 Eᵀ F)⁻¹ Eᵀ P                       equation 25, (2d, 2d); F = [G, P], E = [P, −G]
    𝓕(P) = G − P Gᵀ P                                          zero at a critical point, equation 21

The step τ is alternately ‖ΔP‖² / |⟨ΔP, Δ𝓕⟩| and |⟨ΔP, Δ𝓕⟩| / ‖Δ𝓕‖² (26, 27), and is reduced until the value is
sufficiently below an average of previous values: the non-monotone line search of Zhang and Hager (SIAM J. Optim. 2004),

    f(P(τ)) ≤ C − ρ τ ‖𝓕‖²,   C ← (γ q C + f) / (γ q + 1),   q ← γ q + 1.

Shape letters: r rank, d columns of P.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Matrix], tuple[float, Matrix]]
"""From P to a value and its Euclidean gradient (r, d)."""

FIRST = 1e-3  # constants of FLRML's solver (an edition of Wen and Yin's OptStiefelGBB)
SUFFICIENT = 1e-4  # ρ
CUT = 0.2
TRIES = 25
MEMORY = 0.85  # γ
DRIFT = 1e-10  # largest deviation of PᵀP from I before it is orthonormalised again


@dataclass(frozen=True)
class Descent:
    """State of a descent."""

    point: Matrix
    """(r, d) P."""
    previous: Matrix
    """(r, d) P before the last step; at the start, P."""
    step: float = FIRST
    """τ of the last step."""
    count: int = 0
    """Steps taken."""


@dataclass(frozen=True)
class Trace:
    """Values along a run of steps."""

    value: list[float]
    """f at the start and after each step."""
    envelope: list[float]
    """C before each step and after the last."""
    gradient: float
    """‖𝓕‖ at the end."""


def descend(function: Function, state: Descent, *, steps: int, tolerance: float = 0.0) -> tuple[Descent, Trace]:
    """Take at most `steps` steps, until ‖𝓕‖ ≤ `tolerance` or no step decreases the value.

    The differences for the first step size are computed with this `function`, even if the previous step was taken with
    another one.

    Args:
        function: what to minimise.
        state: start, or the end of a previous run.
        steps: largest number of steps.
        tolerance: of ‖𝓕‖.
    """
    point, count, step = state.point, state.count, state.step
    value, gradient = function(point)
    slope = riemannian(point, gradient)
    moved, bent = point - state.previous, np.zeros_like(point)
    if moved.any():
        bent = slope - riemannian(state.previous, function(state.previous)[1])
    envelope, weight = value, 1.0
    values, envelopes = [value], [envelope]
    previous = state.previous
    for _ in range(steps):
        norm = float(np.linalg.norm(slope))
        if norm <= tolerance:
            break
        step = barzilai_borwein(moved, bent, odd=bool(count % 2)) or step
        for _ in range(TRIES):
            trial = cayley(point, gradient, step)
            value, new_gradient = function(trial)
            if value <= envelope - SUFFICIENT * step * norm**2:
                break
            step *= CUT
        else:
            break
        previous, point, gradient = point, trial, new_gradient
        new_slope = riemannian(point, gradient)
        moved, bent, slope = point - previous, new_slope - slope, new_slope
        count += 1
        envelope = (MEMORY * weight * envelope + value) / (MEMORY * weight + 1)
        weight = MEMORY * weight + 1
        values.append(value)
        envelopes.append(envelope)
    end = replace(state, point=point, previous=previous, step=step, count=count)
    return end, Trace(values, envelopes, float(np.linalg.norm(slope)))


def cayley(point: Matrix, gradient: Matrix, step: float) -> Matrix:
    """Return P(τ), by the smaller of the two systems.

    Args:
        point: (r, d) P.
        gradient: (r, d) G.
        step: τ.
    """
    rank, columns = point.shape
    if 2 * columns > rank:
        half = step / 2 * (gradient @ point.T - point @ gradient.T)
        identity = np.eye(rank)
        moved = np.asarray(np.linalg.solve(identity + half, (identity - half) @ point), np.float64)
    else:
        left, right = np.hstack([gradient, point]), np.hstack([point, -gradient])
        system = np.eye(2 * columns) + step / 2 * (right.T @ left)
        inner = np.asarray(np.linalg.solve(system, right.T @ point), np.float64)
        moved = point - step * (left @ inner)
    return orthonormal(moved) if drift(moved) > DRIFT else moved


def riemannian(point: Matrix, gradient: Matrix) -> Matrix:
    """Return (r, d) 𝓕(P) = G − P Gᵀ P."""
    return gradient - point @ (gradient.T @ point)


def barzilai_borwein(moved: Matrix, bent: Matrix, *, odd: bool) -> float | None:
    """Return τ from ΔP and Δ𝓕, (r, d) each; None if one of them is zero."""
    inner, squared = abs(float(np.vdot(moved, bent))), float(np.vdot(bent, bent))
    if not inner or not squared:
        return None
    return inner / squared if odd else float(np.vdot(moved, moved)) / inner


def drift(point: Matrix) -> float:
    """Return ‖PᵀP − I‖, Frobenius."""
    return float(np.linalg.norm(point.T @ point - np.eye(point.shape[1])))


def orthonormal(matrix: Matrix) -> Matrix:
    """Return the nearest matrix of St(d, r): the orthogonal factor of the polar decomposition.

    Args:
        matrix: (r, d) of full column rank.
    """
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    nearest: Matrix = left @ right
    return nearest
