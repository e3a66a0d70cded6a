"""Series of a run in MLflow: its ROC curves, and system metrics of long runs, by MLflow's own monitor.

Charts lay the curves of several runs over each other. A chart needs one x axis for all runs: the step is the false
positive rate in thousandths, the value the true positive rate there. Steps are dense where few false positives are
allowed; MLflow draws at most 320 points of a series.
"""

import csv
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from twicetold_lab.tracking.store import Store

STEPS = (*range(100), *range(100, 1001, 5))
PREFIX = "roc/"  # of the metric's name, before the split
EVERY = 15.0  # seconds
SAMPLES = 4  # whose mean is logged
_logger = logging.getLogger(__name__)


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


@contextmanager
def system_metrics(store: Store | None, run_id: str | None) -> Iterator[None]:
    """Log metrics `system/...` of a run once a minute, by MLflow's monitor; shorter runs have none.

    Args:
        store: the open store; None where nothing is tracked.
        run_id: the run.
    """
    monitor = _monitor(store, run_id) if store is not None and run_id is not None else None
    try:
        yield
    finally:
        if monitor is not None:
            with suppress(Exception):
                monitor.finish()


def _monitor(store: Store, run_id: str) -> Any:
    """MLflow's monitor at work; None if it cannot be."""
    try:
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        monitor = SystemMetricsMonitor(
            run_id, EVERY, samples_before_logging=SAMPLES, resume_logging=True, tracking_uri=store.client.tracking_uri
        )
        monitor.start()
    except Exception as error:  # of any kind: the training is what matters
        _logger.info("no system metrics: %s", error)
        return None
    return monitor
