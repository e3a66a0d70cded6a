"""`twicetold models`: what is registered."""

from twicetold.commands._options import Json
from twicetold.printable import json_text, print


def models(as_json: Json = False) -> None:
    """List the registered models: versions, aliases and numbers.

    Examples:
        twicetold models
        twicetold models --json

    The store is mlruns/mlflow.db in this folder, unless MLFLOW_TRACKING_URI names another.
    """
    from dataclasses import asdict
    from pathlib import Path

    from rich.table import Table

    from twicetold.commands._console import Console
    from twicetold.commands._progress import progress
    from twicetold_lab.tracking.registry import registered

    with progress("asking the registry"):
        versions = registered(root=Path.cwd())
    if as_json:
        print(json_text([{"address": each.address, **asdict(each)} for each in versions]))
        return
    if not versions:
        Console(stderr=True).print("no model is registered: see twicetold register --help")
        return
    table = Table("model", "aliases", "run", "metric", "val", "test")
    for each in versions:
        primary = each.tags.get("primary", "")
        numbers = (each.metrics.get(f"{split}/{primary}") for split in ("val", "test"))
        shown = ("–" if value is None else f"{value:.4f}" for value in numbers)
        table.add_row(each.address, ", ".join(each.aliases), each.run_name, primary, *shown)
    Console().print(table)
