"""`twicetold link`: pairs of a row of one file and a row of another whose texts are duplicates."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._console import tell
from twicetold.commands._options import Html, Json, OutFile, Pairs, file_format, with_options
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import progress
from twicetold.commands._two_files import FILE, Columns, CompareTwo, TwoFiles, answers_of_two, vectors_named
from twicetold.printable import counted, differing, json_text, print

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.dedupe.linked_rows import LinkedRows

SHOWN = 3  # of the least probable pairs
SIDES = ("left", "right")


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
    compare: CompareTwo = None,
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
        from twicetold.commands._pairs_file import pairs_of
        from twicetold.dedupe.link import require_threshold
        from twicetold.tables.files import write_rows
        from twicetold.tables.streams import STANDARD, format_of, is_one_file

    if is_one_file(left, right):
        raise typer.BadParameter(f"{left} is on both sides: twicetold dedupe FILE finds pairs within one file")
    answers = None if ask is None else answers_of_two(left, right)
    named = vectors_named(compare)
    read = {"left texts": left, "right texts": right, "known pairs": pairs}
    read |= {"left vectors": named[0], "right vectors": named[1]}
    require_apart({"pairs": out, "page": html, "answers": answers}, read, summary=as_json)
    require_threshold(threshold)
    two = TwoFiles.read(left, right, columns, compare)
    (one, other), tables = two.files, two.tables
    known: Any = None if pairs is None else pairs_of(pairs, one, tables.limits, right=other)[0]
    if ask is not None and answers is not None:
        known = two.ask(ask, answers, known)
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
