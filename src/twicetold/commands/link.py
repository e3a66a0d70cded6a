"""`twicetold link`: pairs of a row of one file and a row of another whose texts are duplicates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._console import tell
from twicetold.commands._options import (
    LETTERS,
    ON,
    SAME,
    WITHIN,
    Html,
    Json,
    OutFile,
    Pairs,
    Reading,
    file_format,
    with_options,
)
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import progress
from twicetold.printable import counted, differing, json_text, print

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.dedupe.linked_rows import LinkedRows

SHOWN = 3  # of the least probable pairs
SIDES = ("left", "right")
FILE = "CSV, TSV, JSON lines, Parquet or .xlsx; - for stdin, or a folder of such parts."
Repeated = list[str] | None
SEVERAL = "COLUMN,… or LEFT=RIGHT,…"


def _column(name: str, help: str, *, default: bool | str = True, metavar: str = "COLUMN or LEFT=RIGHT") -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=default)


@dataclass(frozen=True)
class Columns(Reading):
    """Options by which two files are read; a column has one name in both, or two as in LEFT=RIGHT."""

    text: Annotated[str | None, _column("--text", "Column with the texts.", default="by its name")] = None
    id_column: Annotated[str | None, _column("--id", "Column with the ids.", default="row numbers, from 1")] = None
    same: Annotated[Repeated, _column("--same", SAME, metavar=SEVERAL)] = None
    within: Annotated[Repeated, _column("--within", WITHIN, metavar="COLUMN:SIZE")] = None
    on: Annotated[Repeated, _column("--on", ON, metavar=SEVERAL)] = None

    def read(self, file: str, side: int) -> "tuple[TextFile, dict[str, Any]]":
        """Read a file, and the values of the columns that options name, by option.

        Args:
            file: its path, or `-`.
            side: 0 for the left file, 1 for the right one.
        """
        from twicetold.commands._columns import split, text_among, values_of, window
        from twicetold.commands._dedupe_file import TextFile

        limits, on = (
            [_names(name) for each in asked or [] for name in split(each, ",")] for asked in (self.same, self.on)
        )
        text, ids = (None if asked is None else _names(asked) for asked in (self.text, self.id_column))
        if text is None and on:
            text = text_among(on)
        same, also = [names[side] for names in limits], [names[side] for names in on if names != text]
        sizes = [(_names(column)[side], size) for column, size in map(window, self.within or [])]
        needed = [*same, *also, *(column for column, _ in sizes)]
        reading = replace(self, text=None if text is None else text[side])
        id_column = None if ids is None else ids[side]
        read = TextFile.read(file, reading, id_column=id_column, needed=needed, added=())
        return read, {**values_of(read, same, [f"{column}:{size}" for column, size in sizes], also), "names": also}


@with_options
def link(
    left: Annotated[str, typer.Argument(metavar="LEFT", help=FILE, show_default=False)],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help=FILE, show_default=False)],
    columns: Columns,
    out: OutFile = "-",
    threshold: Annotated[float, typer.Option("--threshold", help="Minimum probability of a link.")] = 0.5,
    pairs: Pairs = None,
    ask: Annotated[
        int | None,
        typer.Option("--ask", metavar="N", min=1, help="Ask about the N least certain pairs first, as dedupe does."),
    ] = None,
    left_join: Annotated[
        bool, typer.Option("--left-join", help="Write rows of LEFT without a partner as well, with nothing beside.")
    ] = False,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="Link each row with at most one other.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar=f"{LETTERS}|VECTORS or LEFT=RIGHT",
            help=f"{LETTERS} and words only, or your vectors as well: .npy files, columns, a folder of model2vec.",
            show_default="letters and words, and vectors if the extra static is installed",
        ),
    ] = None,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Match rows of one file with rows of another.

    Examples:
        twicetold link questions.csv new.csv -o linked.csv
        twicetold link questions.csv new.csv --one-to-one --ask 5 -o linked.csv

    A row is written for each pair: left and right (numbers of rows, from 1, or ids), left_text, right_text,
    probability that both are duplicates. Pairs within one file are not compared. No labels are needed: the
    probability comes from a matcher that was trained on other files. With --ask you are shown the least certain pairs
    first; your answers are kept in LEFT-RIGHT.answers.csv, hold, and move the matcher.
    """
    with progress("loading libraries"):
        from twicetold.commands._columns import vectors_of
        from twicetold.commands._pairs_file import pairs_of
        from twicetold.commands.ask import answers_beside, ask_about
        from twicetold.dedupe.link import TwoTables, require_threshold
        from twicetold.tables.files import write_rows
        from twicetold.tables.streams import STANDARD, format_of, is_one_file

    if is_one_file(left, right):
        raise typer.BadParameter(f"{left} is on both sides: twicetold dedupe FILE finds pairs within one file")
    beside = STANDARD if STANDARD in (left, right) else f"{Path(left)}-{Path(right).name}"
    answers = None if ask is None else answers_beside(beside)
    named = (None, None) if compare in (None, LETTERS) else _names(compare)
    read = {"left texts": left, "right texts": right, "known pairs": pairs}
    read |= {"left vectors": named[0], "right vectors": named[1]}
    require_apart({"pairs": out, "page": html, "answers": answers}, read, summary=as_json)
    require_threshold(threshold)
    one, of_left = columns.read(left, 0)
    other, of_right = columns.read(right, 1)
    same, also = (list(zip(of_left[name], of_right[name], strict=True)) for name in ("same", "also"))
    within = [(a, b, size) for (a, size), (b, _) in zip(of_left["within"], of_right["within"], strict=True)]
    options: Any = {"same": same, "within": within, "also": also, "lexical": compare == LETTERS}
    if named[0] is not None:
        found = [vectors_of(file, name) for file, name in zip((one, other), named, strict=True)]
        options["vectors"] = found[0] if named[0] == named[1] and Path(named[0]).is_dir() else found
    with progress("comparing the texts"):
        tables = TwoTables.of(one.texts, other.texts, **options)
    known: Any = None if pairs is None else pairs_of(pairs, one, tables.limits, right=other)[0]
    if ask is not None and answers is not None:
        options = {"count": ask, "known": known, "limits": tables.limits}
        options["beside"] = _beside((of_left, of_right), tables.counts)
        rows, others, answer = ask_about(tables.questions, (one, other), answers, **options)
        known = rows, [row - tables.counts[0] for row in others], answer
    linked = tables.link(threshold=threshold, one_to_one=one_to_one, pairs=known)
    written = linked.left_join() if left_join else (linked.left, linked.right, linked.probability)
    format = file_format(columns.format)["format"] or one.format
    with write_rows(out, format=format, delimiter=one.delimiter) as write:
        block = one.pairs(written[0], written[1], {"probability": written[2]}, other=other)
        write(block if format_of(out, format) == "parquet" else block.rounded())
    if html is not None:
        linked.html((one.names.to_pylist(), other.names.to_pylist())).write(html)
    summary = _summary((one, other), linked)
    if as_json:
        print(json_text({**summary, "threshold": threshold, "one_to_one": one_to_one}))
    else:
        tell(*_sentences((one, other), summary), *_doubtful(one, other, linked))
    if out != STANDARD:
        tell(f"{out}: {counted(len(written[0]), 'row' if left_join else 'pair')}")


