"""`twicetold pairs`: a file of pairs of texts."""

import time
from typing import Annotated

import typer


def pairs(
    model: Annotated[str, typer.Argument(help="Run folder, model folder or models:/ address.", show_default=False)],
    file: Annotated[str, typer.Argument(help="CSV, TSV, JSON lines or Parquet; - for stdin.", show_default=False)],
    out: Annotated[str, typer.Option("--out", "-o", help="File to write, of any of the formats; - for stdout.")] = "-",
    left: Annotated[str | None, typer.Option(help="Column with one text.", show_default="a usual name")] = None,
    right: Annotated[str | None, typer.Option(help="Column with the other.", show_default="a usual name")] = None,
    format: Annotated[
        str | None,
        typer.Option(help="csv, tsv, jsonl or parquet, of stdin and of what has no such suffix.", show_default=False),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out; the first ten are listed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON to stdout.")] = False,
) -> None:
    """Add score, probability and duplicate to each pair of a file.

    A bad row (a text is missing, a line is malformed) ends the command before anything is written; every one is
    counted and the first ten are named.
    """
    import json
    import sys
    from dataclasses import asdict

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from twicetold.api.model import load
    from twicetold.api.pairs import score_file
    from twicetold.api.tables import STANDARD, choose_pair, open_rows, write_rows

    if as_json and out == STANDARD:
        raise typer.BadParameter("the summary and the rows would both go to stdout: name a file with -o")
    console = Console(stderr=True)
    with open_rows(file, format=format) as rows:
        pair = choose_pair(rows, left, right)
        loaded = load(model)
        start = time.monotonic()
        columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} pairs, {task.fields[rate]:,.0f} a second"))
        off = not console.is_terminal
        shown = Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off)
        with shown, write_rows(out, format=format or rows.format, at_once=not skip_bad) as write:
            task = shown.add_task("", total=None, rate=0.0)

            def progress(count: int) -> None:
                done = shown.tasks[task].completed + count
                shown.update(task, completed=done, rate=done / (time.monotonic() - start))

            found = score_file(loaded, rows, write, pair, skip_bad=skip_bad, progress=progress)
    seconds = time.monotonic() - start
    if as_json:
        print(json.dumps({**asdict(found), "columns": pair, "seconds": round(seconds, 3)}, indent=2))
    share = f" ({found.duplicates / found.pairs:.1%})" if found.pairs else ""
    rate = f"{seconds:.1f} s, {found.pairs / seconds:,.0f} pairs a second"
    said = [
        f"{found.pairs:,} pairs of {pair[0]} and {pair[1]}, {found.duplicates:,}{share} say the same by the threshold "
        f"{loaded.threshold:.4g}; {rate}"
    ]
    if found.bad_rows:
        said += [f"left out, as they cannot be used: {found.bad_rows:,}", str(rows.bad)]
    said += [f"warning: {warning}" for warning in found.warnings]
    print("\n".join(said), file=sys.stderr)
