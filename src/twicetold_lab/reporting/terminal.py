"""The leaderboards as text: with bold on a terminal, plain ASCII in a file or a pipe.

A line has at most 100 columns; further metrics are in the report.
"""

import math
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from twicetold.printable import printable
from twicetold_lab.reporting.glossary import count, describe, magnitude, number
from twicetold_lab.reporting.leaderboard import Leaderboard, Row, rank
from twicetold_lab.reporting.tables import Estimate, Section, TableCell
from twicetold_lab.runs.folder import Cell, read_runs

_WIDTH = 100
_GAP = "  "
_NOTE = "* best on validation (val); every other column is about test\n"
_BOLD, _DIM, _RESET = "\033[1m", "\033[2m", "\033[0m"
_SHORT = {"average_precision": "AP", "accuracy": "acc", "knn_accuracy": "kNN", "category": "cat"}


def leaderboard_text(cells: Sequence[Cell], runs: Path, *, terminal: bool | None = None) -> str:
    """One block per dataset, the best model on validation first and marked with a star.

    Args:
        cells: what to show.
        runs: the folder of run folders.
        terminal: whether to use bold; None for whether standard output is a terminal.

    Raises:
        FileNotFoundError: if a cell was not trained or not evaluated; says which stage to run.
    """
    styled = sys.stdout.isatty() if terminal is None else terminal
    boards = [rank(data, found) for data, found in read_runs(cells, runs).items()]
    return "\n".join([*(_block(board, styled) for board in boards), _NOTE])


def section_text(section: Section) -> str:
    """A section with its tables and parts below each other, for a terminal."""
    return "\n\n".join(_blocks(section)) + "\n"


def _blocks(section: Section) -> Iterator[str]:
    yield printable(section.title)
    yield from section.sentences
    for table in section.tables:
        heads = [table.of, *(column.text for column in table.columns)]
        yield "\n".join(aligned(heads, [[_cell_text(name), *map(_cell_text, cells)] for name, cells in table.rows]))
    yield from section.notes
    if section.facts:
        yield "\n".join(f"  {fact}" for fact in section.facts)
    for part in section.parts:
        yield from _blocks(part)


def _cell_text(cell: TableCell) -> str:
    return printable(cell.text + (f" ({cell.remark})" if cell.remark else ""))


def _block(board: Leaderboard, styled: bool) -> str:
    seconds = any(row.train_seconds is not None for row in board.rows)
    heads = ["", "test", "95 % interval", "val"]
    lines = [_leading_cells(row, board) for row in board.rows]
    for head, column in _trailing_columns(board, seconds):
        taken = sum(_width(cells) + len(_GAP) for cells in zip(heads, *lines, strict=True))
        if taken + _width([head, *column]) <= _WIDTH:
            heads.append(head)
            for cells, cell in zip(lines, column, strict=True):
                cells.append(cell)
    title = f"{printable(board.data)}: {describe(board.primary).label}"
    head, *body = aligned(heads, lines)
    if styled:
        title, head, body[0] = f"{_BOLD}{title}{_RESET}", f"{_DIM}{head}{_RESET}", f"{_BOLD}{body[0]}{_RESET}"
    notes = [line for note in board.pretraining for line in textwrap.wrap(printable(note), _WIDTH)]
    return "\n".join([title, head, *body, *notes]) + "\n"


def _leading_cells(row: Row, board: Leaderboard) -> list[str]:
    test = row.metrics["test"].get(board.primary)
    ends = test.interval if test else None
    return [
        ("* " if row is board.best else "  ") + printable(row.model) + row.mark,
        _spread(board.primary, test),
        f"{number(ends[0])}-{number(ends[1])}" if ends else "",
        _mean(board.primary, row.metrics["val"].get(board.primary)),
    ]


def _trailing_columns(board: Leaderboard, seconds: bool) -> list[tuple[str, list[str]]]:
    """Further columns, to be added while they fit: those of a dedupe first, then cost, then other metrics."""
    rows = board.rows
    shown = board.leading
    deduped = [name for name in (f"average_precision_{board.duplicates}", "ari") if name in shown]
    columns = [_metric_column(name, rows) for name in deduped]
    columns.append(("parameters", ["none" if row.first.is_baseline else count(row.first.parameters) for row in rows]))
    if seconds:
        columns.append(("train s", ["" if r.train_seconds is None else magnitude(r.train_seconds) for r in rows]))
    return columns + [_metric_column(name, rows) for name in shown if name not in deduped]


def _metric_column(name: str, rows: Sequence[Row]) -> tuple[str, list[str]]:
    return _short_name(name), [_mean(name, row.metrics["test"].get(name)) for row in rows]


def _short_name(name: str) -> str:
    for long, short in _SHORT.items():
        name = name.replace(long, short)
    return name.replace("precision_at_", "P@").replace("_", " ")


def _spread(name: str, estimate: Estimate | None) -> str:
    spread = "" if estimate is None or estimate.deviation is None else f" +-{describe(name).show(estimate.deviation)}"
    return _mean(name, estimate) + spread


def _mean(name: str, estimate: Estimate | None) -> str:
    return "-" if estimate is None or math.isnan(estimate.mean) else describe(name).show(estimate.mean)


def _width(cells: Sequence[str]) -> int:
    return max(len(cell) for cell in cells)


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, heads first; its first column begins on the left, the others end on the right."""
    widths = [_width(cells) for cells in zip(heads, *rows, strict=True)]
    return [_line(cells, widths) for cells in (heads, *rows)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return _GAP.join([first, *rest]).rstrip()
