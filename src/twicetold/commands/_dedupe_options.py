"""The options of `twicetold dedupe`: the fields of `DedupeOptions`, and of what files and folders have besides."""

from dataclasses import Field, dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from twicetold.commands._options import Compare, Html, Id, Json, OutFile, Reading
from twicetold.dedupe.options import DedupeOptions


@dataclass(frozen=True)
class Common(Reading):
    """Options of a file and of a folder, besides those of `DedupeOptions`."""

    out: OutFile = "-"
    drop: Annotated[
        bool, typer.Option("--drop", help="Write one row of each group; the dropped rows go to a second file.")
    ] = False
    as_json: Json = False


@dataclass(frozen=True)
class OfFile:
    """Options of a file alone."""

    id_column: Id = None
    compare: Compare = None
    links: Annotated[
        str | None,
        typer.Option("--links", metavar="FILE", help="File for all linked pairs; without MODEL, with reasons."),
    ] = None
    html: Html = None
    ask: Annotated[
        int | None,
        typer.Option(
            "--ask",
            metavar="N",
            min=1,
            help="Without MODEL, ask about the N least certain pairs first, as the command ask does; N counts "
            "earlier answers.",
        ),
    ] = None


@dataclass(frozen=True)
class OfFolder:
    """Options of a folder of parts alone."""

    folder: Annotated[
        list[str] | None,
        typer.Option(
            "--folder",
            metavar="KEY=VALUE",
            help="Settings for a folder of parts: workers=1, memory=4GB, exact=no; repeat for several.",
        ),
    ] = None


def _of_command(each: Field[Any]) -> tuple[str, Any, Any]:
    """Return the option that a field of `DedupeOptions` has: its name, annotated type and default."""
    about = each.metadata
    asked = each.type if about["asked"] is None else about["asked"]
    default = None if type(None) in get_args(asked) else each.default
    option = typer.Option(f"--{each.name}", help=about["help"], metavar=about["metavar"])
    return each.name, Annotated[asked, option], field(default=default)


if TYPE_CHECKING:
    Asked = Any
else:
    Asked = make_dataclass("Asked", map(_of_command, fields(DedupeOptions)), frozen=True)
