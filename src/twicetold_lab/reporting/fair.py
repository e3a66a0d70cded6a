"""Families on the same terms: one objective, examples, selection and number of epochs for all, beside their own.

The terms are an experiment of `conf/`. The metric is the one that selected on validation, and orders the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from twicetold_lab.reporting.cost import training_seconds
from twicetold_lab.reporting.dedupe import NOTHING, DedupeTable, Shown
from twicetold_lab.reporting.glossary import describe, magnitude, number
from twicetold_lab.reporting.leaderboard import Estimate, Leaderboard, Row, or_worst, rank
from twicetold_lab.runs.records import Cell, Run, read_runs

TITLE = "On the same terms"


@dataclass(frozen=True)
class FairCell:
    """A training on terms that other families share.

    Args:
        cell: of the grid.
        family: whose encoder, features and optimizer it has.
        terms: name of the experiment that chooses the rest.
    """

    cell: Cell
    family: str
    terms: str


@dataclass(frozen=True)
class FairTable:
    """All families on one dataset and the same terms."""

    terms: str
    said: str
    """What is the same for all, in words."""
    table: DedupeTable


def fair_runs(cells: Sequence[FairCell], runs: Path) -> dict[str, list[Run]]:
    """The runs of each dataset on shared terms; empty where there are none."""
    return read_runs([fair.cell for fair in cells], runs) if cells else {}


def fair_tables(
    board: Leaderboard, cells: Sequence[FairCell], runs: Sequence[Run], seconds: Mapping[str, float]
) -> list[FairTable]:
    """A table for each of the terms.

    Args:
        board: of the same dataset, with the families' own rows.
        cells: trainings on shared terms, of any dataset.
        runs: the results of those of this dataset.
        seconds: of the stage that trained a cell, by the cell's name.
    """
    tables = []
    cells = [fair for fair in cells if fair.cell.data == board.data]
    for terms in dict.fromkeys(fair.terms for fair in cells):
        families = {fair.cell: fair.family for fair in cells if fair.terms == terms}
        same = rank(board.data, [run for run in runs if run.cell in families])
        rows = sorted(same.rows, key=lambda row: -or_worst(row.metrics["val"].get(same.primary)))
        shown = [(row, families[row.first.cell]) for row in rows]
        label = describe(same.primary).label
        columns = (
            Shown(label, "own objective, validation"),
            Shown(label, "own objective, test"),
            Shown(label, "same terms, validation"),
            Shown(label, "same terms, test"),
            Shown("Seconds", "own"),
            Shown("Seconds", "same terms"),
            Shown("Seeds", "own, same"),
            Shown("Own settings", "tuned how", None),
        )
        lines = tuple(
            (Shown(family + row.mark), _line(row, board.row_of(family), same.primary, seconds)) for row, family in shown
        )
        tables.append(FairTable(terms, _said(terms, rows, label), DedupeTable(columns, lines)))
    return tables


def _line(same: Row, own: Row | None, metric: str, seconds: Mapping[str, float]) -> tuple[Shown, ...]:
    of_own = own.metrics if own else {"val": {}, "test": {}}
    return (
        _shown(of_own["val"].get(metric)),
        _shown(of_own["test"].get(metric)),
        _shown(same.metrics["val"].get(metric)),
        _shown(same.metrics["test"].get(metric)),
        _seconds(own, seconds),
        _seconds(same, seconds),
        Shown(f"{len(own.runs) if own else NOTHING}, {len(same.runs)}", value=None),
        Shown(own.first.tuned_how or NOTHING if own else NOTHING, value=None),
    )


def _said(terms: str, rows: Sequence[Row], label: str) -> str:
    epochs = sorted({int(row.epochs) for row in rows})
    counted = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
    return (
        f"+experiment={terms}: one objective, one kind of examples and {counted} epochs for all, of which the one "
        f"with the highest {label[:1].lower() + label[1:]} on validation is kept. Features, encoder, optimizer and "
        "learning rate are those of each family's recipe. Seconds are of one core, with all that a training stage does."
    )


def _seconds(row: Row | None, seconds: Mapping[str, float]) -> Shown:
    found = training_seconds(row, seconds) if row else None
    return Shown(NOTHING) if found is None else Shown(magnitude(found), value=found)


def _shown(found: Estimate | None) -> Shown:
    if found is None:
        return Shown(NOTHING)
    spread = "" if found.deviation is None else f" ± {number(found.deviation)}"
    note = f"{number(found.interval[0])} to {number(found.interval[1])}" if found.interval else ""
    return Shown(number(found.mean) + spread, note, found.mean)
