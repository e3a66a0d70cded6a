"""`twicetold serve`: a model over HTTP."""

import sys
from typing import Annotated

import typer

from twicetold.commands._options import About, Model
from twicetold.commands._waiting import waiting
from twicetold.printable import print


def serve(
    model: Model,
    port: Annotated[int, typer.Option(help="0 for any that is free.", min=0, max=65535)] = 5001,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all, without any log-in.")] = "127.0.0.1",
    about: About = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Name of this machine that requests may be for; repeatable."),
    ] = None,
) -> None:
    """Answer over HTTP as MLflow's scoring server does, until Ctrl-C: POST /invocations.

    Examples:
        twicetold serve model
        twicetold serve model --port 8080

    A table with the columns left and right gives score, probability and verdict, with the label that it is about; one
    with text gives vectors.
    """
    from twicetold.tracking.locate import folder_of, require_model

    require_model(model)
    with waiting(f"loading {model}"):
        from twicetold.serving.server import serve as answer
        from twicetold.trained.loaded import LoadedModel

        folder = folder_of(model)
        verdicts = LoadedModel.from_folder(folder).decisions.of(about)  # its errors are clearer than the server's
    reason = f"; none, as {verdicts.no_verdict}" if verdicts.no_verdict else ""
    print(f"verdicts are about {verdicts.label}{reason}", file=sys.stderr)

    def on_ready(url: str) -> None:
        print(f"serving {model} at {url}", file=sys.stderr)

    answer(folder, about=about, host=host, port=port, names=names or (), on_ready=on_ready)
