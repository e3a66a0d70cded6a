"""Leaderboards: one row per model, averaged over seeds, ordered by the primary metric on validation.

The order and the mark "best" come from validation; test is shown beside it and chooses nothing.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from twicetold.files import csv_text
from twicetold.neighbours.rules import RULES
from twicetold_lab.reporting.glossary import describe, ordered
from twicetold_lab.runs.records import Run
from twicetold_lab.scoring.cost import Cost

MARK = "(p)"
"""Added to the name of a model that was pretrained on texts which may be those of the dataset."""
TRAIN_AND_TEST = (
    "Over all pairs of the train texts, and of the test texts. Nothing was chosen by train. Its pairs are others than "
    "those of test, easier or harder for any model: compare models within a column."
)


@dataclass(frozen=True)
class Estimate:
    """A metric over the seeds of one model."""

    mean: float
    deviation: float | None
    """Standard deviation over seeds, None for a single one."""
    interval: tuple[float, float] | None
    """Ends of the 95 % interval of one run, averaged over seeds; None where none was computed."""


Metrics: TypeAlias = Mapping[str, Mapping[str, Estimate]]
"""Split ("val", "test", where it was measured "train") -> metric -> estimate."""


@dataclass(frozen=True)
class Row:
    """One model on one dataset."""

    model: str
    runs: tuple[Run, ...]
    """By seed."""
    metrics: Metrics
    """With `ari`, that of the `best_rule`."""
    epochs: float
    train_seconds: float | None

    @property
    def cost(self) -> Cost | None:
        """That of the run with the smallest seed that was measured; None if none was."""
        return next((run.cost for run in self.runs if run.cost), None)

    @property
    def mark(self) -> str:
        """`MARK` if the model may have seen the dataset before, else an empty string."""
        return "" if self.first.is_clean else f" {MARK}"

    @property
    def first(self) -> Run:
        """The run with the smallest seed, which is used where one run is drawn or compared."""
        return self.runs[0]

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether one of these metrics was measured on test."""
        return any(name in self.metrics["test"] for name in names)


@dataclass(frozen=True)
class Leaderboard:
    """All models on one dataset, the best on validation first."""

    data: str
    primary: str
    metrics: tuple[str, ...]
    """Every metric that some run has, in reading order, the primary first."""
    rows: tuple[Row, ...]

    @property
    def leading(self) -> list[str]:
        """The metrics of the leaderboard's columns, without the primary one."""
        return [name for name in self.metrics[1:] if describe(name).leads]

    def row_of(self, model: str) -> Row | None:
        """The row of a model; None if it was not run."""
        return next((row for row in self.rows if row.model == model), None)

    @property
    def best(self) -> Row:
        """The model that is best on validation."""
        return self.rows[0]

    @property
    def baseline(self) -> Row | None:
        """The best model without training, or None."""
        return next((row for row in self.rows if row.first.is_baseline), None)

    @property
    def duplicates(self) -> str | None:
        """The group whose texts are duplicates of each other, such as `story`: it is no class. None if unknown."""
        stem = "average_precision_"
        groups = [name.removeprefix(stem) for name in self.metrics if name.startswith(stem)]
        return next((group for group in groups if f"knn_accuracy_{group}" not in self.metrics), None)

    @property
    def pretraining(self) -> tuple[str, ...]:
        """A note for each corpus that models of this table were pretrained on; `Row.mark` refers to them."""
        found: dict[tuple[str, bool], list[str]] = {}
        for row in self.rows:
            if row.first.pretrained_on:
                found.setdefault((row.first.pretrained_on, row.first.is_clean), []).append(row.model)
        return tuple(
            f"{', '.join(models)} had been pretrained on {what}. Texts of this dataset are not known to be among these."
            if is_clean
            else f"{MARK} not clean: {', '.join(models)} had been pretrained on {what}. "
            "Texts of this dataset, or texts like them, may have been among these."
            for (what, is_clean), models in found.items()
        )

    def top(self, metric: str) -> float | None:
        """The highest test value of a metric; None if higher is not better."""
        found = [row.metrics["test"][metric].mean for row in self.rows if metric in row.metrics["test"]]
        found = [value for value in found if not math.isnan(value)]
        return max(found) if found and describe(metric).is_quality else None


