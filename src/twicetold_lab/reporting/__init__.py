"""The report on all runs: a CSV table, an HTML page and text for a terminal.

It reads the files of the other stages (names in `layout`). The same files give the same bytes, except for observed
seconds, which the page shows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twicetold import layout
from twicetold.files import csv_text, write_text
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.reporting.choice import Grid
from twicetold_lab.reporting.cost import TABLE, cost_csv, costs
from twicetold_lab.reporting.elsewhere import matrices
from twicetold_lab.reporting.errors import Judged, judged, write_errors
from twicetold_lab.reporting.fair import FairCell, fair_runs, fair_tables
from twicetold_lab.reporting.leaderboard import leaderboard_csv, rank
from twicetold_lab.reporting.markdown import markdown
from twicetold_lab.reporting.numbers import FILE, numbers_csv
from twicetold_lab.reporting.page import Section, page
from twicetold_lab.reporting.rendering import standalone
from twicetold_lab.reporting.sources import sources_page
from twicetold_lab.reporting.studies import read_studies
from twicetold_lab.reporting.terminal import leaderboard_text
from twicetold_lab.reporting.topics import read_topics, topic_sections
from twicetold_lab.reporting.twin_groups import find_twins
from twicetold_lab.reporting.wrong_groups import FILE as GROUPS
from twicetold_lab.reporting.wrong_groups import groups_csv, wrong_groups
from twicetold_lab.runs.records import (
    Cell,
    Provenance,
    Run,
    has_card,
    read_card,
    read_elsewhere,
    read_peers,
    read_provenance,
    read_runs,
    write_card,
)

__all__ = ["Cell", "FairCell", "RunFiles", "build", "leaderboard_text", "markdown", "sources_page", "write_cards"]
MISTAKES, FIGURE = "report/mistakes.csv", "report/quality_against_speed.svg"
MOST = 500
"""Mistakes of a run, the surest first."""
COLUMNS = ("left", "right", "label", "probability", "slices")


@dataclass(frozen=True)
class RunFiles:
    """Files of one run.

    Args:
        run: which.
        files: path -> content.
    """

    run: Run
    files: dict[str, str]


def build(
    cells: Sequence[Cell],
    *,
    runs: Path,
    processed: Path,
    raw: Path,
    triplets: Path,
    target: Path,
    cards: Path | None = None,
    elsewhere: Sequence[Cell] = (),
    topics: Sequence[Cell] = (),
    fair: Sequence[FairCell] = (),
    seconds: Mapping[str, float] | None = None,
    commands: Mapping[Cell, str] | None = None,
    ensembles: Collection[Cell] = (),
) -> list[RunFiles]:
    """Write the leaderboard and the HTML report of all cells to `target`.

    Args:
        cells: which runs to report; datasets are shown in order of first appearance.
        runs: the folder of run folders.
        processed: the folder of corpora.
        raw: the folder of raw folders.
        triplets: the folder of folders of mined triplets.
        target: where `index.html` goes, and beside it the numbers on it: `leaderboard.csv`, `cost.csv`, `numbers.csv`
            and, where the texts are there, `errors.parquet` and `groups.csv`.
        cards: the folder of dataset cards, which describe a dataset whose corpus is not there.
        elsewhere: the runs that were evaluated on other data as well.
        topics: the runs on whose vectors texts were grouped by topic.
        fair: the runs of families on the same terms, beside `cells`.
        seconds: that a cell's training took, by the cell's name; where they are not known, those that it observed.
        commands: that train the cells.
        ensembles: the runs that join others.

    Returns:
        What the report says of each run, as files.

    Raises:
        ValueError: if there are no cells, or models of one dataset were evaluated on different units or pairs.
        FileNotFoundError: if a stage has not been run; says which.
    """
    found, peers, on_terms = read_runs(cells, runs), read_peers(runs), fair_runs(fair, runs)
    everything = [run for by_data in (*found.values(), *on_terms.values()) for run in by_data]
    observed = {run.cell.name: run.train_seconds for run in everything if run.train_seconds is not None}
    took = {**observed, **(seconds or {})}
    grid, abroad = Grid(commands or {}, ensembles), read_elsewhere(elsewhere, runs)
    sections = [
        Section(
            about := _described(data, processed=processed, raw=raw, triplets=triplets, cards=cards),
            board := rank(data, by_data),
            peers.get(data, ()),
            fair_tables(board, fair, on_terms.get(data, []), took),
            judged(board, processed / data, kind=about.kind),
            wrong_groups(board, processed / data),
            costs(board, took),
            grid,
            abroad,
        )
        for data, by_data in found.items()
    ]
    by_topic, studies = read_topics(topics, runs), read_studies(runs, found)
    html = page(sections, matrices(abroad, ensembles), topic_sections(by_topic), studies)
    write_text(target / layout.LEADERBOARD, leaderboard_csv(everything))
    write_text(target / TABLE, cost_csv(everything, took))
    write_text(target / layout.REPORT, html)
    write_text(target / FILE, numbers_csv(sections, abroad, by_topic, studies))
    if wrong := {each.board.data: each.wrong for each in sections if each.wrong}:
        write_text(target / GROUPS, groups_csv(wrong))
    write_errors({each.board.data: each.mistakes for each in sections if isinstance(each.mistakes, Judged)}, target)
    return list(run_files(sections))


def write_cards(names: Iterable[str], *, processed: Path, raw: Path, triplets: Path, cards: Path) -> None:
    """Write the description of each dataset that `markdown` reads, `<name>.json`, to `cards`.

    A dataset that is not there keeps the description that is, so that a fresh clone can write RESULTS.md anew.

    Raises:
        FileNotFoundError: if a stage has not been run and there is no description yet; says which.
    """
    for name in names:
        write_card(_described(name, processed=processed, raw=raw, triplets=triplets, cards=cards), cards)


def _described(data: str, *, processed: Path, raw: Path, triplets: Path, cards: Path | None = None) -> Provenance:
    if cards and not (processed / data).is_dir() and has_card(data, cards):
        return read_card(data, cards)
    about = read_provenance(data, processed=processed, raw=raw, triplets=triplets)
    if not (processed / data / layout.TEXTS).is_file():
        return about
    return replace(about, card={**about.card, **find_twins(Corpus.load(processed / data))})


def run_files(sections: Sequence[Section]) -> Iterator[RunFiles]:
    """The files of each run that has any: mistakes of each model's first one, the figure of all models.

    Args:
        sections: of the datasets.
    """
    for section in sections:
        drawn = section.drawn
        figure = {} if drawn is None else {FIGURE: standalone(drawn.figure)}
        for row in section.board.rows:
            for run in row.runs:
                files = dict(figure)
                if run is row.first and isinstance(section.mistakes, Judged) and row.model in section.mistakes.models:
                    files[MISTAKES] = mistakes_csv(section.mistakes, row.model)
                if files:
                    yield RunFiles(run, files)


def mistakes_csv(found: Judged, model: str) -> str:
    """The mistakes of one model, the surest first."""
    place = found.models.index(model)
    wrong = np.flatnonzero(found.wrong[place])
    surest = wrong[np.argsort(-found.confidence[place, wrong], kind="stable")][:MOST]
    rows = (
        (
            found.left[pair],
            found.right[pair],
            f"{found.label[pair]:g}",
            f"{found.probability[place, pair]:.3f}",
            " ".join(found.signs.names(pair)),
        )
        for pair in surest.tolist()
    )
    return csv_text(COLUMNS, rows)
