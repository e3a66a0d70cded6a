"""`twicetold dedupe`: groups of rows whose texts say the same."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from twicetold.commands._dedupe_options import Common, OfFile, given_as, parameters
from twicetold.commands._options import ModelAndFile, file_format, model_and_file
from twicetold.commands._outputs import dropped_beside, require_apart
from twicetold.commands._progress import load_model, progress, require_usable
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.dedupe.results import TextGroups


def dedupe(context: typer.Context, arguments: ModelAndFile, **given: Any) -> None:
    """Group the rows of a file whose texts say the same; nothing is dropped without --drop.

    Examples:
        twicetold dedupe questions.csv -o grouped.csv
        twicetold dedupe questions.csv --compare letters --ask 20 --drop -o unique.csv

    Columns are added: group, representative (the number of a row, from 1, or its id), probability_to_representative.
    Without MODEL texts are compared by letters, words, numbers and codes, and by vectors where the extra static is
    installed; what that means for a pair was learnt on other files. --sense says which texts are duplicates: copies
    with small changes, texts about the same thing (the default), or about one event or topic. --compare takes your own
    vectors in place of those; if the .json file that calibrate wrote for them is MODEL, their cosine counts alone.

    With --ask you are shown the least certain pairs first: y if both texts are the same, n if not. Your answers hold,
    and similar pairs are judged by them. They are kept in FILE.answers.csv, so that the same command goes on.

    With --drop the rows that are left out of unique.csv go to unique.dropped.csv, with the same columns.

    With MODEL, FILE may be a folder of parts, and --out is a folder as well: they are grouped as one file, in stages,
    out of memory. The same command goes on after whatever ended it.
    """
    from twicetold.commands import _dedupe_folder

    if _dedupe_folder.is_meant(context, arguments):
        _dedupe_folder.dedupe(arguments, given)
    else:
        _dedupe_file(arguments, given)


def _signature() -> inspect.Signature:
    """The context, the arguments, and an option for each field of the dataclasses of options."""
    own = list(inspect.signature(dedupe).parameters.values())[:2]
    return inspect.Signature([*own, *parameters()])


dedupe.__signature__ = _signature()  # type: ignore[attr-defined]  # what typer reads


def _dedupe_file(arguments: list[str], given: Mapping[str, Any]) -> None:
    import sys
    from dataclasses import asdict

    with progress("loading libraries"):
        from twicetold.commands import _dedupe_messages, ask
        from twicetold.commands._columns import fitted_to, listed, needed, options_of
        from twicetold.commands._dedupe_file import write_files

    def tell(step: str) -> None:
        print(step, file=sys.stderr)

    common, alone = given_as(Common, given), given_as(OfFile, given)
    model, file = model_and_file(arguments, "dedupe", alone.compare, decision=True)
    if alone.ask is not None:
        given = {**given, "answers": ask.answers_beside(file)}
    written = _outputs(model, file, given)
    read = common.whole(file, id_column=alone.id_column, needed=needed(given))
    options = options_of(read, given)
    if model is not None and alone.compare is None:
        loaded = load_model(model)
    else:
        with progress("learning the words of the texts"):
            loaded = fitted_to(read, alone.compare, model)
    if alone.dry_run:
        tried = loaded.dry_run(read.texts, progress=tell, **options)
        print(json_text(asdict(tried)) if common.as_json else _dedupe_messages.by_threshold(tried))
        return
    if alone.ask is not None:
        beside = dict(zip(listed(given["also"]), options["also"], strict=True))
        asking: Any = {"count": alone.ask, "options": options, "beside": beside}
        options["pairs"] = ask.ask_of_file(loaded, read, given["answers"], **asking)
    groups = loaded.dedupe(read.texts, progress=tell, **options)
    kept = write_files(read, groups, written, drop=common.drop, format=file_format(common.format)["format"])
    _report_groups(read, groups, int(kept.sum()), written, common)


def _report_groups(
    read: "TextFile", groups: "TextGroups", kept: int, written: Mapping[str, str | None], common: Common
) -> None:
    """Print what was found, and where the rows are."""
    import sys

    from twicetold.commands import _dedupe_messages
    from twicetold.tables.streams import STANDARD

    names, rows, aside = read.names.to_pylist(), len(read.texts), written["dropped rows"]
    dropped = rows - kept if common.drop else 0
    if common.as_json:
        about = _dedupe_messages.as_json(groups, read.texts, names)
        print(json_text({**about, **_dedupe_messages.dropped_as_json(dropped, rows, aside)}))
    else:
        print(_dedupe_messages.in_sentences(groups, read.texts, names), file=sys.stderr)
    if common.out != STANDARD:
        print(f"{common.out}: {counted(rows - dropped, 'row')}", file=sys.stderr)
    if common.drop:
        print(_dedupe_messages.dropped_in_words(dropped, rows, aside), file=sys.stderr)


def _outputs(model: str | None, file: str, given: Mapping[str, Any]) -> dict[str, str | None]:
    """The files to write by what goes to them; refuses those that cannot all be written, and a model that cannot run.

    Raises:
        typer.BadParameter: if there are such.
    """
    out, drop = given["out"], given["drop"]
    aside = dropped_beside(out) if drop else None
    written = {"rows": out, "links": given["links"], "review": given["review"], "page": given["html"]}
    written |= {"dropped rows": aside, "answers": given.get("answers")}
    _check_outputs(written, drop=drop, as_json=given["as_json"], dry_run=given["dry_run"])
    sources = {"texts": file, "pairs": given["pairs"], "vectors": given["compare"], "weights": model}
    require_apart(written, sources)
    if model is not None and given["compare"] is None:
        require_usable(model)
    return written


def _check_outputs(files: dict[str, str | None], *, drop: bool, as_json: bool, dry_run: bool) -> None:
    """Refuse files that cannot all be written.

    Args:
        files: by what is written to them; None: it is not written.
        drop: whether representatives alone are written.
        as_json: whether the summary goes to stdout.
        dry_run: whether nothing is written.

    Raises:
        typer.BadParameter: if there are such.
    """
    from twicetold.tables.streams import STANDARD

    given = {what: file for what, file in files.items() if file is not None}
    if dry_run:
        if drop or set(given) - {"rows"} or given["rows"] != STANDARD:
            raise typer.BadParameter("--dry-run writes nothing: leave out -o, --links, --review, --html, --ask, --drop")
        return
    if as_json and STANDARD in given.values():
        raise typer.BadParameter("--json prints to stdout: write the rows to a file, with -o, and so the links")
