"""The page of sources: what five documents claim, and what each system that they name is here.

What the documents say is in `sources.toml`. Figures of ours come from run folders, as in RESULTS.md, and commands from
the grid, so that the page can be made again from files in Git.
"""

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from twicetold import layout
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.leaderboard import Leaderboard, rank
from twicetold_lab.reporting.markdown import cell_of, code, table
from twicetold_lab.reporting.provenance import RESPLIT
from twicetold_lab.reporting.tables import estimate_cell
from twicetold_lab.runs.folder import Cell, read_runs

NOTHING, NOT_IN_GRID = "–", "not in the grid"

HEAD = """\
# The sources, system by system

Five documents stand at the beginning of this project: an article, a paper and three sets of notes. For each, this \
page says what it claims, what is here, the command, the published figure, ours, and why they differ.

`make results` writes this page from `src/twicetold_lab/reporting/sources.toml`, the grid in `params.yaml` and \
`runs/*/metrics.json`. Figures of ours are those of [RESULTS.md](../../RESULTS.md): of test unless a row says \
otherwise, with 95 % intervals over test data and, of several seeds, the standard deviation. If RESULTS.md says that \
its numbers are of earlier code, so are these.
"""


class Status(StrEnum):
    """The state of a system here; the value is a column's head."""

    MEASURED = "measured"
    NOT_RUN = "in the grid, not run"
    COMMAND = "a command"
    MISSING = "not here yet"
    OUTSIDE = "nothing to do"


@dataclass(frozen=True)
class System:
    """A system, trick or use that a document names; texts are Markdown."""

    name: str
    """Name in the document; with what is measured, if there are several figures."""
    here: str
    """Its name here."""
    note: str = ""
    """Why the figures differ, or what to know of the command."""
    cell: str = ""
    """Row of the grid that has its figure."""
    metric: str = ""
    """Name in `metrics.json`."""
    split: str = "test"
    published: float | None = None
    """In the unit of the metric."""
    paper: Sequence[str] = ()
    """Instead: dataset and model of a figure in `published.toml`."""
    said: str = ""
    """Instead: the claim in words."""
    cited: str = ""
    """Where in the document, or in what it cites, the figure stands."""
    command: str = ""
    """The command of a system without a row in the grid."""
    outside: str = ""
    """Why there is nothing to do about it here."""

    def status(self, grid: Mapping[str, Cell], runs: Path) -> Status:
        """The state of the system.

        Args:
            grid: rows of the grid by their name.
            runs: folder of run folders.
        """
        if self.outside:
            return Status.OUTSIDE
        if self.command:
            return Status.COMMAND
        if self.cell not in grid:
            return Status.MISSING
        return Status.MEASURED if (runs / self.cell / layout.METRICS).is_file() else Status.NOT_RUN


@dataclass(frozen=True)
class Document:
    """One of the sources; texts are Markdown."""

    key: str
    title: str
    cited: str
    """Where it was published, and what it is about."""
    claims: str
    here: str
    differs: str
    """Why figures differ, as far as it holds for all of its systems."""
    systems: tuple[System, ...]


def _read(file: Path) -> tuple[Document, ...]:
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Document(**{**about, "key": key, "systems": tuple(System(**system) for system in about["systems"])})
        for key, about in tables.items()
    )


DOCUMENTS = _read(Path(__file__).with_name("sources.toml"))
PUBLISHED: Mapping[str, Mapping[str, float]] = tomllib.loads(
    Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
)
"""Dataset -> model -> what a paper reports of it on test, in percent."""


