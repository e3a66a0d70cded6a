"""`twicetold dedupe`: groups of rows whose texts say the same."""

from typing import Annotated, Any

import typer

from twicetold.commands._folder_options import Exact, KeepStages, Launch, Memory, On, Sample, Workers
from twicetold.commands._options import (
    Delimiter,
    Format,
    Lexical,
    ModelAndFile,
    OutFile,
    Precision,
    Rule,
    SkipBad,
    Text,
    Threshold,
    Vectors,
    model_and_file,
)
from twicetold.commands._outputs import Force, dropped_beside, require_apart
from twicetold.commands._waiting import load_model, require_usable, waiting
from twicetold.dedupe.options import DEFAULTS, KEEP
from twicetold.printable import counted, json_text, print

REVIEWED = 100  # pairs of a review


def dedupe(
    context: typer.Context,
    arguments: ModelAndFile,
    out: OutFile = "-",
    text: Text = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column with the ids.", show_default="numbers of rows, from 1"),
    ] = None,
    precision: Precision = DEFAULTS.precision,
    threshold: Threshold = DEFAULTS.threshold,
    lexical: Lexical = False,
    vectors: Vectors = None,
    rule: Rule = DEFAULTS.rule,
    keep: Annotated[
        str,
        typer.Option(
            help=f"The text that represents a group: {', '.join(KEEP)}, or by a column newest:COLUMN, oldest:COLUMN, "
            "highest:COLUMN, lowest:COLUMN."
        ),
    ] = DEFAULTS.keep,
    same: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Link rows with equal values alone; may be given several times."),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:SIZE",
            help="Link rows whose numbers (price:5) or dates (date:3d; s, m, h, d, w) are at most so far apart.",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File of pairs that say the same or not: columns left, right, same."),
    ] = None,
    links: Annotated[str | None, typer.Option(metavar="FILE", help="File to write all linked pairs to.")] = None,
    truth: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with known groups, of some rows or all: say how well these agree."),
    ] = None,
    why: Annotated[
        bool,
        typer.Option("--why", help="Say in the links and the summary which terms make a link."),
    ] = False,
    review: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File for the pairs nearest to the threshold, for label and --pairs."),
    ] = None,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="Write representatives alone; the other rows go beside them."),
    ] = False,
    force: Force = False,
    format: Format = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON to stdout.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Write nothing; show what would be found, by threshold; of a folder, the cost."),
    ] = False,
    workers: Workers = 1,
    on: On = None,
    launch: Launch = None,
    memory: Memory = "4GB",
    exact: Exact = False,
    sample: Sample = 1000,
    keep_stages: KeepStages = False,
) -> None:
    """Group the rows of a file whose texts say the same; nothing is dropped without --drop.

    Examples:
        twicetold dedupe questions.csv -o grouped.csv
        twicetold dedupe questions.csv --lexical --threshold 0.6 --drop -o unique.csv

    Columns are added: group, representative (the number of a row, from 1, or its id), probability_to_representative.
    Without MODEL the letters and words of the texts are compared, and vectors where the extra static is installed, or
    with --vectors yours alone; and the last column is similarity_to_representative.

    With --drop the rows that are left out of unique.csv go to unique.dropped.csv, with the same columns.

    With MODEL, FILE may be a folder of parts, and --out is a folder as well: they are grouped as one file, in stages,
    out of memory. The same command goes on after whatever ended it.
    """
    import sys
    from dataclasses import asdict

    with waiting("loading libraries"):
        from twicetold.commands import _dedupe_folder, _dedupe_told
        from twicetold.commands._columns import columns_of, keeping, kept_by, truth_of, window
        from twicetold.commands._dedupe_file import TextFile, write_files
        from twicetold.commands._fitted import fitted_to
        from twicetold.commands._pairs_file import pairs_of
        from twicetold.dedupe.limits import Limits
        from twicetold.tables.streams import STANDARD

    def tell(step: str) -> None:
        print(step, file=sys.stderr)

    if _dedupe_folder.is_meant(context, arguments):
        _dedupe_folder.dedupe(context.params)
        return
    model, file = model_and_file(arguments, "dedupe", lexical=lexical, vectors=vectors)
    aside = dropped_beside(out) if drop else None
    written = {"rows": out, "links": links, "review": review, "dropped rows": aside}
    _check_outputs(written, drop=drop, as_json=as_json, dry_run=dry_run)
    sources = {"texts": file, "pairs": pairs, "vectors": vectors, "weights": model}
    require_apart(written, sources, force=force)
    if model is not None:
        require_usable(model)
    if aside is not None and force:
        _keep_dropped_before(out, file, aside)
    windows = [window(each) for each in within or []]
    by_column = keeping(keep)
    needed = [*(same or []), *(column for column, _ in windows), *([by_column[1]] if by_column else [])]
    needed += [] if truth is None else [truth]
    with waiting(f"reading {file}"):
        read = TextFile.read(
            file,
            text=text,
            id_column=id_column,
            needed=needed,
            format=format,
            delimiter=delimiter,
            skip_bad=skip_bad,
        )
    limits, chosen, known = columns_of(read, same or [], windows), kept_by(read, keep), truth_of(read, truth)
    said = None if pairs is None else pairs_of(pairs, read, Limits.of(len(read.texts), **limits))
    loaded = None if model is None else load_model(model)
    with waiting("learning the words of the texts"):
        loaded = loaded or fitted_to(read, lexical=lexical, vectors=vectors)
    options: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "rule": rule,
        "progress": tell,
        "pairs": said,
        "truth": known,
        **limits,
    }
    if dry_run:
        tried = loaded.dry_run(read.texts, **options)
        print(json_text(asdict(tried)) if as_json else _dedupe_told.by_threshold(tried))
        return
    found = loaded.dedupe(read.texts, keep=chosen, review=0 if review is None else REVIEWED, **options)
    explain = loaded.why if why else None
    kept = write_files(read, found, written, drop=drop, format=format, explain=explain)
    names, dropped = read.names.to_pylist(), int((~kept).sum()) if drop else 0
    reasons = None if explain is None else _dedupe_told.reasons(found, read.texts_of, explain)
    if as_json:
        about = _dedupe_told.as_json(found, read.texts, names, reasons)
        print(json_text({**about, **_dedupe_told.dropped_as_json(dropped, len(kept), aside)}))
    else:
        print(_dedupe_told.in_sentences(found, read.texts, names, reasons), file=sys.stderr)
    if out != STANDARD:
        print(f"{out}: {counted(len(kept) - dropped, 'row')}", file=sys.stderr)
    if drop:
        print(_dedupe_told.dropped_in_words(dropped, len(kept), aside), file=sys.stderr)


