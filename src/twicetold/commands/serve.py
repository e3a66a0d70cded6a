"""`twicetold serve`: a model over HTTP."""

import sys
from typing import Annotated

import typer

from twicetold.commands._options import Model
from twicetold.printable import print


def serve(
    model: Model,
    port: Annotated[int, typer.Option(help="0 for any that is free.", min=0, max=65535)] = 5001,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all, without any log-in.")] = "127.0.0.1",
    names: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Name of this machine that requests may be for; repeatable."),
    ] = None,
) -> None:
    """Answer over HTTP as MLflow's scoring server does, until Ctrl-C: POST /invocations.

    A table with the columns left and right gives score, probability and verdict; one with text gives vectors.
    """
    from twicetold.api.model import folder_of, load
    from twicetold.tracking.serving import serve as answer

    folder = folder_of(model)
    load(folder)  # its errors are clearer than the server's
    answer(
        folder,
        host=host,
        port=port,
        names=names or (),
        on_ready=lambda url: print(f"serving {model} at {url}", file=sys.stderr),
    )