def sources_page(commands: Mapping[Cell, str], *, runs: Path, resplit: Collection[str] = ()) -> str:
    """The page.

    Args:
        commands: the cells of the grid and the command that trains each.
        runs: folder of run folders.
        resplit: datasets that are split otherwise since their runs were made; sections with figures of them say so.

    Raises:
        FileNotFoundError: if a run has metrics but not the rest of what an evaluation writes; says which stage to run.
    """
    grid = {cell.name: cell for cell in commands}
    systems = [system for document in DOCUMENTS for system in document.systems]
    boards = _boards([s for s in systems if s.status(grid, runs) is Status.MEASURED], grid, runs)
    parts = [HEAD, _counts(grid, runs)]
    for document in DOCUMENTS:
        parts += [f"## {document.title}\n", f"{document.cited}\n", f"**What it claims.** {document.claims}\n"]
        parts += [f"**What is here.** {document.here}\n", f"**Why figures differ.** {document.differs}\n"]
        with_figures = [system for system in document.systems if system.metric]
        others = [system for system in document.systems if not system.metric]
        measured = {grid[s.cell].data for s in with_figures if s.status(grid, runs) is Status.MEASURED}
        parts += [f"{RESPLIT.format(data=data)}\n" for data in sorted(measured.intersection(resplit))]
        if with_figures:
            lines = [_figure(s, s.status(grid, runs), grid, boards, commands) for s in with_figures]
            heads = ["in the document", "here", "published", "ours", "command", "why they differ"]
            parts.append(table(heads, lines, words=range(len(heads))))
        if others:
            heads = ["in the document", "here", "command", "remark"]
            parts.append(table(heads, [_other(system) for system in others], words=range(len(heads))))
    return "\n".join(parts)


def _counts(grid: Mapping[str, Cell], runs: Path) -> str:
    """Number of systems of each document, by status."""
    lines = []
    for document in DOCUMENTS:
        counts = Counter(system.status(grid, runs) for system in document.systems)
        lines.append([f"[{document.title}](#{_anchor(document.title)})", *(f"{counts[each]}" for each in Status)])
    return table(["systems, tricks and uses named by", *Status], lines)


def _anchor(title: str) -> str:
    """The address of a heading on GitHub."""
    return "".join(c for c in title.lower() if c.isalnum() or c in " -_").replace(" ", "-")


def _boards(systems: Sequence[System], grid: Mapping[str, Cell], runs: Path) -> dict[str, Leaderboard]:
    """Dataset -> the rows that systems name, with all the seeds that were run."""
    named = {(grid[system.cell].data, grid[system.cell].model) for system in systems}
    cells = [cell for cell in grid.values() if (cell.data, cell.model) in named]
    cells = [cell for cell in cells if (runs / cell.name / layout.METRICS).is_file()]
    return {data: rank(data, board_runs) for data, board_runs in read_runs(cells, runs).items()} if cells else {}


def _figure(
    system: System,
    status: Status,
    grid: Mapping[str, Cell],
    boards: Mapping[str, Leaderboard],
    commands: Mapping[Cell, str],
) -> list[str]:
    cell = grid.get(system.cell)
    row = boards[cell.data].row_of(cell.model) if cell and status is Status.MEASURED else None
    command = commands[cell] if cell else system.command
    metric = describe(system.metric)
    published = system.said
    if system.published is not None:
        published = metric.show(system.published)
    elif system.paper:
        data, model = system.paper
        published = metric.show(PUBLISHED[data][model] / 100)
    ours = NOT_IN_GRID if status is Status.COMMAND else f"**{status}**"
    if row:
        estimate = row.metrics.get(system.split, {}).get(system.metric)
        ours = cell_of(estimate_cell(system.metric, estimate, with_interval=True))
    return [
        system.name,
        f"{system.here}: {metric.label}{'' if system.split == 'test' else f', {system.split}'}",
        (published or NOTHING) + (f" ({system.cited})" if system.cited else ""),
        ours,
        code(command) if command else NOTHING,
        system.note or NOTHING,
    ]


def _other(system: System) -> list[str]:
    remark = " ".join(filter(None, (system.outside, system.note)))
    return [system.name, system.here, code(system.command) if system.command else NOTHING, remark or NOTHING]
