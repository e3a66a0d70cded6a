"""`twicetold calibrate`: fit a model's threshold and calibration on one's own labelled pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from twicetold.commands._console import Console
from twicetold.commands._options import About, Left, Model, Right, SkipBad
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.api.calibration import Calibration, LabelledPairs, Number

NAMES = {"brier": "Brier score", "f1": "F1", "log_loss": "log loss"}


def calibrate(
    model: Model,
    pairs: Annotated[
        Path,
        typer.Argument(
            help="Labelled pairs: .csv, .tsv, .jsonl or .parquet, as label writes them.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The new model folder.", show_default=False)],
    left: Left = None,
    right: Right = None,
    label: Annotated[str, typer.Option(help="Column with 1 or 0, true or false.")] = "label",
    aim: Annotated[Literal["accuracy", "f1"], typer.Option(help="What the threshold is best for.")] = "accuracy",
    seed: Annotated[int, typer.Option(min=0, help="Of folds and intervals.")] = 0,
    about: About = None,
    skip_bad: SkipBad = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the model folder that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Fit threshold and calibration on labelled pairs of your own.

    The new folder is a copy of the model with another decision. The numbers of the new decision are cross-fitted: a
    fifth of the pairs at a time is decided by what the others give.
    """
    from dataclasses import asdict

    from twicetold.api.calibration import calibrate as fit
    from twicetold.api.calibration import read_pairs, require_free_of, save_calibrated
    from twicetold.api.model import load

    loaded = load(model)
    require_free_of(loaded.folder, out, force=force)
    read = read_pairs(pairs, left=left, right=right, label=label, skip_bad=skip_bad)
    found = fit(loaded, read, aim=aim, seed=seed, about=about)
    save_calibrated(loaded, out, found, read, file=pairs, aim=aim, force=force)
    _show(Console(stderr=True), found, read, out, aim)
    if as_json:
        print(json_text({"out": str(out), "pairs": len(read.label), **asdict(found)}))


def _show(console: Console, found: "Calibration", pairs: "LabelledPairs", out: Path, aim: str) -> None:
    how = ", with the weights of the draw" if pairs.weighted else ""
    console.print(f"{len(pairs.label):,} pairs, of which {int(pairs.label.sum()):,} say the same{how}")
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
    for head in ("", "before", "after", "difference"):
        table.add_column(head, justify="right")
    table.add_row("threshold", f"{found.before.threshold:.4g}", f"{found.after.threshold:.4g}", "")
    for name, before in found.stored.items():
        cells = (_shown(before), _shown(found.fitted[name]), _shown(found.gained[name], "+"))
        table.add_row(NAMES.get(name, name), *cells)
    console.print(table)
    console.print(f"95 % intervals; after: cross-fitted. The model is in {out}", soft_wrap=True)
    if found.gained[aim].low <= 0:
        console.print(
            f"The pairs do not show that the new threshold is better than the stored one: the difference in "
            f"{NAMES.get(aim, aim)} may be 0 or less. Label more pairs, or stay with the stored one.",
            soft_wrap=True,
        )


def _shown(number: "Number", sign: str = "") -> str:
    return f"{number.value:{sign}.3f} ({number.low:{sign}.3f}, {number.high:{sign}.3f})"
