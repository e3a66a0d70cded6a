"""ROC curves as series of MLflow, whose charts lay those of several runs over each other.

A chart needs one x axis for all runs: the step is the false positive rate in thousandths, the value the true positive
rate there. Steps are dense where few false positives are allowed; MLflow draws at most 320 points of a series.
"""

import csv
from pathlib import Path

import numpy as np

STEPS = (*range(100), *range(100, 1001, 5))
PREFIX = "roc/"  # of the metric's name, before the split


def roc_series(path: Path) -> dict[str, list[tuple[int, float]]]:
    """The curves of a file that an evaluation wrote.

    Args:
        path: a table with `label` (the split), `false_positive_rate` and `true_positive_rate`.

    Returns:
        Split -> (step, true positive rate) of each point.

    Raises:
        ValueError: if the file has no such columns.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                point = float(row["false_positive_rate"]), float(row["true_positive_rate"])
                curves.setdefault(row["label"], []).append(point)
            except KeyError as missing:
                raise ValueError(f"no column {missing} in {path}: expected what evaluate wrote") from missing
    return {split: _on_steps(points) for split, points in curves.items()}


def _on_steps(points: list[tuple[float, float]]) -> list[tuple[int, float]]:
    """A curve's heights at the steps; where it goes straight up, its upper end."""
    highest: dict[float, float] = {}
    for across, up in points:
        highest[across] = max(up, highest.get(across, 0.0))
    xs = sorted(highest)
    heights = np.interp(np.array(STEPS) / 1000, xs, [highest[x] for x in xs])
    return list(zip(STEPS, heights.tolist(), strict=True))
