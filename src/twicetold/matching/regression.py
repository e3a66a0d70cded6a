"""Logistic regression with a Gaussian prior, by Newton's method; a step is halved until it leads down.

    minimise  Σ_i w_i log(1 + exp(−y_i s_i)) + ½ (β − μ)ᵀ Σ⁻¹ (β − μ),   s = X β,  y = ±1

With a prior fitted elsewhere as μ, a few answers move the coefficients from there, and no answer leaves them.
Matrix products have one thread: several add up in another order, and the last bits would depend on their number.

Shape letters: P pairs, F features.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from twicetold.neighbours.parallel import serial_products

STEPS = 50  # of Newton
CLOSE = 1e-6  # largest change of a coefficient at the end

Floats = NDArray[np.float64]


@serial_products()
def fit_logistic(
    features: NDArray[np.floating],
    answers: NDArray[Any],
    *,
    mean: Floats,
    precision: Floats,
    weights: Floats | None = None,
) -> Floats:
    """Return (F,) coefficients of the greatest posterior density.

    Args:
        features: (P, F), with a column of ones for an intercept.
        answers: (P,) whether a pair matches, or with what probability.
        mean: (F,) of the prior.
        precision: (F,) or (F, F) of the prior, the inverse of its variance.
        weights: (P,) of the pairs; None: 1 each.

    Examples:
        >>> import numpy as np
        >>> from twicetold.matching.regression import fit_logistic
        >>> x = np.array([[1.0, -1.0], [1.0, 1.0]])
        >>> fit_logistic(x, np.array([False, True]), mean=np.zeros(2), precision=np.ones(2)).round(3).tolist()
        [0.0, 0.675]
    """
    weights = np.ones(len(features)) if weights is None else weights
    inverse = np.diag(precision) if precision.ndim == 1 else precision
    target = answers.astype(np.float64)

    def cost(at: Floats) -> float:
        score, apart = features @ at, at - mean
        return float(weights @ (np.logaddexp(0, score) - target * score) + apart @ inverse @ apart / 2)

    coefficients = mean.astype(np.float64).copy()
    least = cost(coefficients)
    for _ in range(STEPS):
        probability = expit(features @ coefficients)
        gradient = features.T @ (weights * (target - probability)) - inverse @ (coefficients - mean)
        curvature = weights * probability * (1 - probability)
        hessian = (features * curvature[:, None].astype(features.dtype)).T @ features + inverse
        step = cho_solve(cho_factor(hessian), gradient)
        while (now := cost(coefficients + step)) > least + CLOSE and np.abs(step).max() > CLOSE:
            step /= 2
        coefficients, least = coefficients + step, now
        if np.abs(step).max() < CLOSE:
            break
    return coefficients
