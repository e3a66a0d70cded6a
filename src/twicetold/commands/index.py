"""`twicetold index`: a folder of texts that can be searched and grown."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from twicetold.commands._console import tell
from twicetold.commands._options import (
    File,
    Format,
    Index,
    IndexModel,
    Json,
    ModelAndFile,
    OutFile,
    Precision,
    Reading,
    Threshold,
    file_format,
    model_and_file,
    with_options,
)
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import load_model, progress, require_usable
from twicetold.dedupe.options import DEFAULTS
from twicetold.neighbours import rules
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.index.info import IndexInfo
    from twicetold.use.model import Model

ABOUT = """Build, grow and describe an index of texts (see also search).


Examples:
    twicetold index build questions.csv -o faq
    twicetold index add faq new.csv
"""
"""The second empty line keeps the indent, as in the help of commands."""

index = typer.Typer(no_args_is_help=True, help=ABOUT)

Id = Annotated[str | None, typer.Option("--id", help="Column with the ids.", show_default="consecutive numbers")]


@index.command()
@with_options
def build(
    arguments: ModelAndFile,
    reading: Reading,
    output: Annotated[str, typer.Option("--out", "-o", metavar="INDEX", help="New folder for the index.")],
    id_column: Id = None,
    precision: Precision = DEFAULTS.precision,
    threshold: Threshold = DEFAULTS.threshold,
    rule: Annotated[
        Literal[rules.Rule, "none"], typer.Option("--rule", help="How links are merged into groups; none: no groups.")
    ] = DEFAULTS.rule,
    as_json: Json = False,
) -> None:
    """Make an index of the texts of a file, grouped as dedupe does, with MODEL or without.

    Examples:
        twicetold index build questions.csv -o faq
        twicetold index build model questions.csv --id id --rule complete -o faq
    """
    from dataclasses import asdict
    from pathlib import Path

    with progress("loading libraries"):
        from twicetold.index.folder import require_new
        from twicetold.index.info import index_info

    if rule == "none" and (precision, threshold) != (None, None):
        raise typer.BadParameter("--precision and --threshold say how to group: leave them or --rule none out")
    require_new(Path(output))
    model, name = model_and_file(arguments, "index build")
    if model is not None:
        require_usable(model)
    file, ids = _read(name, id_column, reading)
    made = (_fitted_to(file) if model is None else load_model(model)).index(
        file.texts,
        ids,
        groups=rule != "none",
        precision=precision,
        threshold=threshold,
        rule=DEFAULTS.rule if rule == "none" else rule,
        progress=tell,
    )
    tell("writing")
    made.save(output)
    about = index_info(output)
    if as_json:
        print(json_text(asdict(about)))
    else:
        tell(*_described(about))


@index.command()
@with_options
def add(
    folder: Index,
    file: File,
    reading: Reading,
    id_column: Id = None,
    model: IndexModel = None,
    as_json: Json = False,
) -> None:
    """Add the texts of a file and regroup by the rule that built the index: without MODEL all texts, else those near.

    Examples:
        twicetold index add faq new.csv
        twicetold index add faq new.csv --id id --json
    """
    read, ids = _read(file, id_column, reading)
    from twicetold.index.text_index import changing

    with progress(f"changing {folder}"), changing(folder, model) as opened:
        added = opened.add(read.texts, ids)
    changes = added.changes
    if as_json:
        about = {
            "added": [{"id": name, "group": at} for name, at in zip(added.ids, added.groups.tolist(), strict=True)],
            "joined": added.joined,
            "merged": [{"group": group, "into": into} for group, into in changes.merged],
            "split": [{"group": group, "now": list(into)} for group, into in changes.split],
            "moved": changes.moved,
        }
        print(json_text(about))
        return
    joined = f", {added.joined:,} of them to existing groups" if opened.threshold is not None else ""
    tell(f"added {counted(len(read.texts), 'text')}{joined}; {folder} has {len(opened):,} now")
    if changes.moved:
        tell(
            f"{changes.moved:,} earlier texts are in another group now: {len(changes.merged):,} groups were "
            f"merged into another one, {len(changes.split):,} were split (--json lists them)"
        )


@index.command()
def remove(
    folder: Index,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids.", show_default=False)],
    model: IndexModel = None,
) -> None:
    """Remove texts by their ids. If one is not there, nothing is removed.

    Examples:
        twicetold index remove faq 3 17
        twicetold index remove faq 3 --model model
    """
    from twicetold.index.text_index import changing

    with progress(f"changing {folder}"), changing(folder, model) as opened:
        opened.remove(ids)
    tell(f"removed {counted(len(ids), 'text')}; {folder} has {len(opened):,} now")


@index.command()
def groups(folder: Index, out: OutFile = "-", format: Format = None) -> None:
    """Write the id, text and group of all texts, sorted by group.

    Examples:
        twicetold index groups faq
        twicetold index groups faq -o groups.csv
    """
    import numpy as np

    from twicetold.index.info import grouped_texts
    from twicetold.tables.blocks import Block
    from twicetold.tables.files import write_rows
    from twicetold.tables.streams import STANDARD

    require_apart({"rows": out}, {"texts": folder})
    table = grouped_texts(folder)
    with write_rows(out, **file_format(format or ("csv" if out == "-" else None))) as write:
        write(Block(table, np.arange(1, 1 + table.num_rows)))
    if out != STANDARD:
        tell(f"{out}: {counted(table.num_rows, 'row')}")


@index.command()
def info(folder: Index, as_json: Json = False) -> None:
    """Describe an index: texts, groups, rule, model.

    Examples:
        twicetold index info faq
        twicetold index info faq --json
    """
    from dataclasses import asdict

    from twicetold.index.info import index_info

    about = index_info(folder)
    print(json_text(asdict(about)) if as_json else "\n".join(_described(about)))


def _described(about: "IndexInfo") -> list[str]:
    kind = "sparse" if about.sparse else "dense"
    parts = "1 part" if about.parts == 1 else f"{about.parts} parts"
    groups = "none"
    if about.threshold is not None:
        least = f"probability {about.probability:.3f} or more (score {about.threshold:.4f})"
        texts = counted(about.grouped, "text")
        groups = f"{about.groups:,} of {texts}, the largest of {about.largest:,}; links from {least}"
    rule = "none" if about.rule is None else f"{about.rule}, {about.neighbours} neighbours of each text"
    return [
        f"texts      {about.texts:,} ({about.removed:,} removed ones take space)",
        f"vectors    {kind}, {about.dimensions:,} columns, {parts}",
        f"size       {about.bytes / 1e6:,.1f} MB",
        f"model      {about.model} (fingerprint {about.fingerprint})",
        f"groups     {groups}",
        f"rule       {rule}",
        *(f"evidence   {sentence}" for sentence in about.evidence),
    ]


def _read(file: str, id_column: str | None, reading: Reading) -> tuple["TextFile", list[str] | None]:
    """Return a file and the ids of its texts."""
    with progress("loading libraries"):
        from twicetold.commands._dedupe_file import TextFile

    read = TextFile.read(file, reading, id_column=id_column, added=())
    return read, None if id_column is None else read.names.cast("string").to_pylist()


def _fitted_to(file: "TextFile") -> "Model":
    from twicetold.commands._columns import fitted_to

    return fitted_to(file, None)
