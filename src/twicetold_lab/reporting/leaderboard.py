"""Leaderboards: one row per model, averaged over seeds, ordered by the primary metric on validation.

The order and the mark "best" come from validation; test is shown beside it and chooses nothing.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twicetold.evaluation.intervals import Interval
from twicetold.files import csv_text
from twicetold.neighbours.rules import RULES
from twicetold_lab.reporting.glossary import count, describe, ordered, split_of
from twicetold_lab.reporting.tables import MISSING, Drawn, Estimate, Metrics, Table, TableCell, estimate_cell, words
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.scoring.cost import Cost

MARK = "(p)"
"""Added to the name of a model that was pretrained on texts which may be those of the dataset."""
_SEARCH = ("retrieval_recall_at", "retrieval_mrr_at", "retrieval_ndcg_at", "index_recall_at", "index_agreement_at")


@dataclass(frozen=True)
class Row:
    """One model on one dataset."""

    model: str
    runs: tuple[RunFolder, ...]
    """By seed."""
    metrics: Metrics
    """With `ari`, that of the `best_rule`."""
    epochs: float
    train_seconds: float | None

    @property
    def cost(self) -> Cost | None:
        """The cost of the run with the smallest seed that was measured; None if none was."""
        return next((run.cost for run in self.runs if run.cost), None)

    @property
    def mark(self) -> str:
        """`MARK` if the model may have seen the dataset before, else an empty string."""
        return "" if self.first.is_clean else f" {MARK}"

    @property
    def first(self) -> RunFolder:
        """The run with the smallest seed, which is used where one run is drawn or compared."""
        return self.runs[0]

    @property
    def name(self) -> TableCell:
        """The model as the name of a row."""
        return TableCell(self.model + self.mark)


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
        marked: dict[tuple[str, bool], list[str]] = {}
        for row in self.rows:
            if sources := row.first.pretrained_on:
                marked.setdefault((" and ".join(sources), row.first.is_clean), []).append(row.model)
        return tuple(
            f"{', '.join(models)} had been pretrained on {what}. Texts of this dataset are not known to be among these."
            if is_clean
            else f"{MARK} not clean: {', '.join(models)} had been pretrained on {what}. "
            "Texts of this dataset, or texts like them, may have been among these."
            for (what, is_clean), models in marked.items()
        )

    def top(self, metric: str) -> float | None:
        """The highest test value of a metric; None if higher is not better."""
        values = [row.metrics["test"][metric].mean for row in self.rows if metric in row.metrics["test"]]
        values = [value for value in values if not math.isnan(value)]
        return max(values) if values and describe(metric).is_quality else None


def rank(data: str, runs: Sequence[RunFolder]) -> Leaderboard:
    """The leaderboard of one dataset.

    The primary metric is the one that training selected by; if no run has it, the first in reading order.
    """
    models: dict[str, list[RunFolder]] = {}
    for run in runs:
        models.setdefault(run.cell.model, []).append(run)
    rows = [_row(model, of_model) for model, of_model in models.items()]
    names = {name for run in runs for name in run.metrics["test"]}
    names |= {name for row in rows for name in row.metrics["test"]}
    metrics = ordered(names)
    primary = next((run.primary for run in runs if run.primary in names), metrics[0])
    rows.sort(key=lambda row: (-or_worst(row.metrics["val"].get(primary)), row.model))
    return Leaderboard(data, primary, (primary, *(m for m in metrics if m != primary)), tuple(rows))


def best_rule(metrics: Metrics) -> str | None:
    """The rule of grouping with the highest ARI on validation; None where no groups were made."""
    agreement = {rule: metrics["val"].get(f"ari_{rule}") for rule in RULES if f"ari_{rule}" in metrics["test"]}
    return max(agreement, key=lambda rule: or_worst(agreement[rule]), default=None)


def leaderboard_csv(runs: Iterable[RunFolder]) -> str:
    """Every metric of every run at full precision, a line each, with its interval where test has one."""
    rows = (
        (run.cell.data, run.cell.model, run.cell.seed, split, metric, repr(value), *_ends_of(run, split, metric))
        for run in sorted(runs, key=lambda run: run.cell)
        for split in sorted(run.metrics)
        for metric, value in sorted(run.metrics[split].items())
    )
    return csv_text(("data", "model", "seed", "split", "metric", "value", "low", "high"), rows)


def leaderboard_table(board: Leaderboard) -> Table:
    """The primary metric with its interval, the other leading metrics, size and settings of each model."""
    label = describe(board.primary).label
    heads = [TableCell(label, "test"), TableCell("95 % interval"), TableCell(label, "validation")]
    heads += [TableCell(describe(name).label, split_of(name)) for name in board.leading]
    heads += [TableCell("Parameters"), TableCell("Epochs"), words("Tuned")]
    rows = tuple((_name_in(board, row), tuple(_leaderboard_cells(row, board))) for row in board.rows)
    baseline = board.baseline and board.baseline.metrics["test"].get(board.primary)
    return Table(tuple(heads), rows, drawn=Drawn(1, baseline.mean if baseline else None))


def train_and_test_table(board: Leaderboard) -> Table:
    """AUROC on train beside that on test, of the models of which train was measured."""
    names = {name for row in board.rows for name in row.metrics.get("train", {}) if describe(name).stem == "auroc"}
    shown = [(name, split) for name in board.metrics if name in names for split in ("train", "test")]
    heads = tuple(TableCell(describe(name).label, split) for name, split in shown)
    measured = [row for row in board.rows if "train" in row.metrics]
    rows = ((row.name, tuple(estimate_cell(n, row.metrics[split].get(n)) for n, split in shown)) for row in measured)
    return Table(heads, tuple(rows) if shown else ())


def search_table(board: Leaderboard) -> Table:
    """The metrics of search in the whole corpus, by kind and rank."""
    by_rank = sorted(board.metrics, key=lambda name: int("0" + "".join(filter(str.isdigit, name))))
    names = [name for stem in _SEARCH for name in by_rank if describe(name).stem == stem]
    rows = tuple(
        (row.name, tuple(estimate_cell(n, row.metrics["test"].get(n), top=board.top(n)) for n in names))
        for row in board.rows
        if any(name in row.metrics["test"] for name in names)
    )
    return Table(tuple(TableCell(search_heading(name)) for name in names), rows)


def search_heading(name: str) -> str:
    """A metric of search as the head of a column."""
    return describe(name).label.removeprefix("Search ")


def _name_in(board: Leaderboard, row: Row) -> TableCell:
    """The name of a row of the leaderboard, with what to know of the model."""
    notes = [f"{len(row.runs)} seeds"] if len(row.runs) > 1 else []
    notes += ["baseline"] if row.first.is_baseline else []
    notes += [("pretrained" if row.first.is_clean else "not clean")] if row.first.pretrained_on else []
    return TableCell(row.model + row.mark, ", ".join(notes), strong=row is board.best)


def _leaderboard_cells(row: Row, board: Leaderboard) -> list[TableCell]:
    test, first = row.metrics["test"], row.first
    primary = test.get(board.primary)
    drawn = MISSING
    if primary and primary.interval and not math.isnan(primary.mean):
        drawn = TableCell("", value=primary.mean, interval=primary.interval)
    return [
        estimate_cell(board.primary, primary, top=board.top(board.primary)),
        drawn,
        estimate_cell(board.primary, row.metrics["val"].get(board.primary)),
        *(estimate_cell(name, test.get(name), top=board.top(name)) for name in board.leading),
        TableCell(count(first.parameters), value=first.parameters) if first.parameters else MISSING,
        TableCell(f"{row.epochs:g}", value=row.epochs) if row.epochs else MISSING,
        words(first.tuned_how or ""),
    ]


def _ends_of(run: RunFolder, split: str, metric: str) -> tuple[str, str]:
    low, high = map(repr, run.intervals[metric]) if split == "test" and metric in run.intervals else ("", "")
    return low, high


def _row(model: str, runs: list[RunFolder]) -> Row:
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


def _estimate(values: list[float], ends: Interval | None) -> Estimate:
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Estimate(statistics.fmean(values), deviation, ends)


def _ends(runs: list[RunFolder], metric: str) -> Interval | None:
    intervals = [run.intervals[metric] for run in runs if metric in run.intervals]
    if len(intervals) < len(runs):
        return None
    return statistics.fmean(low for low, _ in intervals), statistics.fmean(high for _, high in intervals)


def _mean_of_known(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def or_worst(estimate: Estimate | None) -> float:
    """The mean, to sort by: less than any other where it is missing or undefined."""
    return -math.inf if estimate is None or math.isnan(estimate.mean) else estimate.mean
