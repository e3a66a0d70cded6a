"""Leaderboards: one row per model, averaged over seeds, ordered by validation.

A use rests on one measure of test, in which each text (or labelled pair) counts once where such a measure is known. The
order of rows comes from validation; test is shown beside it and chooses nothing. A model is *not worse* than another
one if the whole 95 % interval of the paired difference is above minus the margin (non-inferiority).
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from twicetold.evaluation.intervals import Interval
from twicetold.files import csv_text
from twicetold_lab.evaluation import comparisons
from twicetold_lab.evaluation.comparisons import TEXT_RANKING, PairedDifference, compare, decide_measure
from twicetold_lab.reporting.glossary import describe, ordered
from twicetold_lab.reporting.tables import MISSING, Estimate, Metrics, TableCell
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.scoring.cost import Cost

DEFAULT = "default"
"""Model of the dedupe of a file without a model of one's own."""
AFTER = {"after_20": "20 answers", "after_50": "50 answers", "calibrated": "calibrated"}
"""Ends of the names of its measures of groups (`b3_after_20`) -> what was known by then."""
WITHOUT_DEDUPE = ("quora_wang",)
"""Datasets whose pairs were drawn so that most duplicates have no label, too many for a measure of a dedupe."""
DEDUPE, SEARCH, DECIDE = "Dedupe", "Search", "Decide about a pair"


@dataclass(frozen=True)
class Row:
    """One model on one dataset."""

    model: str
    runs: tuple[RunFolder, ...]
    """By seed."""
    metrics: Metrics
    after: str = ""
    """Of `AFTER`, for the row of the default with answers or labels; its groups alone are measured."""

    @property
    def first(self) -> RunFolder:
        """The run with the smallest seed, which is used where one run is drawn or compared."""
        return self.runs[0]

    @property
    def cost(self) -> Cost | None:
        """The cost of the run with the smallest seed that was measured; None if none was."""
        return next((run.cost for run in self.runs if run.cost), None)

    @property
    def texts_per_second(self) -> float | None:
        """Texts a second, many at once; None of a model that scores pairs alone, and where it was not measured."""
        return self.cost.texts_per_second_256 if self.cost else None

    @property
    def name(self) -> TableCell:
        """The model as the name of a row."""
        known = f"{self.model}, {AFTER[self.after]}" if self.after else self.model
        return TableCell(known, f"{len(self.runs)} seeds" if len(self.runs) > 1 else "")

    @property
    def with_answers(self) -> "list[Row]":
        """The rows of the default with answers and labels, as far as they were measured."""
        test = self.metrics["test"] if self.model == DEFAULT else {}
        return [replace(self, after=after) for after in AFTER if f"b3_{after}" in test]

    def key(self, measure: str) -> str:
        """Return the name of a measure in the files of the runs."""
        return measure.replace("_average", f"_{self.after}") if self.after else measure

    def value(self, measure: str, split: str = "test") -> Estimate | None:
        """Return a measure; None where it is missing."""
        known = not self.after or measure.endswith("_average")
        return self.metrics.get(split, {}).get(self.key(measure)) if known else None

    def compared(self, other: "Row", measure: str) -> PairedDifference | None:
        """Return this model minus another one on the same units of test; None where units were not kept.

        Raises:
            ValueError: if the two were evaluated on different units.
        """
        kept = [[run for run in row.runs if row.key(measure) in run.units] for row in (self, other)]
        if (
            [*map(len, kept)] != [len(self.runs), len(other.runs)]
            or not self.value(measure)
            or not other.value(measure)
        ):
            return None
        mine, its = (row.key(measure) for row in (self, other))
        one, another = ([run.metrics["test"][key] for run in runs] for key, runs in zip((mine, its), kept, strict=True))
        units = [[run.units[key] for run in runs] for key, runs in zip((mine, its), kept, strict=True)]
        try:
            return compare(*units, of_one=one, of_other=another)
        except ValueError as error:
            names = f"{self.first.path.name} and {other.first.path.name}"
            raise ValueError(f"{names}, {measure}: {error}") from error

    def difference(self, other: "Row", measure: str) -> TableCell:
        """Return the same as a cell; without an interval where units were not kept, or all are one."""
        mine, its = self.value(measure), other.value(measure)
        if self is other or not mine or not its:
            return MISSING
        test, value = self.compared(other, measure), mine.mean - its.mean
        ends = (test.low, test.high) if test and math.isfinite(test.low) else None
        order = f"order right by {test.order:.0%}" if test and ends and test.order is not None else ""
        return TableCell(f"{value:+.3f}", order, value, ends, is_difference=True)

    def is_not_worse(self, other: "Row", measure: str) -> bool:
        """Return true if it is known to be lower than another one by the margin at most."""
        test = None if self is other else self.compared(other, measure)
        return self is other or (test is not None and test.not_worse())


