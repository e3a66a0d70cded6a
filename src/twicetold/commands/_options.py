"""Arguments and options that several commands have, and what they say of bad rows."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.neighbours import rules
from twicetold.printable import print

if TYPE_CHECKING:
    from twicetold.tables.bad_rows import BadRows

Model = Annotated[str, typer.Argument(help="Run folder, model folder or models:/ address.", show_default=False)]
File = Annotated[str, typer.Argument(help="CSV, TSV, JSON lines or Parquet; - for stdin.", show_default=False)]
OutFile = Annotated[str, typer.Option("--out", "-o", help="File to write, of any of the formats; - for stdout.")]
Text = Annotated[str | None, typer.Option("--text", help="Column with the texts.", show_default="by its name")]
Left = Annotated[str | None, typer.Option("--left", help="Column with one text.", show_default="by its name")]
Right = Annotated[str | None, typer.Option("--right", help="Column with the other.", show_default="by its name")]
Precision = Annotated[
    float | None,
    typer.Option("--precision", help="Share of links that are right, if the model has thresholds for it."),
]
Threshold = Annotated[float | None, typer.Option("--threshold", help="Least probability of a link.")]
Rule = Annotated[rules.Rule, typer.Option("--rule", help="How links make groups.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, jsonl or parquet, of stdin and of what has no such suffix.", show_default=False
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
IndexModel = Annotated[
    str | None, typer.Option("--model", help="Where the index's model is now.", show_default="where it was")
]


def tell_left_out(bad: "BadRows") -> None:
    """Say on stderr which rows were left out, if any were."""
    if bad.count:
        print(f"bad rows left out: {bad.count:,}\n{bad}", file=sys.stderr)
