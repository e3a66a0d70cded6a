"""Boosted trees that scikit-learn grows on labelled pairs, kept as the arrays of `twicetold.matching.trees`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.trees import Trees

COUNT, LEAVES = 300, 15
SETTINGS = {"learning_rate": 0.05, "min_samples_leaf": 10, "l2_regularization": 1.0, "max_features": 0.3}
"""Of scikit-learn's HistGradientBoostingClassifier: many small trees, each split among a third of the features, since
many features say nearly the same."""


def grown(
    names: Sequence[str],
    rows: NDArray[Any],
    same: NDArray[np.bool_],
    *,
    count: int = COUNT,
    leaves: int = LEAVES,
    seed: int = 0,
) -> Trees:
    """Return trees learnt from labelled pairs.

    Args:
        names: (F,) of the features.
        rows: (P, F) features.
        same: (P,) whether a pair matches.
        count: of the trees.
        leaves: of a tree, at most.
        seed: of the features that a split may choose from.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # imported here: it takes a second

    model = HistGradientBoostingClassifier(
        random_state=seed, early_stopping=False, max_iter=count, max_leaf_nodes=leaves, **SETTINGS
    ).fit(rows, same)
    arrays = _arrays([tree.nodes for (tree,) in model._predictors], 2 * leaves - 1)
    return Trees(tuple(names), **arrays, base=np.asarray(float(np.ravel(model._baseline_prediction)[0])))


def _arrays(trees: list[Any], size: int) -> dict[str, NDArray[Any]]:
    """Return nodes of scikit-learn's trees as arrays, filled up with leaves of value 0."""
    shape = (len(trees), size)
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