@dataclass(frozen=True)
class Leaderboard:
    """All models on one dataset, the best on validation first."""

    data: str
    primary: str
    metrics: tuple[str, ...]
    """Every metric that some run has, in reading order, the primary first."""
    rows: tuple[Row, ...]
    same: float | None = None
    """Share of labelled test pairs of duplicates; None if it is not known."""

    @cached_property
    def duplicates(self) -> str | None:
        """The group whose texts are duplicates of each other, such as `story`: it is no class. None if unknown."""
        by_text, pairs = (
            [name.removeprefix(stem) for name in self.metrics if name.startswith(stem)]
            for stem in (TEXT_RANKING, "average_precision_")
        )
        return next((group for group in (*by_text, *pairs) if f"knn_accuracy_{group}" not in self.metrics), None)

    def measure_of(self, use: str) -> str | None:
        """Return the measure that a use rests on; None if the use was not measured."""
        pairs = f"average_precision_{self.duplicates}"
        f1 = [name for name in self.metrics if describe(name).stem == "f1"]
        named = {
            DEDUPE: (f"{TEXT_RANKING}{self.duplicates}", "b3_average", pairs),
            SEARCH: (comparisons.SEARCH,),
            DECIDE: (decide_measure(1.0 if self.same is None else self.same), "pearson", *f1, self.primary),
        }[use]
        known = (name for name in named if name in self.metrics)
        return None if use == DEDUPE and self.data in WITHOUT_DEDUPE else next(known, None)

    @cached_property
    def uses(self) -> dict[str, str]:
        """Use -> measure, of those that were measured; no measure stands twice."""
        found = {use: measure for use in (DEDUPE, DECIDE, SEARCH) if (measure := self.measure_of(use))}
        return {
            use: measure for use, measure in found.items() if measure not in [*found.values()][: [*found].index(use)]
        }

    def order_by(self, measure: str) -> str:
        """The measure of validation that orders rows: the measure itself, or the nearest that validation has."""
        pairs = f"average_precision_{self.duplicates}"
        nearest = (measure, f"{TEXT_RANKING}{self.duplicates}", pairs, self.primary)
        rows = [row for row in self.rows if row.value(measure)]
        return next((name for name in nearest if any(row.value(name, "val") for row in rows)), measure)

    def ranked(self, measure: str) -> list[Row]:
        """The rows that have a measure, the best on validation first."""
        rows = [row for row in self.rows if (value := row.value(measure)) and not math.isnan(value.mean)]
        by = self.order_by(measure)
        return sorted(rows, key=lambda row: -or_worst(row.value(by, "val")))

    def top(self, metric: str) -> float | None:
        """Return the highest test value of a metric; None if higher is not better."""
        values = [value.mean for row in self.rows if (value := row.value(metric)) and not math.isnan(value.mean)]
        return max(values) if values and describe(metric).is_quality else None


def rank(data: str, runs: Sequence[RunFolder], *, same: float | None = None) -> Leaderboard:
    """Return the leaderboard of one dataset.

    The primary metric is the one that training selected by; if no run has it, the first in reading order.
    """
    models: dict[str, list[RunFolder]] = {}
    for run in runs:
        models.setdefault(run.cell.model, []).append(run)
    rows = [_row(model, of_model) for model, of_model in models.items()]
    names = {name for run in runs for name in run.metrics["test"]}
    metrics = ordered(names)
    primary = next((run.primary for run in runs if run.primary in names), metrics[0])
    rows.sort(key=lambda row: (-or_worst(row.value(primary, "val")), row.model))
    return Leaderboard(data, primary, (primary, *(m for m in metrics if m != primary)), tuple(rows), same)


def cheapest(rows: Sequence[Row]) -> Row:
    """The fastest if the speed of each was measured on one processor, else the one with the fewest parameters."""
    speeds = [row.texts_per_second for row in rows]
    known = [speed for speed in speeds if speed is not None]
    if len(known) == len(rows) and len({row.cost.processor for row in rows if row.cost}) == 1:
        return rows[speeds.index(max(known))]
    return min(rows, key=lambda row: row.first.parameters)


def leaderboard_csv(runs: Iterable[RunFolder]) -> str:
    """Return every metric of every run at full precision, a line each, with its interval where test has one."""
    rows = (
        (run.cell.data, run.cell.model, run.cell.seed, split, metric, repr(value), *_ends_of(run, split, metric))
        for run in sorted(runs, key=lambda run: run.cell)
        for split in sorted(run.metrics)
        for metric, value in sorted(run.metrics[split].items())
    )
    return csv_text(("data", "model", "seed", "split", "metric", "value", "low", "high"), rows)


def or_worst(estimate: Estimate | None) -> float:
    """Return the mean, to sort by: less than any other where it is missing or undefined."""
    return -math.inf if estimate is None or math.isnan(estimate.mean) else estimate.mean


def _ends_of(run: RunFolder, split: str, metric: str) -> tuple[str, str]:
    low, high = map(repr, run.intervals[metric]) if split == "test" and metric in run.intervals else ("", "")
    return low, high


def _row(model: str, runs: list[RunFolder]) -> Row:
    metrics = {
        split: {
            name: _estimate([run.metrics[split][name] for run in runs], _ends(runs, name) if split == "test" else None)
            for name in runs[0].metrics[split]
            if all(name in run.metrics[split] for run in runs)
        }
        for split in runs[0].metrics
        if all(split in run.metrics for run in runs)
    }
    return Row(model, tuple(runs), metrics)


def _estimate(values: list[float], ends: Interval | None) -> Estimate:
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Estimate(statistics.fmean(values), deviation, ends)


def _ends(runs: list[RunFolder], metric: str) -> Interval | None:
    intervals = [run.intervals[metric] for run in runs if metric in run.intervals]
    if len(intervals) < len(runs):
        return None
    return statistics.fmean(low for low, _ in intervals), statistics.fmean(high for _, high in intervals)
