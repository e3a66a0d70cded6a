"""Families on the same terms: one objective, examples, selection and number of epochs for all, beside their own.

The terms are an experiment of `conf/`. The metric is the one that selected on validation, and orders the rows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from twicetold_lab.reporting.cost import amount, training_seconds
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.grid import ControlledCell
from twicetold_lab.reporting.leaderboard import Leaderboard, Row, or_worst, rank
from twicetold_lab.reporting.tables import NOTHING, Section, Table, TableCell, estimate_cell, words
from twicetold_lab.runs.folder import RunFolder, read_runs

TITLE = "On the same terms"


def controlled_runs(cells: Sequence[ControlledCell], runs: Path) -> dict[str, list[RunFolder]]:
    """The runs of each dataset on shared terms; empty where there are none."""
    return read_runs([each.cell for each in cells], runs) if cells else {}


def controlled_sections(
    board: Leaderboard, cells: Sequence[ControlledCell], runs: Sequence[RunFolder], seconds: Mapping[str, float]
) -> list[Section]:
    """A section for each of the terms.

    Args:
        board: of the same dataset, with the families' own rows.
        cells: trainings on shared terms, of any dataset.
        runs: the results of those of this dataset.
        seconds: of the stage that trained a cell, by the cell's name.
    """
    cells = [each for each in cells if each.cell.data == board.data]
    sections = []
    for terms in dict.fromkeys(each.terms for each in cells):
        families = {each.cell: each.family for each in cells if each.terms == terms}
        same = rank(board.data, [run for run in runs if run.cell in families])
        rows = sorted(same.rows, key=lambda row: -or_worst(row.metrics["val"].get(same.primary)))
        label = describe(same.primary).label
        lines = []
        for row in rows:
            family = families[row.first.cell]
            lines.append((TableCell(family + row.mark), _cells(row, board.row_of(family), same.primary, seconds)))
        table = Table(_columns(label), tuple(lines))
        sections.append(Section(f"{TITLE}: {terms}", [_terms_in_words(terms, rows, label)], tables=[table]))
    return sections


def _columns(label: str) -> tuple[TableCell, ...]:
    whose = ("own objective, validation", "own objective, test", "same terms, validation", "same terms, test")
    return (
        *(TableCell(label, each) for each in whose),
        TableCell("Seconds", "own"),
        TableCell("Seconds", "same terms"),
        words("Seeds", "own, same"),
        words("Own settings", "tuned how"),
    )


def _cells(same: Row, own: Row | None, metric: str, seconds: Mapping[str, float]) -> tuple[TableCell, ...]:
    both = (own.metrics if own else {"val": {}, "test": {}}, same.metrics)
    estimates = (of[split].get(metric) for of in both for split in ("val", "test"))
    return (
        *(estimate_cell(metric, found, with_interval=True) for found in estimates),
        amount(training_seconds(own, seconds) if own else None),
        amount(training_seconds(same, seconds)),
        words(f"{len(own.runs) if own else NOTHING}, {len(same.runs)}"),
        words(own.first.tuned_how or "" if own else ""),
    )


def _terms_in_words(terms: str, rows: Sequence[Row], label: str) -> str:
    epochs = sorted({int(row.epochs) for row in rows})
    counted = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
    return (
        f"+experiment={terms}: one objective, one kind of examples and {counted} epochs for all, of which the one "
        f"with the highest {label[:1].lower() + label[1:]} on validation is kept. Features, encoder, optimizer and "
        "learning rate are those of each family's recipe. Seconds are of one core, with all that a training stage does."
    )
