"""The options of `twicetold dedupe`: the fields of `DedupeOptions`, and of what files and folders have besides."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from typing import Annotated, Any, TypeVar, get_args

import typer

from twicetold.commands._options import Delimiter, Format, Lexical, OutFile, SkipBad, Text, Vectors
from twicetold.commands._outputs import Force
from twicetold.dedupe.options import OF_FOLDERS, DedupeOptions

PANEL = "A folder of parts"
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Common:
    """Options of a file and of a folder, besides those of `DedupeOptions`."""

    out: OutFile = "-"
    text: Text = None
    drop: Annotated[
        bool, typer.Option("--drop", help="Write representatives alone; the other rows go beside them.")
    ] = False
    delimiter: Delimiter = None
    skip_bad: SkipBad = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON to stdout.")] = False
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Write nothing; show what would be found, by threshold; of a folder, the cost."),
    ] = False


@dataclass(frozen=True)
class OfFile:
    """Options of a file alone."""

    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column with the ids.", show_default="numbers of rows, from 1"),
    ] = None
    lexical: Lexical = False
    vectors: Vectors = None
    links: Annotated[str | None, typer.Option("--links", metavar="FILE", help="File to write all linked pairs to.")] = (
        None
    )
    why: Annotated[bool, typer.Option("--why", help="Say in the links and the summary which terms make a link.")] = (
        False
    )
    force: Force = False
    format: Format = None


@dataclass(frozen=True)
class OfFolder:
    """Options of a folder of parts alone."""

    workers: Annotated[
        int, typer.Option("--workers", help="Tasks that run at a time.", min=1, max=100_000, rich_help_panel=PANEL)
    ] = 1
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="joblib|submitit|ray",
            help="What runs tasks: joblib, submitit (Slurm, extra slurm) or ray (extra ray).",
            show_default="processes of this machine",
            rich_help_panel=PANEL,
        ),
    ] = None
    launch: Annotated[
        list[str] | None,
        typer.Option(
            "--launch",
            metavar="KEY=VALUE",
            help="An option of submitit's executor, such as slurm_partition=cpu, or of ray.init, such as address=auto.",
            rich_help_panel=PANEL,
        ),
    ] = None
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Of all workers of this machine, or with --on submitit or ray of each: 4GB, 500MB.",
            rich_help_panel=PANEL,
        ),
    ] = "4GB"
    exact: Annotated[
        bool, typer.Option("--exact", help="Compare each text with all others, not in cells.", rich_help_panel=PANEL)
    ] = False
    sample: Annotated[
        int,
        typer.Option(
            "--sample",
            help="Texts that are compared with all others, to say which share of the links was found; 0: none.",
            min=0,
            max=1_000_000,
            rich_help_panel=PANEL,
        ),
    ] = 1000
    keep_stages: Annotated[
        bool,
        typer.Option(
            "--keep-stages", help="Keep the files of the stages: parts added later cost less.", rich_help_panel=PANEL
        ),
    ] = False


def names(kind: Any) -> frozenset[str]:
    """Names of the fields of a dataclass."""
    return frozenset(each.name for each in fields(kind))


FILE_ALONE = names(OfFile) | names(DedupeOptions) - OF_FOLDERS
FOLDER_ALONE = names(OfFolder)


def parameters() -> Iterator[inspect.Parameter]:
    """The options of the command, for typer."""
    for kind in (Common, DedupeOptions, OfFile, OfFolder):
        for each in fields(kind):
            default, asked = _of_command(each) if kind is DedupeOptions else (each.default, each.type)
            yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=asked)


def _of_command(each: Field[Any]) -> tuple[Any, Any]:
    """Default and annotated type of the option that a field of `DedupeOptions` has."""
    about = each.metadata
    asked = each.type if about["asked"] is None else about["asked"]
    default = None if type(None) in get_args(asked) else each.default
    return default, Annotated[asked, typer.Option(f"--{each.name}", help=about["help"], metavar=about["metavar"])]


def given_as(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """A dataclass from the options of the command."""
    return kind(**{name: given[name] for name in names(kind)})
