"""The scale of a histogram of similarities.

A score is rounded to the nearest of `bins + 1` equally spaced values.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.inputs import DocumentVectors


@dataclass(frozen=True)
class ScoreScale:
    """`bins + 1` equally spaced score values from `low` to `high`."""

    low: float
    high: float
    bins: int

    @property
    def width(self) -> float:
        """Distance between neighbouring values: the resolution."""
        return (self.high - self.low) / self.bins

    @property
    def values(self) -> NDArray[np.float64]:
        """(bins + 1,) score of each index."""
        return np.linspace(self.low, self.high, self.bins + 1)

    @property
    def factor(self) -> float:
        """Indices per unit of score."""
        return self.bins / (self.high - self.low)

    @property
    def offset(self) -> float:
        """Number to add to factor × score so that truncation rounds to the nearest index."""
        return -self.low * self.factor + 0.5

    @classmethod
    def covering(cls, vectors: DocumentVectors, *, bins: int) -> "ScoreScale":
        """Return a scale that contains every similarity (by Cauchy-Schwarz) and has 0 among its values.

        Unit vectors (cosine) give exactly [-1, 1], non-negative sparse ones [0, bound].

        Raises:
            ValueError: if `bins` is odd, below 2, or larger than float32 can represent as an index.
        """
        if not 2 <= bins <= 2**20 or bins % 2:
            raise ValueError(f"bins must be even and between 2 and {2**20}, got {bins}")
        longest = _longest(vectors.left)
        bound = longest * (longest if vectors.right is vectors.left else _longest(vectors.right))
        if abs(bound - 1.0) * bins < 0.25:
            bound = 1.0  # unit length up to float32 rounding, a small part of one bin
        bound = bound or 1.0
        counted = sparse.issparse(vectors.left) and all(
            side.data.min(initial=0) >= 0 for side in (vectors.left, vectors.right)
        )
        return cls(0.0 if counted else -bound, bound, bins)


def _longest(vectors: Any) -> float:
    """Return the largest Euclidean length of a row."""
    if sparse.issparse(vectors):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1, dtype=np.float64)).ravel()
    else:
        squares = np.einsum("md,md->m", vectors, vectors, dtype=np.float64)
    return float(np.sqrt(np.max(squares, initial=0.0)))