def rank(data: str, runs: Sequence[Run]) -> Leaderboard:
    """The leaderboard of one dataset.

    The primary metric is the one that training selected by; if no run has it, the first in reading order.
    """
    models: dict[str, list[Run]] = {}
    for run in runs:
        models.setdefault(run.cell.model, []).append(run)
    rows = [_row(model, found) for model, found in models.items()]
    names = {name for run in runs for name in run.metrics["test"]}
    names |= {name for row in rows for name in row.metrics["test"]}
    metrics = ordered(names)
    primary = next((run.primary for run in runs if run.primary in names), metrics[0])
    rows.sort(key=lambda row: (-or_worst(row.metrics["val"].get(primary)), row.model))
    return Leaderboard(data, primary, (primary, *(m for m in metrics if m != primary)), tuple(rows))


def best_rule(metrics: Metrics) -> str | None:
    """The rule of grouping with the highest ARI on validation; None where no groups were made."""
    found = {rule: metrics["val"].get(f"ari_{rule}") for rule in RULES if f"ari_{rule}" in metrics["test"]}
    return max(found, key=lambda rule: or_worst(found[rule]), default=None)


def leaderboard_csv(runs: Iterable[Run]) -> str:
    """Every metric of every run at full precision, a line each, with its interval where test has one."""
    rows = (
        (run.cell.data, run.cell.model, run.cell.seed, split, metric, repr(value), *_ends_of(run, split, metric))
        for run in sorted(runs, key=lambda run: run.cell)
        for split in sorted(run.metrics)
        for metric, value in sorted(run.metrics[split].items())
    )
    return csv_text(("data", "model", "seed", "split", "metric", "value", "low", "high"), rows)


def train_and_test_columns(board: Leaderboard) -> list[tuple[str, str]]:
    """Metric and split of each column; empty where train was measured of no model."""
    names = {name for row in board.rows for name in row.metrics.get("train", {}) if describe(name).stem == "auroc"}
    return [(name, split) for name in board.metrics if name in names for split in ("train", "test")]


def _ends_of(run: Run, split: str, metric: str) -> tuple[str, str]:
    low, high = map(repr, run.intervals[metric]) if split == "test" and metric in run.intervals else ("", "")
    return low, high


def _row(model: str, runs: list[Run]) -> Row:
    splits = {
        split: {
            name: _estimate([run.metrics[split][name] for run in runs], _ends(runs, name) if split == "test" else None)
            for name in runs[0].metrics[split]
            if all(name in run.metrics[split] for run in runs)
        }
        for split in runs[0].metrics
        if all(split in run.metrics for run in runs)
    }
    if rule := best_rule(splits):
        for metrics in splits.values():
            if f"ari_{rule}" in metrics:
                metrics["ari"] = metrics[f"ari_{rule}"]
    return Row(
        model=model,
        runs=tuple(runs),
        metrics=splits,
        epochs=statistics.fmean(run.epochs for run in runs),
        train_seconds=_mean_of_known([run.train_seconds for run in runs]),
    )


def _estimate(values: list[float], ends: tuple[float, float] | None) -> Estimate:
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Estimate(statistics.fmean(values), deviation, ends)


def _ends(runs: list[Run], metric: str) -> tuple[float, float] | None:
    found = [run.intervals[metric] for run in runs if metric in run.intervals]
    if len(found) < len(runs):
        return None
    return statistics.fmean(low for low, _ in found), statistics.fmean(high for _, high in found)


def _mean_of_known(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def or_worst(estimate: Estimate | None) -> float:
    """The mean, to sort by: less than any other where it is missing or undefined."""
    return -math.inf if estimate is None or math.isnan(estimate.mean) else estimate.mean
