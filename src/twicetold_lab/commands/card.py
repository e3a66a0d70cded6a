"""`twicetold card`: the model card of a trained model."""

from pathlib import Path
from typing import Annotated

import typer

from twicetold.commands._options import Model
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import progress
from twicetold.printable import print


def card(
    model: Model,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write it to this file, README.md say, instead of stdout.")
    ] = None,
) -> None:
    """Describe a model: data, quality with intervals, threshold, cost, what it had seen, how to use it.

    Examples:
        twicetold card model
        twicetold card model -o README.md

    A model folder without its run has no metrics, and the card says so.
    """
    from twicetold.files import write_text
    from twicetold.trained.folder_files import folder_of

    folder_of(model)
    require_apart({"card": out}, {"weights": model})
    with progress(f"reading {model}"):
        from twicetold_lab.reporting.model_card import model_card
        from twicetold_lab.runs.records import CARDS

        page = model_card(Path(model), cards=CARDS, use=model)
    if out is None:
        print(page, end="")
    else:
        write_text(out, page)
