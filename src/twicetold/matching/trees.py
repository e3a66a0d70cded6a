"""Boosted trees over named features of a pair, as arrays that NumPy reads.

    log odds(a, b) = b₀ + Σ_t v_t(x),   v_t = value of the leaf of tree t that x falls into

Shape letters: P pairs, F features, T trees, N nodes of the largest tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.regression import Floats


@dataclass(frozen=True)
class Trees:
    """Boosted trees of two classes.

    Args:
        names: (F,) of the features.
        feature: (T, N) feature that a node asks for; -1 at a leaf.
        threshold: (T, N) values up to it go left.
        left: (T, N) node to the left.
        right: (T, N) node to the right.
        value: (T, N) of a leaf, in log odds.
        base: () log odds before the first tree.

    Raises:
        ValueError: if a node asks for a feature that is not there, or does not lead to later ones.
    """

    names: tuple[str, ...]
    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    base: Floats

    def __post_init__(self) -> None:
        asks, nodes = self.feature >= 0, np.arange(self.feature.shape[1])
        leads = [(nodes < side) & (side < len(nodes)) for side in (self.left, self.right)]
        if not ((self.feature < len(self.names)) & (~asks | (leads[0] & leads[1]))).all():
            raise ValueError(f"expected trees over {len(self.names)} features whose nodes lead to later ones")

    def log_odds(self, rows: NDArray[Any]) -> Floats:
        """Return (P,) of pairs with (P, F) features, in the order of the names."""
        features = np.ascontiguousarray(rows.T, np.float64)
        pair, score = np.arange(len(rows)), np.full(len(rows), float(self.base))
        for feature, threshold, left, right, value in zip(
            self.feature, self.threshold, self.left, self.right, self.value, strict=True
        ):
            node = np.zeros(len(pair), np.int32)
            while (asks := feature[node]).max(initial=-1) >= 0:
                lower = features[asks, pair] <= threshold[node]
                node = np.where(asks < 0, node, np.where(lower, left[node], right[node]))
            score += value[node]
        return score