def _names(asked: str) -> tuple[str, str]:
    """Return the names of a column in the left file and in the right one.

    Raises:
        typer.BadParameter: if there are more than two, or one is empty.
    """
    from twicetold.commands._columns import split, unquoted

    names = [*map(unquoted, split(asked, "="))]
    if len(names) > 2 or not all(names):
        raise typer.BadParameter(f"expected a column of both files, or LEFT=RIGHT, got {asked!r}")
    return names[0], names[-1]


def _beside(sides: Sequence[dict[str, Any]], counts: tuple[int, int]) -> dict[str, list[str]]:
    """Further columns to show beside the n + m texts, each under the name that it has in its own file."""
    shown: dict[str, list[str]] = {}
    for start, options, count in zip((0, counts[0]), sides, counts, strict=True):
        for name, values in zip(options["names"], options["also"], strict=True):
            shown.setdefault(name, [""] * sum(counts))[start : start + count] = values
    return shown


def _summary(files: "tuple[TextFile, TextFile]", linked: "LinkedRows") -> dict[str, Any]:
    """Return every row of both files, by what became of it."""
    sides = zip(SIDES, files, linked.linked(), linked.unlinked(), strict=True)
    of_sides = {
        side: {"rows": len(file.texts), "linked": len(some), "unlinked": len(others), "bad": len(file.bad)}
        for side, file, some, others in sides
    }
    return {"pairs": len(linked), **of_sides, "without_values": linked.without_values}


def _sentences(files: "tuple[TextFile, TextFile]", summary: dict[str, Any]) -> list[str]:
    """Return the summary in sentences."""
    lines = [counted(summary["pairs"], "pair")]
    for side, file in zip(SIDES, files, strict=True):
        rows, about = counted(summary[side]["rows"], "row"), summary[side]
        bad = f", {counted(about['bad'], 'bad row')} left out" if about["bad"] else ""
        lines.append(f"{file.name}: {rows}, {about['linked']:,} linked, {about['unlinked']:,} not{bad}")
    if alone := summary["without_values"]:
        lines.append(f"{counted(alone, 'row')} without a value in a column of --same or --within: not linked")
    return lines


def _doubtful(one: "TextFile", other: "TextFile", linked: "LinkedRows") -> list[str]:
    """Return lines about the least probable pairs, with the place where two texts differ."""
    order = linked.doubtful_first()[:SHOWN].tolist()
    lines = ["least probable pairs:"] if order else []
    for pair in order:
        texts = differing(one.texts[linked.left[pair]], other.texts[linked.right[pair]])
        lines.append(f"  {linked.probability[pair]:.3f} {texts[0]!r} - {texts[1]!r}")
    return lines
