"""Leaderboard and HTML report of every cell of the grid in params.yaml, from the files in Git where it has not run.

Usage: python pipelines/report.py [--show | --results]

Examples:
    python pipelines/report.py
    python pipelines/report.py --show

`--show` prints the leaderboard instead; `--results` writes a card of each dataset that is there, and RESULTS.md, a page
for each dataset in docs/results and docs/explanation/sources.md from the cards and other files in Git.
"""

import checkout  # noqa: F401 (for its effects)

import json
import shlex
from collections.abc import Collection
from pathlib import Path
from sys import argv
from typing import Any

from omegaconf import OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_text
from twicetold_lab import reporting
from twicetold_lab.grid.lock import is_stale, locked_stages
from twicetold_lab.grid.rows import read_grid
from twicetold_lab.reporting.model_card import model_card
from twicetold_lab.runs.environment import in_words

PREFACE = Path("docs/results-preface.md")
RESULTS, PAGES, SOURCES = Path("RESULTS.md"), Path("docs/results"), Path("docs/explanation/sources.md")
EXPERIMENT = "+experiment="
EARLIER = (
    "**These results are of earlier code than the files beside them.** Settings or code that `dvc.lock` records have "
    "changed since, so a model may come out otherwise when it is trained again. Rows that have not run are left out."
)
"""In RESULTS.md exactly while dvc.lock is stale (tests/contracts/test_lock.py); `make results` leaves it out again."""


def main() -> None:
    paths = {name: Path(path) for name, path in OmegaConf.load("conf/paths.yaml").paths.items()}
    whole = read_grid(Path())
    rows, missing = without_missing(whole, paths["runs"], ran=locked_stages(Path()))
    grid = reported(rows, paths["runs"], missing)
    folders = {name: paths[name] for name in ("processed", "cards")}
    with readable_errors():
        if "--show" in argv:
            print(reporting.leaderboard_text(grid, paths["runs"]))
        elif "--results" in argv:
            reporting.write_cards(dict.fromkeys(cell.data for cell in grid.cells), **folders)
            earlier = is_stale(Path(__file__).resolve().parents[1])
            pages = results(rows, runs=paths["runs"], cards=paths["cards"], earlier=earlier, missing=missing)
            for file, text in pages.items():
                write_text(file, text)
            write_text(SOURCES, reporting.sources_page(commands_of(whole), runs=paths["runs"]))
            print(f"results: {RESULTS}, {PAGES} and {SOURCES}")
        else:
            for folder in sorted({place.parent for place in paths["runs"].glob(f"*/{layout.METRICS}")}):
                if (folder / layout.MODEL / layout.RECIPE).is_file():  # a run that DVC restored has none yet
                    card = model_card(folder, cards=paths["cards"], use=f"{folder}")
                    write_text(folder / layout.MODEL_CARD, card)
            reporting.build(grid, runs=paths["runs"], target=paths["reports"], **folders)
            print(f"report: {paths['reports'] / layout.REPORT}")
    if missing:
        print(not_run(missing))


def results(
    grid: dict[str, Any],
    *,
    runs: Path,
    cards: Path,
    earlier: bool,
    missing: Collection[str] = (),
) -> dict[Path, str]:
    """RESULTS.md and the page of each dataset, made from files in Git.

    Args:
        grid: of `read_grid`.
        runs: folder of runs.
        cards: folder of dataset cards.
        earlier: whether dvc.lock, and so the runs, are of other code or settings than the checkout's.
        missing: cells of the grid that have not run.
    """
    rows = grid["cells"] | grid["ensembles"]
    observed = json.loads((runs / layout.LAST_RUN).read_text(encoding="utf-8"))
    hours = sum(observed["stages"].values()) / 3600 / observed["jobs"]
    commits = "several commits, the last one" if earlier else "commit"
    made = (
        f"{len(rows)} cells of the grid in params.yaml, profile `{grid['profile']}`, made by `make results` of "
        f"{commits} `{observed['commit']}` on {observed['processor']}, {observed['jobs']} side by side. The "
        f"{len(observed['stages'])} stages that were timed take about {hours:.1f} hours there.\n"
    )
    for ran in observed.get("environments", []):
        made += f"\n{len(ran['stages'])} of its stages ran on {in_words(ran['environment'])}.\n"
    if missing:
        made += f"\n{not_run(missing)}\n"
    title, _, preface = PREFACE.read_text(encoding="utf-8").partition("\n\n")
    head = "\n\n".join([title, *([EARLIER] if earlier else []), preface])
    known = reported(grid, runs, missing)
    pages = reporting.markdown(known, runs=runs, cards=cards)
    first = pages.pop("")
    return {RESULTS: f"{head}\n{made}\n{first}"} | {PAGES / f"{data}.md": text for data, text in pages.items()}


