"""`twicetold register`: a finished run becomes a version in MLflow's registry."""

from pathlib import Path
from typing import Annotated

import typer

from twicetold.commands._options import Json
from twicetold.printable import json_text, print


def register(
    run: Annotated[Path | None, typer.Argument(help="Run folder, runs/... .", show_default=False)] = None,
    data: Annotated[
        str | None, typer.Option(help="Instead of RUN: the best run of this dataset by validation.", show_default=False)
    ] = None,
    alias: Annotated[str, typer.Option(help="Alias of the version; '' for none.")] = "champion",
    runs: Annotated[Path, typer.Option(help="Folder of run folders, for --data.")] = Path("runs"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Choose only; register nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Make a model a version of twicetold-DATA in MLflow's registry, with its numbers and its model card.

    Examples:
        twicetold register build/demo/runs/toy_questions-static-0
        twicetold register --data toy_questions --runs build/demo/runs --dry-run

    With --data: of the runs that a paired test on validation cannot tell from the best one, the fastest is taken.
    """
    if (run is None) == (data is None):
        raise typer.BadParameter("name either a RUN or --data DATA")
    from rich.table import Table

    from twicetold.commands._console import Console
    from twicetold.commands._progress import progress
    from twicetold.packages import require_package
    from twicetold.trained.locate import require_model

    if run is not None:
        require_model(run)
    if not dry_run:
        require_package("mlflow", "the registry")
    with progress("loading libraries"):
        from twicetold_lab.export.champion import choose, register_run

    talk = Console(stderr=True)
    if data is not None:
        with progress(f"comparing the runs of {data}"):
            choice = choose(data, runs)
        run = choice.chosen.folder
        table = Table("run", f"val {choice.chosen.primary}", "lead of the best, 95 %", "texts a second", "")
        for each in choice.candidates:
            lead = "not comparable" if each.behind is None else f"{each.behind[0]:+.4f} to {each.behind[1]:+.4f}"
            speed = "unknown" if each.texts_per_second is None else f"{each.texts_per_second:,.0f}"
            word = "chosen" if each is choice.chosen else "as good" if each.as_good else ""
            best = each is choice.candidates[0]
            table.add_row(each.folder.name, f"{each.value:.4f}", "best" if best else lead, speed, word)
        talk.print(table)
    assert run is not None
    if dry_run:
        print(json_text({"run": str(run)}, indent=None) if as_json else run)
        return
    with progress(f"registering {run}"):
        made = register_run(run, alias=alias or None, root=Path.cwd())
    if as_json:
        print(json_text({"address": made.address, "aliases": made.aliases, "run": str(run)}, indent=None))
    else:
        print(made.address)
    talk.print(
        f"{run} is version {made.version} of {made.name}" + (f", alias {alias}" if alias else ""), soft_wrap=True
    )
