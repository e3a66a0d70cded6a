"""The report on all runs: CSV tables, an HTML page, RESULTS.md and text for a terminal.

It reads the files of the other stages (names in `layout`). The same files give the same bytes, except for observed
seconds, which the page shows.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from twicetold import layout
from twicetold.files import write_text
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.reporting.errors import Judged, write_errors
from twicetold_lab.reporting.grid import ControlledCell, Grid
from twicetold_lab.reporting.html import page
from twicetold_lab.reporting.leaderboard import leaderboard_csv
from twicetold_lab.reporting.markdown import rendered
from twicetold_lab.reporting.near_equal import count_near_equal
from twicetold_lab.reporting.numbers import FILE, numbers_csv
from twicetold_lab.reporting.sections import read_report
from twicetold_lab.reporting.sources import sources_page
from twicetold_lab.reporting.terminal import leaderboard_text
from twicetold_lab.runs.folder import Cell
from twicetold_lab.runs.records import Provenance, has_card, read_card, read_provenance, write_card

__all__ = [
    "Cell",
    "ControlledCell",
    "Grid",
    "build",
    "leaderboard_text",
    "markdown",
    "sources_page",
    "write_cards",
]
FOOTER = (
    "The numbers are in files beside this page, at full precision: metrics of all runs and their intervals in "
    f"{layout.LEADERBOARD}, those of the tables of this page in {FILE}."
)


def build(grid: Grid, *, runs: Path, processed: Path, raw: Path, target: Path, cards: Path | None = None) -> None:
    """Write the HTML report, and beside it the numbers on it.

    Args:
        grid: what to report.
        runs: the folder of run folders.
        processed: the folder of corpora.
        raw: the folder of raw folders.
        target: where `index.html` goes, and beside it `leaderboard.csv`, `numbers.csv` and, where the texts are there,
            `errors.parquet`.
        cards: the folder of dataset cards, which describe a dataset whose corpus is not there.

    Raises:
        ValueError: if there are no cells, or models of one dataset were evaluated on different units or pairs.
        FileNotFoundError: if a stage has not been run; says which.
    """
    names = dict.fromkeys(cell.data for cell in grid.cells)
    abouts = {name: _described(name, processed=processed, raw=raw, cards=cards) for name in names}
    report = read_report(grid, runs=runs, abouts=abouts, processed=processed)
    number = sum(len(row.runs) for each in report.datasets for row in each.board.rows)
    lead = (
        f"{_many(len(report.models), 'model')} on {_many(len(report.datasets), 'dataset')}, {_many(number, 'run')} in "
        "all. Training, thresholds and the best model were chosen on validation; the numbers below are of test."
    )
    html = page(report.sections, lead=lead, datasets=list(names), models=report.models, footer=FOOTER)
    write_text(target / layout.LEADERBOARD, leaderboard_csv(report.runs))
    write_text(target / layout.REPORT, html)
    write_text(target / FILE, numbers_csv(report.sections))
    write_errors(
        {each.about.name: each.mistakes for each in report.datasets if isinstance(each.mistakes, Judged)}, target
    )


def markdown(grid: Grid, *, runs: Path, cards: Path, resplit: Collection[str] = ()) -> str:
    """The report for RESULTS.md, made from files that are in Git (metrics, summaries, cards).

    Args:
        grid: what to report.
        runs: the folder of run folders.
        cards: the folder of the cards of datasets.
        resplit: datasets that are split otherwise since their runs were made; their sections say so.

    Raises:
        FileNotFoundError: if a file is missing; says which stage writes it.
        ValueError: if models of one dataset were evaluated on different units.
    """
    abouts = {data: read_card(data, cards) for data in dict.fromkeys(cell.data for cell in grid.cells)}
    return rendered(read_report(grid, runs=runs, abouts=abouts, resplit=resplit, observed=False).sections)


def write_cards(names: Iterable[str], *, processed: Path, raw: Path, cards: Path) -> None:
    """Write the description of each dataset that `markdown` reads, `<name>.json`, to `cards`.

    A dataset that is not there keeps the description that is, so that a fresh clone can write RESULTS.md anew.

    Raises:
        FileNotFoundError: if a stage has not been run and there is no description yet; says which.
    """
    for name in names:
        write_card(_described(name, processed=processed, raw=raw, cards=cards), cards)


def _described(data: str, *, processed: Path, raw: Path, cards: Path | None = None) -> Provenance:
    if cards and not (processed / data).is_dir() and has_card(data, cards):
        return read_card(data, cards)
    about = read_provenance(data, processed=processed, raw=raw)
    if not (processed / data / layout.TEXTS).is_file():
        return about
    return replace(about, card={**about.card, **count_near_equal(Corpus.load(processed / data))})


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
