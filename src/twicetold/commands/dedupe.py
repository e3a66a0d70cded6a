"""`twicetold dedupe`: groups of rows whose texts are duplicates."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from twicetold import layout
from twicetold.commands._console import tell
from twicetold.commands._dedupe_options import Asked, Common, OfFile, OfFolder
from twicetold.commands._options import ModelAndFile, file_format, model_and_file, with_options
from twicetold.commands._outputs import beside, require_apart
from twicetold.commands._progress import load_model, progress, require_usable
from twicetold.dedupe.options import OF_FOLDERS, DedupeOptions
from twicetold.printable import counted

if TYPE_CHECKING:
    from twicetold.matching.comparison import Comparison
    from twicetold.matching.senses import Sense

MANY = 250_000  # rows from which they are compared in blocks: in memory they take 2 GB, and one core


@with_options
def dedupe(
    context: typer.Context, arguments: ModelAndFile, common: Common, asked: Asked, alone: OfFile, folder: OfFolder
) -> None:
    """Group the duplicate rows of a file; nothing is dropped without --drop.

    Examples:
        twicetold dedupe questions.csv -o grouped.csv
        twicetold dedupe questions.csv --compare letters --ask 20 --drop -o unique.csv

    Columns are added: group, representative (the number of a row, from 1, or its id), probability_to_representative.
    Without MODEL texts are compared by letters, words, numbers and codes, and by vectors where the extra static is
    installed; how much each counts was learnt on other files. --sense says what counts as a duplicate: copies
    with small changes, texts about the same thing (the default), or about one event or topic. --compare takes your own
    vectors in place of those; if MODEL is the .json file that calibrate wrote for them, only their cosine counts.

    With --ask you are shown the least certain pairs first: y if both texts are the same, n if not. Your answers hold,
    and similar pairs are judged by them. They are kept in FILE.answers.csv, so that the same command resumes.

    With --drop the rows that are left out of unique.csv go to unique.dropped.csv, with the same columns, and with
    --skip-bad bad rows to unique.bad.csv, with line and reason.

    FILE may be a folder of parts, and --out is a folder as well: they are grouped as one file. Without MODEL, columns
    or topics, many texts are compared in blocks. Run the same command again to resume.
    """
    from twicetold.commands._columns import text_and_others

    text, others = text_and_others(common.text, asked.also)
    common, asked = replace(common, text=text), replace(asked, also=others)
    if not _is_of_folder(context, arguments):
        return _dedupe_file(arguments, common, asked, alone)
    from twicetold.commands._dedupe_folder import dedupe_folder

    return dedupe_folder(arguments, common, asked, folder)


def _is_of_folder(context: typer.Context, arguments: list[str]) -> bool:
    """Return true if a folder is to be deduped.

    Raises:
        typer.BadParameter: if an option is given that is for a file alone, or for a folder alone.
    """
    folder = Path(arguments[-1])
    a_model = len(arguments) == 1 and any((folder / name).exists() for name in (layout.MODEL, layout.RECIPE))
    meant = len(arguments) <= 2 and folder.is_dir() and not a_model
    of_file, of_both, of_folder = ({each.name for each in fields(kind)} for kind in (OfFile, DedupeOptions, OfFolder))
    given = {
        name for name in context.params if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }
    wrong = given & (of_file | of_both - OF_FOLDERS if meant else of_folder)
    if wrong:
        flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
        named = ", ".join(sorted(flags[name] for name in wrong))
        kind, other = ("file", "folder") if meant else ("folder of parts", "file")
        raise typer.BadParameter(f"{named}: for a {kind} alone, and {arguments[-1]} is a {other}: leave it out")
    return meant


def _dedupe_file(arguments: list[str], common: Common, asked: Asked, alone: OfFile) -> None:
    with progress("loading libraries"):
        from twicetold.commands._columns import fitted_to, needed, options_of
        from twicetold.commands._dedupe_file import TextFile, write_files
        from twicetold.commands._dedupe_messages import as_json, in_sentences, tell_result
        from twicetold.dedupe.dedupe import dedupe as dedupe_texts
        from twicetold.tables.streams import STANDARD

    model, file = model_and_file(arguments, "dedupe", alone.compare, decision=True)
    written = _outputs(model, file, common, asked, alone)
    read = TextFile.read(file, common, id_column=alone.id_column, needed=needed(asked))
    options = options_of(read, asked)
    trained = model if alone.compare is None else None
    loaded = fitted_to(read, alone.compare, model) if trained is None else load_model(trained)
    if (answers := written["answers"]) is not None:
        from twicetold.commands.ask import ask_of_file, asking

        further = dict(zip(asked.also or [], options["also"], strict=True))
        asked_of: Any = {"count": alone.ask, "options": options, "beside": further}
        options["pairs"] = ask_of_file(loaded, read, Path(answers), **asked_of, ask=asking(browser=alone.browser))
    others = alone.compare or alone.ask or model or options["same"] or options["within"] or options["also"]
    in_memory = others or options["sense"] == "topic" or len(read.texts) < MANY
    with nullcontext() if in_memory else _in_blocks(read.texts, options["sense"]) as comparison:
        groups = dedupe_texts(loaded, read.texts, DedupeOptions(**options), progress=tell, comparison=comparison)
        write_files(read, groups, written, drop=common.drop, format=file_format(common.format)["format"])
    rows, dropped = len(read.texts), len(read.texts) - len(groups.kept()) if common.drop else None
    shown = as_json if common.as_json else in_sentences
    place = None if common.out == STANDARD else f"{common.out}: {counted(rows - (dropped or 0), 'row')}"
    about = shown(groups, read.texts if common.as_json else groups.texts, read.names.to_pylist())
    aside, bad_aside = written["dropped rows"], written["bad rows"]
    tell_result(about, rows=rows, dropped=dropped, aside=aside, bad=len(read.bad), bad_aside=bad_aside, place=place)


def _in_blocks(texts: list[str], sense: "Sense") -> "AbstractContextManager[Comparison | None]":
    from twicetold.staged.file_in_blocks import compared_in_blocks

    return compared_in_blocks(texts, sense, progress=tell)


def _outputs(model: str | None, file: str, common: Common, asked: Asked, alone: OfFile) -> dict[str, str | None]:
    """List the files to write by what goes to them; refuse what cannot all be written, or a model that cannot run.

    Raises:
        typer.BadParameter: if there are such.
    """
    written = {
        "rows": common.out,
        "links": alone.links,
        "page": alone.html,
        "dropped rows": beside(common.out) if common.drop else None,
        "bad rows": beside(common.out, "bad") if common.drop and common.skip_bad else None,
        "answers": None,
    }
    if alone.browser and alone.ask is None:
        raise typer.BadParameter("--browser is for questions: give their number with --ask")
    if alone.ask is not None:
        from twicetold.commands.ask import answers_beside

        written["answers"] = str(answers_beside(file))
    sources = {"texts": file, "pairs": asked.pairs, "vectors": alone.compare, "weights": model}
    require_apart(written, sources, summary=common.as_json)
    if model is not None and alone.compare is None:
        require_usable(model)
    return written
