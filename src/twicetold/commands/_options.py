"""Arguments and options that several commands have."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from twicetold.matching.senses import SENSES, Sense

Model = Annotated[str, typer.Argument(help="Run folder or model folder.", show_default=False)]
ModelAndFile = Annotated[
    list[str],
    typer.Argument(
        metavar="[MODEL] FILE",
        help="Run folder or model folder (optional), then CSV, TSV, JSON lines, Parquet or .xlsx; - for stdin.",
        show_default=False,
    ),
]
LETTERS = "letters"  # of --compare
Compare = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar=f"{LETTERS}|VECTORS",
        help=f"Without MODEL: {LETTERS} and words only, or your vectors as well: a .npy file, a column, a folder of "
        "model2vec.",
        show_default="letters and words, and vectors if the extra static is installed",
    ),
]
File = Annotated[str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or .xlsx; - for stdin.", show_default=False)]
OutFile = Annotated[str, typer.Option("--out", "-o", help="File to write, of any of the formats; - for stdout.")]
Text = Annotated[str | None, typer.Option("--text", help="Column with the texts.", show_default="by its name")]
Left = Annotated[str | None, typer.Option("--left", help="Column with the first text.", show_default="by its name")]
Right = Annotated[str | None, typer.Option("--right", help="Column with the second text.", show_default="by its name")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl, parquet or xlsx, if the suffix does not tell; csv:semicolon for semicolons.",
        show_default="detected",
    ),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Skip bad rows; they are counted, and the first ten are listed.")
]
About = Annotated[
    str | None,
    typer.Option(help="Label that duplicates share, such as category.", show_default="the finest"),
]
Html = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="HTML page to write: least certain first, differences highlighted."),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Column with the ids.", show_default="row numbers, from 1"),
]
Precision = Annotated[float | None, typer.Option("--precision", help="Target precision (needs a calibrated model).")]
Threshold = Annotated[float | None, typer.Option("--threshold", help="Minimum probability of a link.")]
OfSense = Annotated[
    Sense, typer.Option("--sense", help=f"Without MODEL, what counts as a duplicate: {', '.join(SENSES)}.")
]
ON = (
    "Columns to compare: texts, numbers or dates. Rows are shown by that of --text, or text, title or question among "
    "them, or the first."
)
On = Annotated[list[str] | None, typer.Option("--on", metavar="COLUMN,…", help=f"Without MODEL. {ON}")]
Pairs = Annotated[
    str | None,
    typer.Option("--pairs", metavar="FILE", help="File of known pairs, duplicates or not: columns left, right, same."),
]
SAME = "Link only rows with equal values in these columns."
WITHIN = "Link only rows whose numbers (price:5) or dates (date:3d; s, m, h, d, w) differ by at most this."
Json = Annotated[bool, typer.Option("--json", help="Print JSON to stdout instead of sentences.")]
Browser = Annotated[
    bool, typer.Option("--browser", help="Ask on a page of this machine alone, in place of the terminal.")
]
Index = Annotated[str, typer.Argument(metavar="INDEX", help="Folder of the index.", show_default=False)]
IndexModel = Annotated[
    str | None,
    typer.Option("--model", help="Folder of the index's model, if it was moved.", show_default="where it was"),
]


def file_format(asked: str | None) -> dict[str, Any]:
    """Return the format and the delimiter that `csv:semicolon` and the like ask for, as keywords of `open_rows`.

    Raises:
        typer.BadParameter: if the format has no delimiter.
    """
    name, colon, delimiter = (asked or "").partition(":")
    if not colon:
        return {"format": asked, "delimiter": None}
    if name != "csv":
        raise typer.BadParameter(f"--format: expected a delimiter of csv alone, such as csv:semicolon; got {asked!r}")
    return {"format": name, "delimiter": delimiter}


@dataclass(frozen=True)
class Reading:
    """Options by which a file of texts is read."""

    text: Text = None
    format: Format = None
    skip_bad: SkipBad = False


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of the dataclasses of options among its parameters."""
    kinds: dict[str, Any] = {}
    flat: list[inspect.Parameter] = []
    for name, each in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(each.annotation):
            kinds[name] = each.annotation
            flat += [
                each.replace(name=of.name, default=of.default, annotation=of.type) for of in fields(each.annotation)
            ]
        else:
            flat.append(each)

    def run(**given: Any) -> None:
        for name, kind in kinds.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    keyword_only = (each.replace(kind=each.KEYWORD_ONLY) for each in flat)
    run.__signature__ = inspect.Signature([*keyword_only])  # type: ignore[attr-defined]  # what typer reads
    return run


def model_and_file(
    given: list[str], command: str, compare: str | None = None, *, decision: bool = False
) -> tuple[str | None, str]:
    """Return the model, None if there is none, and the file.

    Args:
        given: arguments of the command line.
        command: their command.
        compare: the option --compare, which is for a file without a model.
        decision: whether a .json file that calibrate wrote for vectors may stand for a model, with `compare`.

    Raises:
        typer.BadParameter: if there are more than two arguments, there is no file, or a model as well as `compare`.
        ValueError: if the model is a file.
    """
    if len(given) > 2:
        raise typer.BadParameter(f"expected [MODEL] FILE, got {len(given)} arguments: {' '.join(given)}")
    if len(given) == 1:
        if Path(given[0]).is_dir():
            raise typer.BadParameter(
                f"{given[0]} is a folder, and the file is missing: twicetold {command} {given[0]} FILE"
            )
        return None, given[0]
    if decision and given[0].endswith(".json"):
        if compare in (None, LETTERS):
            raise typer.BadParameter(f"{given[0]} says what a cosine means: give the vectors with --compare")
        return given[0], given[1]
    if compare is not None:
        raise typer.BadParameter("--compare is for a file without a model: leave one of them out")
    if Path(given[0]).is_file():
        raise ValueError(
            f"expected a model before the file, got the file {given[0]}: name the folder of a model, or one file alone"
        )
    return given[0], given[1]
