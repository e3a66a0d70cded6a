"""The options of `twicetold dedupe`: the fields of `DedupeOptions`, and of what files and folders have besides."""

from dataclasses import dataclass
from typing import Annotated

import typer

from twicetold.commands._options import (
    SAME,
    WITHIN,
    Browser,
    Compare,
    Html,
    Id,
    Json,
    OfSense,
    On,
    OutFile,
    Pairs,
    Precision,
    Reading,
    Threshold,
)
from twicetold.dedupe.options import DEFAULTS, KEEP
from twicetold.neighbours.rules import Rule


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
    browser: Browser = False


@dataclass(frozen=True)
class OfFolder:
    """Options of a folder of parts alone."""

    folder: Annotated[
        list[str] | None,
        typer.Option(
            "--folder",
            metavar="KEY=VALUE",
            help="Settings for a folder of parts: workers=1, memory=4GB; repeat for several.",
        ),
    ] = None
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="What runs the tasks of a folder of parts: processes, dask, ray, spark or slurm.",
        ),
    ] = "processes"


@dataclass(frozen=True)
class Asked:
    """The fields of `DedupeOptions` as a person types them: names of columns and files in place of values."""

    precision: Precision = DEFAULTS.precision
    threshold: Threshold = DEFAULTS.threshold
    sense: OfSense = DEFAULTS.sense
    rule: Annotated[Rule, typer.Option("--rule", help="How links are merged into groups.")] = DEFAULTS.rule
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            help=f"The row that represents a group: {', '.join(KEEP)}, or by a column newest:COLUMN, oldest:COLUMN, "
            "highest:COLUMN, lowest:COLUMN.",
        ),
    ] = "first"
    same: Annotated[list[str] | None, typer.Option("--same", metavar="COLUMN,…", help=SAME)] = None
    within: Annotated[list[str] | None, typer.Option("--within", metavar="COLUMN:SIZE", help=WITHIN)] = None
    also: On = None
    pairs: Pairs = None
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth",
            metavar="COLUMN",
            help="Column with known groups, of some rows or all: report how well the result agrees.",
        ),
    ] = None
