"""The options of `twicetold dedupe`: the fields of `DedupeOptions`, and of what files and folders have besides."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import Annotated, Any, TypeVar, get_args

import typer

from twicetold.commands._options import Compare, Html, Json, OutFile, Reading, option_parameters
from twicetold.dedupe.options import OF_FOLDERS, DedupeOptions

Kind = TypeVar("Kind")
ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Common(Reading):
    """Options of a file and of a folder, besides those of `DedupeOptions`."""

    out: OutFile = "-"
    drop: Annotated[
        bool, typer.Option("--drop", help="Write representatives alone; the other rows go beside them.")
    ] = False
    as_json: Json = False


@dataclass(frozen=True)
class OfFile:
    """Options of a file alone."""

    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column with the ids.", show_default="numbers of rows, from 1"),
    ] = None
    compare: Compare = None
    links: Annotated[
        str | None,
        typer.Option("--links", metavar="FILE", help="File to write all linked pairs to, with why, without MODEL."),
    ] = None
    html: Html = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; show what would be found, by threshold.")
    ] = False
    ask: Annotated[
        int | None,
        typer.Option(
            "--ask",
            metavar="N",
            min=1,
            help="Without MODEL, ask about the N least certain pairs first, as the command ask does; more than before "
            "asks for the others.",
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
            help="How a folder of parts is done: workers=1, memory=4GB, exact=no; may be given several times.",
        ),
    ] = None


@dataclass(frozen=True)
class FolderSettings:
    """The values of `--folder`.

    Args:
        workers: tasks that run at a time.
        memory: of all workers.
        exact: compare each text with all others, not in cells.
    """

    workers: int = 1
    memory: str = "4GB"
    exact: bool = False

    @classmethod
    def of(cls, asked: Sequence[str]) -> "FolderSettings":
        """Those of `KEY=VALUE` words.

        Raises:
            typer.BadParameter: if one is no such word, its key is unknown or its value is not of its kind.
        """
        words = [each.partition("=") for each in asked]
        for each, (key, equals, _) in zip(asked, words, strict=True):
            if not (key and equals):
                raise typer.BadParameter(f"--folder: expected KEY=VALUE, such as workers=4; got {each!r}")
        given = {key: value for key, _, value in words}
        if unknown := given.keys() - names(cls):
            keys = ", ".join(each.name for each in fields(cls))
            raise typer.BadParameter(f"--folder: expected {keys}; got {', '.join(sorted(unknown))}")
        kinds = {each.name: each.type for each in fields(cls)}
        return cls(**{key: _value(key, value, kinds[key]) for key, value in given.items()})


def _value(key: str, text: str, kind: Any) -> Any:
    """The value of a word of --folder: a whole number, yes or no, or the text itself."""
    if kind is bool and text in ANSWERS:
        return ANSWERS[text]
    if kind is int and text.isdecimal() and int(text) >= (key == "workers"):
        return int(text)
    if kind in (bool, int):
        expected = "yes or no" if kind is bool else "a whole number"
        raise typer.BadParameter(f"--folder {key}: expected {expected}, got {text!r}")
    return text


def names(kind: Any) -> frozenset[str]:
    """Names of the fields of a dataclass."""
    return frozenset(each.name for each in fields(kind))


FILE_ALONE = names(OfFile) | names(DedupeOptions) - OF_FOLDERS
FOLDER_ALONE = names(OfFolder)


def parameters() -> Iterator[inspect.Parameter]:
    """The options of the command, for typer."""
    yield from option_parameters(Common)
    for each in fields(DedupeOptions):
        default, asked = _of_command(each)
        yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=asked)
    yield from (*option_parameters(OfFile), *option_parameters(OfFolder))


def _of_command(each: Field[Any]) -> tuple[Any, Any]:
    """Default and annotated type of the option that a field of `DedupeOptions` has."""
    about = each.metadata
    asked = each.type if about["asked"] is None else about["asked"]
    default = None if type(None) in get_args(asked) else each.default
    return default, Annotated[asked, typer.Option(f"--{each.name}", help=about["help"], metavar=about["metavar"])]


def given_as(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """A dataclass from the options of the command."""
    return kind(**{name: given[name] for name in names(kind)})
