"""`twicetold export`: a model for use elsewhere."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from twicetold.commands._options import Json, Model
from twicetold.commands._progress import progress
from twicetold.printable import json_text, print


def export(
    model: Model,
    out: Annotated[Path, typer.Option("-o", "--out", help="The new folder.", show_default=False)],
    numbers: Annotated[Literal["int8", "float16"], typer.Option(help="Of the table.")] = "int8",
    processed: Annotated[
        Path, typer.Option(help="Folder of prepared data, to measure on validation what is lost.")
    ] = Path("data/processed"),
    as_json: Json = False,
) -> None:
    """Export a small copy of a static model whose table is read from disk, with a model card.

    Examples:
        twicetold export build/demo/runs/toy_questions-static-0 -o small
        twicetold export build/demo/runs/toy_questions-static-0 --numbers float16 -o half
    """
    import sys

    from twicetold.trained.locate import require_model

    require_model(model)
    with progress(f"exporting {model}"):
        from twicetold_lab.export.exporting import export_table
        from twicetold_lab.reporting.glossary import describe, size
        from twicetold_lab.runs.records import CARDS

        made = export_table(model, out, bits=numbers, processed=processed, cards=CARDS)
    if as_json:
        summary = {"folder": str(out), "bytes_before": made.before, "bytes_after": made.after}
        summary |= {"on_validation": made.on_validation}
        print(json_text(summary))
        return
    print(out)
    print(f"{size(made.before)} before, {size(made.after)} after", file=sys.stderr)
    for name, (before, after) in made.on_validation.items():
        print(f"{describe(name).label} on validation: {before:.4f} before, {after:.4f} after", file=sys.stderr)
    if not made.on_validation:
        print(f"the loss was not measured: the data of the training are not in {processed}", file=sys.stderr)
