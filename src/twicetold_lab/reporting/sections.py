"""Sections of one dataset, each a function over its leaderboard or its run folders; None where nothing was measured."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from twicetold_lab.reporting.glossary import count, describe, number, share, size
from twicetold_lab.reporting.leaderboard import Leaderboard, Row
from twicetold_lab.reporting.tables import (
    MISSING,
    Section,
    Table,
    TableCell,
    amount,
    command_cell,
    measured_cell,
    words,
)
from twicetold_lab.runs.checks import CLEAR, NOT_CHECKED, check
from twicetold_lab.runs.folder import Cell, RunFolder
from twicetold_lab.runs.records import Provenance, read_object
from twicetold_lab.scoring.cost import MANY

CONTRAST = 0.05
"""Least difference between shares in a column of a study."""
COSTS = (
    "Size is that of the model folder. Memory and times were observed: a second measurement gives other ones, and "
    "those of two processors cannot be compared. Texts go from strings to vectors, and pairs from strings to a score, "
    "on one thread. Training is the whole stage."
)
ELSEWHERE = (
    "Models that learnt, or have their threshold, from other data. A dash: the model has no vector for each text, or "
    "gives no verdict."
)
CHECKS = (
    "What the figures do not say by themselves, for each model's first seed. An error: a figure does not hold for new "
    "texts. A warning: it holds under a condition. A note: a comparison is uneven."
)


def cost_section(board: Leaderboard, seconds: Mapping[str, float], commands: Mapping[Cell, str]) -> Section:
    """Size, memory, speed and training of each model, its run folders and the command that trains the first.

    Args:
        board: all models.
        seconds: that a cell's training took, by the cell's name; the mean over seeds is shown.
        commands: that train cells.
    """
    columns = (
        TableCell("Size", "as trained"),
        TableCell("Size", "8 bits"),
        TableCell("Memory", "peak"),
        TableCell("Texts a second", f"{MANY} at once"),
        TableCell("Texts a second", "one by one"),
        TableCell("Milliseconds a pair", "median"),
        TableCell("Parameters"),
        TableCell("Epochs"),
        TableCell("Training", "seconds"),
        words("Tuned"),
        words("Runs", "folders in runs/"),
        words("Command", "of the first"),
    )
    lines = []
    for row in board.rows:
        cost, first = row.cost, row.first
        sizes = (cost.model_bytes, cost.model_bytes_8_bits, cost.peak_memory_bytes) if cost else (None,) * 3
        speeds = (cost.texts_per_second_256, cost.texts_per_second_1, cost.pair_milliseconds_p50) if cost else ()
        cells = [*(amount(each, size) for each in sizes), *(amount(each) for each in speeds or (None,) * 3)]
        cells += [amount(first.parameters or None, count), amount(first.epochs or None, count)]
        cells += [amount(training_seconds(row, seconds)), words(first.tuned_how or "")]
        cells += [words(", ".join(run.cell.name for run in row.runs)), command_cell(commands.get(first.cell, ""))]
        lines.append((row.name, tuple(cells)))
    processors = dict.fromkeys(row.cost.processor for row in board.rows if row.cost)
    notes = [f"Observed on {'; '.join(processors)}."] if processors else ["Size and speed are not measured yet."]
    table = Table(columns, tuple(lines)).known
    return Section("Cost and training", [COSTS], [table], notes=notes, is_folded=True)


def training_seconds(row: Row, seconds: Mapping[str, float]) -> float | None:
    """Seconds of training, averaged over those seeds of which they are known."""
    known = [seconds[run.cell.name] for run in row.runs if run.cell.name in seconds]
    return sum(known) / len(known) if known else None


def cross_domain_section(data: str, runs: Sequence[RunFolder]) -> Section | None:
    """Models that learnt on other data, on test of this dataset."""
    used = [run for run in runs if run.cell.data != data and data in run.cross_domain]
    measured = dict.fromkeys(name for run in used for name in run.cross_domain[data].metrics)
    stems = ("average_precision", "pearson", "accuracy", "f1")
    names = [name for stem in stems for name in measured if describe(name).stem == stem]
    lines = []
    for run in used:
        results = run.cross_domain[data]
        cells = [measured_cell(results.metrics.get(name), results.intervals.get(name)) for name in names]
        source = "threshold alone" if run.is_untrained else ""
        lines.append((TableCell(run.cell.model), (words(run.cell.data, source), *cells)))
    table = Table((words("Learnt on"), *(TableCell(describe(name).label) for name in names)), tuple(lines))
    return Section("Learnt on other data", [ELSEWHERE], [table], is_folded=True) if lines else None


def study_sections(runs: Path, data: str) -> Iterator[Section]:
    """Tables of this dataset in the files `study-<name>.json` of the folder of runs.

    Raises:
        ValueError: if a file is no study.
    """
    forms = {"number": number, "difference": lambda value: f"{value:+.3f}", "count": count, "share": share}
    for file in sorted(runs.glob("study-*.json")):
        about = read_object(file)
        try:
            for table in (each for each in about["tables"] if each["data"] == data):
                lines = tuple(
                    (TableCell(*name), tuple(_study_cell(forms, **cell) for cell in cells))
                    for name, cells in table["rows"]
                )
                shown = Table(tuple(TableCell(*head) for head in table["columns"]), lines, table["of"])
                title = ": ".join(dict.fromkeys((about["title"], table["title"].removeprefix(f"{about['title']}: "))))
                yield Section(title, about["how_to_read"], [_contrasting(shown)], is_folded=True)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{file} is no study: expected a title, how_to_read and tables ({error!r})") from None


def _contrasting(table: Table) -> Table:
    """The columns but those of shares in which no two rows differ by `CONTRAST`."""
    keep = []
    for place in range(len(table.columns)):
        cells = [cells[place] for _, cells in table.rows]
        values = [cell.value for cell in cells if cell.value is not None and not math.isnan(cell.value)]
        shares = all(cell.text.endswith("%") for cell in cells)
        if not shares or not values or max(values) - min(values) >= CONTRAST:
            keep.append(place)
    return table.with_columns(keep)


def _study_cell(
    forms: Mapping[str, Any],
    *,
    value: float | None = None,
    form: str = "number",
    deviation: float | None = None,
    interval: Sequence[float] | None = None,
) -> TableCell:
    if value is None:
        return MISSING
    note = "" if deviation is None else f"± {number(deviation)}"
    return TableCell(forms[form](value), note, value, (interval[0], interval[1]) if interval else None)


def checks_section(board: Leaderboard, about: Provenance) -> Section:
    """The findings of the numbered checks, each with its models."""
    findings: dict[str, list[str]] = {}
    for row in board.rows:
        for outcome in check(replace(row.first, audit=about.audit)):
            if outcome.state not in (CLEAR, NOT_CHECKED):
                findings.setdefault(outcome.line, []).append(row.model)
    facts = [f"{line} ({', '.join(models)})" for line, models in sorted(findings.items())]
    return Section("Checks", [CHECKS], facts=facts or ["No check found anything."], is_folded=True)


def glossary_section(board: Leaderboard) -> Section:
    """The metrics of a leaderboard."""
    entries = dict.fromkeys(describe(name).entry for name in board.metrics)
    facts = [(metric.label, metric.meaning) for metric in map(describe, entries) if metric.meaning]
    return Section("Glossary", facts=facts, is_folded=True)
