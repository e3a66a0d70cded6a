"""Arguments and options that several commands have, and what they say of bad rows."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold import layout
from twicetold.dedupe.options import HELP
from twicetold.neighbours import rules
from twicetold.printable import print

if TYPE_CHECKING:
    from twicetold.tables.bad_rows import BadRows

Model = Annotated[str, typer.Argument(help="Run folder, model folder or models:/ address.", show_default=False)]
ModelAndFile = Annotated[
    list[str],
    typer.Argument(
        metavar="[MODEL] FILE",
        help="Run folder, model folder or models:/ address, if any; and CSV, TSV, JSON lines or Parquet, - for stdin.",
        show_default=False,
    ),
]
Lexical = Annotated[
    bool,
    typer.Option("--lexical", help="Without MODEL: compare letters and words alone, also where vectors are there."),
]
Vectors = Annotated[
    str | None,
    typer.Option(
        "--vectors",
        help="Without MODEL: compare vectors made elsewhere: a .npy file, a column of lists, or a folder of model2vec.",
        show_default=False,
    ),
]
File = Annotated[str, typer.Argument(help="CSV, TSV, JSON lines or Parquet; - for stdin.", show_default=False)]
OutFile = Annotated[str, typer.Option("--out", "-o", help="File to write, of any of the formats; - for stdout.")]
Text = Annotated[str | None, typer.Option("--text", help="Column with the texts.", show_default="by its name")]
Left = Annotated[str | None, typer.Option("--left", help="Column with one text.", show_default="by its name")]
Right = Annotated[str | None, typer.Option("--right", help="Column with the other.", show_default="by its name")]
Precision = Annotated[
    float | None,
    typer.Option("--precision", help=HELP["precision"]),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", help=HELP["threshold"]),
]
Rule = Annotated[rules.Rule, typer.Option("--rule", help=HELP["rule"])]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, jsonl or parquet, of stdin and of what has no such suffix.", show_default=False
    ),
]


def _delimiter(asked: str | None) -> str | None:
    """The character that separates fields.

    Raises:
        typer.BadParameter: if it is no known one.
    """
    from twicetold.tables.separators import separator_of

    try:
        return separator_of(asked)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="What separates the fields of .csv: comma, semicolon, tab or pipe; also in what is written.",
        show_default="as in the file",
        callback=_delimiter,
    ),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave bad rows out; they are counted and the first ten are named.")
]
About = Annotated[
    str | None,
    typer.Option(help="Label that texts which say the same share, such as category.", show_default="the finest"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]
Index = Annotated[str, typer.Argument(metavar="INDEX", help="Folder of the index.", show_default=False)]
IndexModel = Annotated[
    str | None, typer.Option("--model", help="Where the index's model is now.", show_default="where it was")
]


def model_and_file(
    given: list[str], command: str, *, lexical: bool = False, vectors: str | None = None
) -> tuple[str | None, str]:
    """The model, None if there is none, and the file.

    Args:
        given: arguments of the command line.
        command: their command.
        lexical: whether letters and words alone are to be compared.
        vectors: that are to be compared, if they were made elsewhere.

    Raises:
        typer.BadParameter: if there are more than two, there is no file, or two of a model, `lexical` and `vectors`.
        ValueError: if the model is a file.
    """
    if len(given) > 2:
        raise typer.BadParameter(f"expected [MODEL] FILE, got {len(given)} arguments: {' '.join(given)}")
    if lexical and vectors is not None:
        raise typer.BadParameter("--lexical compares letters and words alone, and --vectors vectors: leave one out")
    if len(given) == 1:
        if given[0].startswith(layout.REGISTRY) or Path(given[0]).is_dir():
            raise typer.BadParameter(
                f"{given[0]} is a {'folder' if Path(given[0]).is_dir() else 'model'}, and the file is missing: "
                f"twicetold {command} {given[0]} FILE"
            )
        return None, given[0]
    if lexical:
        raise typer.BadParameter("--lexical is for a file without a model: leave one of them out")
    if vectors is not None:
        raise typer.BadParameter("--vectors is for a file without a model: leave one of them out")
    if Path(given[0]).is_file():
        raise ValueError(
            f"expected a model before the file, got the file {given[0]}: name the folder of a model, or one file alone"
        )
    return given[0], given[1]


def tell_left_out(bad: "BadRows") -> None:
    """Say on stderr which rows were left out, if any were."""
    if bad.count:
        print(f"bad rows left out: {bad.count:,}\n{bad}", file=sys.stderr)
