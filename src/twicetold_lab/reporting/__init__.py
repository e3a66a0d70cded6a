"""The report on all runs: HTML pages, CSV tables, RESULTS.md with a page for each dataset, and text for a terminal.

It reads the files of the other stages (names in `layout`). The same files give the same bytes, except for observed
seconds, which the pages show.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from twicetold import layout
from twicetold.files import csv_text, write_text
from twicetold.printable import printable
from twicetold_lab.reporting.answers import ANY, HAVE, SPEEDS, measure_of
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.html import rendered
from twicetold_lab.reporting.leaderboard import Leaderboard, leaderboard_csv, rank
from twicetold_lab.reporting.markdown import page_of, results_of
from twicetold_lab.reporting.report import Grid, own_runs, read_report
from twicetold_lab.reporting.sources import sources_page
from twicetold_lab.reporting.tables import Section, Table, TableCell, estimate_cell
from twicetold_lab.reporting.uses import comparison
from twicetold_lab.runs.folder import Cell, read_runs
from twicetold_lab.runs.records import Provenance, has_card, read_card, read_provenance, write_card

__all__ = ["Cell", "Grid", "build", "leaderboard_text", "markdown", "sources_page", "write_cards"]
NUMBERS = "numbers.csv"
COLUMNS = ("data", "table", "model", "about", "measure", "value", "low", "high")
FOOTER = (
    "The numbers are in files beside this page, at full precision: metrics of all runs and their intervals in "
    f"{layout.LEADERBOARD}, those of the tables in {NUMBERS}. docs/explanation/measures.md says what they mean."
)


def build(grid: Grid, *, runs: Path, processed: Path, target: Path, cards: Path | None = None) -> None:
    """Write the HTML pages, and beside them the numbers on them.

    Args:
        grid: what to report.
        runs: the folder of run folders.
        processed: the folder of corpora.
        target: where `index.html`, a page for each dataset, `leaderboard.csv` and `numbers.csv` go.
        cards: the folder of dataset cards, which describe a dataset whose corpus is not there.

    Raises:
        ValueError: if there are no cells, or models of one dataset were evaluated on different units or pairs.
        FileNotFoundError: if a stage has not been run; says which.
    """
    abouts = {name: _described(name, processed, cards) for name in {cell.data: None for cell in grid.cells}}
    report = read_report(grid, runs=runs, abouts=abouts)
    firsts = {(a.kind.key, have): a.first for a in report.answers for have, speed in a.cases if speed == ANY}
    kinds = {answer.kind.key: answer.kind for answer in report.answers}
    choices = {"kinds": [*kinds.values()], "haves": HAVE, "speeds": SPEEDS, "firsts": firsts}
    shown = {"answers": report.answers, "below": report.below, "lead": report.lead, "footer": FOOTER}
    further = {"datasets": [*report.pages], "footer": FOOTER}
    pages = {
        f"{data}.html": rendered("dataset.html.j2", {"page": page, **further}) for data, page in report.pages.items()
    }
    pages[layout.REPORT] = rendered("front.html.j2", choices | shown)
    first = [*(answer.section for answer in report.answers), *report.below]
    pages |= {layout.LEADERBOARD: leaderboard_csv(report.runs), NUMBERS: _numbers_csv([*first, *report.pages.values()])}
    for name, text in pages.items():
        write_text(target / name, text)


def markdown(grid: Grid, *, runs: Path, cards: Path) -> dict[str, str]:
    """Return RESULTS.md and a page for each dataset, made from files that are in Git (metrics, summaries, cards).

    Args:
        grid: what to report.
        runs: the folder of run folders.
        cards: the folder of the cards of datasets.

    Returns:
        Dataset -> its page; under an empty name, the tables of RESULTS.md.

    Raises:
        FileNotFoundError: if a file is missing; says which stage writes it.
        ValueError: if models of one dataset were evaluated on different units.
    """
    abouts = {data: read_card(data, cards) for data in dict.fromkeys(cell.data for cell in grid.cells)}
    report = read_report(grid, runs=runs, abouts=abouts)
    return {"": results_of(report)} | {data: page_of(page) for data, page in report.pages.items()}


def leaderboard_text(grid: Grid, runs: Path) -> str:
    """Return all models of each dataset, the best on validation first, for a terminal.

    Raises:
        FileNotFoundError: if a cell was not trained or not evaluated; says which stage to run.
    """
    boards = [rank(data, own_runs(of_data, grid)) for data, of_data in read_runs(grid.cells, runs).items()]
    return "\n".join(map(_board_text, boards))


def write_cards(names: Iterable[str], *, processed: Path, cards: Path) -> None:
    """Write the description of each dataset that `markdown` reads, `<name>.json`, to `cards`.

    A dataset that is not there keeps the description that is, so that a fresh clone can write RESULTS.md anew.

    Raises:
        FileNotFoundError: if a stage has not been run and there is no description yet; says which.
    """
    for name in names:
        write_card(_described(name, processed, cards), cards)


def _board_text(board: Leaderboard) -> str:
    measure = measure_of(board)
    rows, by = board.ranked(measure), board.order_by(measure)
    table = comparison(rows, measure, board)
    order = [estimate_cell(by, row.value(by, "val")) for row in rows]
    lines = tuple((name, (value, *cells)) for value, (name, cells) in zip(order, table.rows, strict=True))
    title = f"{board.data}: ordered by {describe(by).label} on validation; the other columns are of test"
    columns = (TableCell("Validation"), *table.columns)
    return _section_text(Section(title, tables=[replace(table, columns=columns, rows=lines)]))


def _described(data: str, processed: Path, cards: Path | None) -> Provenance:
    if cards and not (processed / data).is_dir() and has_card(data, cards):
        return read_card(data, cards)
    return read_provenance(data, processed)


def _section_text(section: Section) -> str:
    """Return the title and the tables of a section below each other, for a terminal."""
    return "\n\n".join([printable(section.title), *map(_aligned, section.tables)]) + "\n"


def _numbers_csv(sections: Sequence[Section]) -> str:
    """A line for each number: dataset, section, name of the row and its note, column, value, ends of its interval."""
    return csv_text(COLUMNS, dict.fromkeys(line for section in sections for line in _lines(section, "")))


def _aligned(table: Table) -> str:
    """Return a table whose first column begins on the left; the others end on the right."""
    heads = [table.of, *(column.text for column in table.columns)]
    rows = [heads, *([_cell_text(cell) for cell in (name, *cells)] for name, cells in table.rows)]
    first, *others = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    lines = ("  ".join([name.ljust(first), *map(str.rjust, cells, others)]) for name, *cells in rows)
    return "\n".join(map(str.rstrip, lines))


def _cell_text(cell: TableCell) -> str:
    return printable(cell.text + (f" ({cell.remark})" if cell.remark else ""))


def _lines(section: Section, data: str) -> Iterator[tuple[str, ...]]:
    data = section.data or data
    for table in section.tables:
        for name, cells in table.rows:
            for column, cell in zip(table.columns, cells, strict=True):
                if cell.value is not None and not math.isnan(cell.value):
                    measure = ", ".join(filter(None, (column.text, column.note)))
                    ends = map(repr, map(float, cell.interval)) if cell.interval else ("", "")
                    yield data, section.title, name.text, name.note, measure, repr(cell.value), *ends
    for part in section.parts:
        yield from _lines(part, data)