def commands_of(grid: dict[str, Any]) -> dict[reporting.Cell, str]:
    """The cells and ensembles of the grid, with the command that trains each."""
    return {cell_of(key, row): command_of(key, row, grid) for key, row in (grid["cells"] | grid["ensembles"]).items()}


def without_missing(grid: dict[str, Any], runs: Path, *, ran: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The grid without what has not run, and the names of its trainings and ensembles that have not.

    Args:
        grid: of `read_grid`.
        runs: folder of runs.
        ran: stages in dvc.lock, whose files the report needs: a missing one is an error.
    """

    def having(section: str, stage: str, file: str) -> dict[str, Any]:
        rows = grid[section].items()
        return {key: row for key, row in rows if f"{stage}@{key}" in ran or (runs / key / file).is_file()}

    made = {
        "cells": having("cells", "evaluate", layout.METRICS),
        "ensembles": having("ensembles", "evaluate_ensemble", layout.METRICS),
        "elsewhere": having("elsewhere", "evaluate_elsewhere", layout.ELSEWHERE),
    }
    return grid | made, [key for name in ("cells", "ensembles") for key in grid[name] if key not in made[name]]


def not_run(missing: Collection[str]) -> str:
    """A line about cells that have not run."""
    return f"Not run yet: {len(missing)} cells ({', '.join(missing)})."


def cell_of(key: str, row: dict[str, Any]) -> reporting.Cell:
    """A row of params.yaml as a cell, whose model is the middle of <data>-<name>-<seed>."""
    data, seed = row["data"], row["seed"]
    return reporting.Cell(data, key.removeprefix(f"{data}-").removesuffix(f"-{seed}"), seed)


def reported(grid: dict[str, Any], runs: Path, missing: Collection[str] = ()) -> reporting.Grid:
    """The rows of a grid, further evaluations of them, and the names of those that have not run."""
    file = runs / layout.LAST_RUN
    took = json.loads(file.read_text(encoding="utf-8"))["stages"] if file.is_file() else {}
    commands = commands_of(grid)
    return reporting.Grid(
        cells=[*commands],
        commands=commands,
        terms={cell_of(key, row): terms for key, row in grid["cells"].items() if (terms := terms_of(row))},
        cross_domain=[cell_of(*row) for row in grid["elsewhere"].items()],
        seconds={stage.removeprefix("train@"): s for stage, s in took.items() if stage.startswith("train@")},
        not_run=missing,
    )


def terms_of(row: dict[str, Any]) -> str | None:
    """The experiment of a row whose terms several families share; None for a family's own row."""
    chosen = (override.removeprefix(EXPERIMENT) for override in row.get("overrides", []) if EXPERIMENT in override)
    return next((name for name in chosen if name.partition("_")[0] == "fair"), None)


def command_of(key: str, row: dict[str, Any], grid: dict[str, Any]) -> str:
    """The command that trains the same model without DVC."""
    if "members" in row:
        script, chosen = "ensemble", [f"members=[{','.join(row['members'])}]"]
        chosen += [f"stacking={row['stacking']}"] if "stacking" in row else []
    else:
        profile = row.get("profile", grid["profile"])
        chosen = [f"model={row['model']}", *([] if profile == "full" else [f"profile={profile}"])]
        script, chosen = "train", [*chosen, *row.get("overrides", [])]
    arguments = [f"data={row['data']}", *chosen, *([f"seed={row['seed']}"] if row["seed"] else [])]
    return shlex.join(["python", f"pipelines/{script}.py", *arguments])


if __name__ == "__main__":
    main()