def _check_outputs(files: dict[str, str | None], *, drop: bool, as_json: bool, dry_run: bool) -> None:
    """Refuse files that cannot all be written.

    Args:
        files: by what is written to them; None: it is not written.
        drop: as given.
        as_json: as given.
        dry_run: as given.

    Raises:
        typer.BadParameter: if there are such.
    """
    from twicetold.tables.streams import STANDARD

    given = {what: file for what, file in files.items() if file is not None}
    if dry_run:
        if drop or set(given) - {"rows"} or given["rows"] != STANDARD:
            raise typer.BadParameter("--dry-run writes nothing: leave out -o, --links, --review and --drop")
        return
    if as_json and STANDARD in given.values():
        raise typer.BadParameter("--json prints to stdout: write the rows to a file, with -o, and so the links")


def _keep_dropped_before(out: str, file: str, dropped: str) -> None:
    """Refuse to replace the rows that were dropped from a file before, when it is deduped in place once more.

    Raises:
        typer.BadParameter: if they are there.
    """
    from pathlib import Path

    from twicetold.tables.streams import is_one_file

    if Path(dropped).exists() and is_one_file(out, file):
        raise typer.BadParameter(
            f"{dropped} has the rows that were dropped from {file} before, and would be replaced: move it elsewhere"
        )
