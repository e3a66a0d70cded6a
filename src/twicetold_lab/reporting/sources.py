"""The page of sources: what five documents claim, and what each system that they name is here.

What the documents say is in `sources.toml`: of each where it was published and what it is about (`cited`), its claims,
what is here, why figures differ as far as it holds for all of its systems, and these. Figures of ours come from run
folders, as in RESULTS.md, and commands from the grid, so that the page can be made again from files in Git.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.leaderboard import Row, rank
from twicetold_lab.reporting.markdown import cell_of, code, table
from twicetold_lab.reporting.tables import estimate_cell
from twicetold_lab.runs.folder import Cell, read_runs

NOTHING, NOT_IN_GRID, NOT_RUN = "–", "not in the grid", "**not run**"


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
    said: str = ""
    """Instead: the claim in words."""
    cited: str = ""
    """Where in the document, or in what it cites, the figure stands."""
    command: str = ""
    """The command of a system without a row in the grid."""
    outside: str = ""
    """Why there is nothing to do about it here."""


TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
HEAD = TEXTS.pop("head")
SYSTEMS = {key: [System(**system) for system in document["systems"]] for key, document in TEXTS.items()}
"""Document -> its systems."""


def sources_page(commands: Mapping[Cell, str], *, runs: Path) -> str:
    """Return the page.

    Args:
        commands: the cells of the grid and the command that trains each.
        runs: folder of run folders.

    Raises:
        FileNotFoundError: if a run has metrics but not the rest of what an evaluation writes; says which stage to run.
    """
    grid = {cell.name: cell for cell in commands}
    trained, rows, parts = {cell.name: command for cell, command in commands.items()}, _rows(grid, runs), [HEAD]
    for key, about in TEXTS.items():
        parts += [f"## {about['title']}\n", f"{about['cited']}\n", f"**What it claims.** {about['claims']}\n"]
        parts += [f"**What is here.** {about['here']}\n", f"**Why figures differ.** {about['differs']}\n"]
        systems = sorted(SYSTEMS[key], key=lambda system: not system.metric)
        lines = [_line(each, rows.get(each.cell), trained.get(each.cell)) for each in systems]
        heads = ["in the document", "here", "published", "ours", "command", "remark"]
        parts.append(table(heads, lines, words=range(len(heads))))
    return "\n".join(parts)


def _rows(grid: Mapping[str, Cell], runs: Path) -> dict[str, Row]:
    """Return the rows of cells that systems name and that have run, with all seeds."""
    systems = chain.from_iterable(SYSTEMS.values())
    named = {(cell.data, cell.model): cell for system in systems if (cell := grid.get(system.cell))}
    ran = [cell for cell in grid.values() if (runs / cell.name / layout.METRICS).is_file()]
    ran = [cell for cell in ran if (cell.data, cell.model) in named]
    boards = {data: rank(data, of_data) for data, of_data in read_runs(ran, runs).items()} if ran else {}
    return {named[data, row.model].name: row for data, board in boards.items() for row in board.rows}


def _line(system: System, row: Row | None, command: str | None) -> list[str]:
    metric = describe(system.metric)
    published = system.said if system.published is None else metric.show(system.published)
    measured = f": {metric.label}{'' if system.split == 'test' else f', {system.split}'}"
    ours = NOT_RUN if system.cell else NOT_IN_GRID
    if row:
        estimate = row.metrics.get(system.split, {}).get(system.metric)
        ours = cell_of(estimate_cell(system.metric, estimate, with_interval=True))
    return [
        system.name,
        system.here + (measured if system.metric else ""),
        (published or NOTHING) + (f" ({system.cited})" if system.cited else ""),
        ours if system.metric else NOTHING,
        code(command or system.command) if command or system.command else NOTHING,
        " ".join(filter(None, (system.outside, system.note))) or NOTHING,
    ]
