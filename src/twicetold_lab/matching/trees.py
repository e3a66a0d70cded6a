"""Boosted trees over named features of a pair: grown by scikit-learn, kept as arrays and read by NumPy, without pickle.

    log odds(a, b) = b₀ + Σ_t v_t(x),   v_t = value of the leaf of tree t that x falls into

Shape letters: P pairs, F features, T trees, N nodes of the largest tree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from twicetold.files import write_file
from twicetold.matching.pair_features import Column
from twicetold.matching.regression import Floats

SETTINGS = {
    "max_iter": 300,
    "learning_rate": 0.05,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 10,
    "l2_regularization": 1.0,
    "max_features": 0.3,
}
"""Of scikit-learn's HistGradientBoostingClassifier: many small trees, each split among a third of the features, since
many features say nearly the same."""


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
    """

    names: NDArray[np.str_]
    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    base: Floats

    @classmethod
    def grown(cls, columns: Mapping[str, Column], same: NDArray[np.bool_], *, seed: int = 0) -> Self:
        """Trees learnt from labelled pairs.

        Args:
            columns: (P,) features by name.
            same: (P,) whether a pair matches.
            seed: of the features that a split may choose from.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier  # imported here: it takes a second

        model = HistGradientBoostingClassifier(random_state=seed, early_stopping=False, **SETTINGS)
        model.fit(np.column_stack(list(columns.values())), same)
        return cls(np.array(list(columns)), **_arrays([tree.nodes for (tree,) in model._predictors]), base=_base(model))

    def probability(self, columns: Mapping[str, Column]) -> Floats:
        """(P,) of pairs with these features.

        Raises:
            ValueError: if a feature is missing.
        """
        if missing := [name for name in self.names.tolist() if name not in columns]:
            raise ValueError(f"expected columns of all features of the trees, there is no {', '.join(missing)}")
        rows = np.stack([columns[name] for name in self.names.tolist()]).astype(np.float64)
        pair, score = np.arange(rows.shape[1]), np.full(rows.shape[1], float(self.base))
        for feature, threshold, left, right, value in zip(
            self.feature, self.threshold, self.left, self.right, self.value, strict=True
        ):
            node = np.zeros(len(pair), np.int32)
            while (asks := feature[node]).max() >= 0:
                lower = rows[asks, pair] <= threshold[node]
                node = np.where(asks < 0, node, np.where(lower, left[node], right[node]))
            score += value[node]
        return np.asarray(expit(score), np.float64)

    def save(self, path: Path) -> None:
        """Write the arrays as `.npz`."""
        with write_file(path) as temporary, temporary.open("wb") as out:
            np.savez_compressed(out, allow_pickle=False, **vars(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def _arrays(trees: list[Any]) -> dict[str, NDArray[Any]]:
    """Nodes of scikit-learn's trees as arrays, filled up with leaves of value 0."""
    shape = (len(trees), max(map(len, trees)))
    arrays: dict[str, NDArray[Any]] = {
        "feature": np.full(shape, -1, np.int32),
        "threshold": np.zeros(shape),
        "left": np.zeros(shape, np.int32),
        "right": np.zeros(shape, np.int32),
        "value": np.zeros(shape),
    }
    names = {"feature": "feature_idx", "threshold": "num_threshold"}
    for number, nodes in enumerate(trees):
        for name, rows in arrays.items():
            rows[number, : len(nodes)] = nodes[names.get(name, name)]
        arrays["feature"][number, : len(nodes)][nodes["is_leaf"].astype(bool)] = -1
    return arrays


def _base(model: Any) -> Floats:
    return np.asarray(float(np.ravel(model._baseline_prediction)[0]))
