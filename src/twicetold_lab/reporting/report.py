"""The report as data: the first page, with an answer for each case, and a page of sections for each dataset."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from twicetold_lab.reporting import provenance, sections, uses
from twicetold_lab.reporting.answers import (
    HOW_TO_READ,
    SEEDS,
    Answer,
    answers_of,
    kinds_of,
    measure_of,
    pretraining_section,
)
from twicetold_lab.reporting.glossary import describe, many
from twicetold_lab.reporting.leaderboard import Leaderboard, rank
from twicetold_lab.reporting.tables import Section, Table, TableCell, amount, estimate_cell, words
from twicetold_lab.runs.folder import Cell, RunFolder, read_cross_domain, read_runs
from twicetold_lab.runs.records import Provenance

SHARE = "share_of_duplicates"
"""On the card of labelled pairs."""


@dataclass(frozen=True)
class Grid:
    """The cells to report.

    Args:
        cells: rows that have run; datasets are shown in order of first appearance.
        commands: that train cells; where there is none, no command is shown.
        terms: cells whose objective, examples and epochs other families share -> name of the experiment.
        cross_domain: cells that were evaluated on other data as well.
        seconds: that a cell's training took, by the cell's name.
        not_run: names of cells that have not run.
    """

    cells: Sequence[Cell] = ()
    commands: Mapping[Cell, str] = field(default_factory=dict)
    terms: Mapping[Cell, str] = field(default_factory=dict)
    cross_domain: Sequence[Cell] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    not_run: Collection[str] = ()


@dataclass(frozen=True)
class Report:
    """A report as data.

    Args:
        lead: a sentence on all of it.
        answers: of the first page, in the order of kinds.
        below: sections below the answers.
        pages: dataset -> its page.
        runs: that the numbers are of.
    """

    lead: str
    answers: Sequence[Answer]
    below: Sequence[Section]
    pages: Mapping[str, Section]
    runs: Sequence[RunFolder]


def read_report(grid: Grid, *, runs: Path, abouts: Mapping[str, Provenance]) -> Report:
    """Read run folders and make a report of them.

    Args:
        grid: what to report.
        runs: the folder of run folders.
        abouts: descriptions of the datasets.

    Raises:
        FileNotFoundError: if a file is missing; says which stage writes it.
        ValueError: if there are no cells, or models of one dataset were evaluated on different units.
    """
    by_data = read_runs(grid.cells, runs)
    everything = [run for each in by_data.values() for run in each]
    shares = {data: about.card.get("splits", {}).get("test", {}).get(SHARE) for data, about in abouts.items()}
    boards = {data: rank(data, own_runs(of_data, grid), same=shares.get(data)) for data, of_data in by_data.items()}
    all_boards = {data: rank(data, of_data, same=shares.get(data)) for data, of_data in by_data.items()}
    kinds = kinds_of(boards)
    abroad = read_cross_domain(grid.cross_domain, runs)
    pages = {}
    for data, board in boards.items():
        about, whole = abouts[data], all_boards[data]
        parts = [
            *uses.use_sections(board, about.kind, grid.commands),
            *uses.terms_sections(whole, grid.terms, grid.commands),
            *sections.cross_domain_sections(data, abroad),
            sections.cost_section(whole, grid.seconds),
            sections.checks_section(board, about),
            provenance.data_section(about),
        ]
        pages[data] = Section(data, [provenance.KINDS[about.kind]], parts=parts, data=data)
    models = many(len({row.model for board in boards.values() for row in board.rows}), "model")
    waiting = f" Not run yet: {many(len(grid.not_run), 'row')} of the grid." if grid.not_run else ""
    return Report(
        lead=f"{models} on {many(len(boards), 'dataset')}, {many(len(everything), 'run')}.{waiting}",
        answers=[answer for kind in kinds for answer in answers_of(kind, grid.commands)],
        below=_below(boards),
        pages=pages,
        runs=everything,
    )


def own_runs(runs: Sequence[RunFolder], grid: Grid) -> Sequence[RunFolder]:
    """Return the runs of families on their own terms; all, if there are no others."""
    return [run for run in runs if run.cell not in grid.terms] or runs


def _below(boards: Mapping[str, Leaderboard]) -> list[Section]:
    """Return all datasets with their first row, what models have seen, and how to read the numbers."""
    lines = []
    for data, board in boards.items():
        measure = measure_of(board)
        best = board.ranked(measure)[0]
        cells = (words(describe(measure).label), estimate_cell(measure, best.value(measure), with_interval=True))
        lines.append((TableCell(data, page=data), (words(best.model), *cells, amount(len(board.rows), str))))
    heads = (words("First on validation"), words("Measure"), TableCell("Test"), TableCell("Models"))
    seen = pretraining_section(list(boards.values()))
    return [
        Section("All datasets", tables=[Table(heads, tuple(lines), of="dataset")]),
        *([seen] if seen else []),
        Section("How to read this", [HOW_TO_READ, SEEDS], is_folded=True),
    ]
