"""`twicetold index`: a folder of texts that can be searched and grown."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from twicetold.commands._options import (
    Delimiter,
    File,
    Format,
    IndexModel,
    Json,
    Model,
    OutFile,
    Precision,
    Rule,
    SkipBad,
    Text,
    Threshold,
    tell_left_out,
)
from twicetold.commands._waiting import changing, load_model, waiting
from twicetold.dedupe.options import DEFAULTS
from twicetold.neighbours import rules
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from twicetold.index.groups import Proposal
    from twicetold.index.info import IndexInfo
    from twicetold.index.memberships import GroupChanges
    from twicetold.index.recall import Recall
    from twicetold.tables.blocks import Block
    from twicetold.tables.files import Rows

SHOWN = 10  # proposals and merges that are shown
Merges = Literal["make", "propose"]  # `twicetold.index.groups`, which is slow to import

HELP = """Build, grow and describe an index of texts, see also search.


Examples:
    twicetold index build model questions.csv -o faq
    twicetold index add faq new.csv
"""
"""The second empty line keeps the indent, as in the help of commands."""

index = typer.Typer(no_args_is_help=True, help=HELP)

Index = Annotated[str, typer.Argument(metavar="INDEX", help="Folder of the index.", show_default=False)]
Id = Annotated[str | None, typer.Option("--id", help="Column with the ids.", show_default="numbers, counted through")]


@index.command()
def build(
    model: Model,
    file: File,
    output: Annotated[str, typer.Option("--out", "-o", metavar="INDEX", help="New folder for the index.")],
    text: Text = None,
    id_column: Id = None,
    precision: Precision = DEFAULTS.precision,
    threshold: Threshold = DEFAULTS.threshold,
    rule: Rule = DEFAULTS.rule,
    no_groups: Annotated[bool, typer.Option("--no-groups", help="Do not group texts that say the same.")] = False,
    centres: Annotated[
        str | None,
        typer.Option("--centres", metavar="INDEX", help="Take this index's cells, to be its part.", show_default=False),
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Make an index of the texts of a file, grouped as dedupe does.

    Examples:
        twicetold index build model questions.csv -o faq
        twicetold index build model questions.csv --id id --rule complete -o faq
    """
    from pathlib import Path

    with waiting("loading libraries"):
        from twicetold.index.folder import require_new
        from twicetold.index.info import index_info
        from twicetold.index.opening import open_index

    if no_groups and (precision is not None or threshold is not None or rule != DEFAULTS.rule):
        raise typer.BadParameter("--precision, --threshold and --rule say how to group: leave them or --no-groups out")
    if centres is not None and not no_groups:
        raise typer.BadParameter(f"--centres makes a part for {centres}, and parts have no groups: add --no-groups")
    require_new(Path(output))
    texts, ids = _read(file, text, id_column, format=format, delimiter=delimiter, skip_bad=skip_bad)
    if not texts:
        raise ValueError(f"{file}: there are no rows")
    loaded = load_model(model)
    made = loaded.index(
        texts,
        ids,
        groups=not no_groups,
        precision=precision,
        threshold=threshold,
        rule=rule,
        centres=None if centres is None else open_index(centres, loaded),
        progress=_tell,
    )
    _tell("writing")
    made.save(output)
    about = index_info(output)
    if as_json:
        print(_json(about))
    else:
        _tell("\n".join(_described(about)))


@index.command()
def start(
    model: Model,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of the parts.", show_default=False)],
    output: Annotated[str, typer.Option("--out", "-o", metavar="INDEX", help="New folder for the index.")],
    text: Text = None,
    format: Format = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
) -> None:
    """Make an index without texts, with cells for those of some files, which are then built and attached as parts.

    Examples:
        twicetold index start model old.csv new.csv -o faq
        twicetold index start model old.csv new.csv --text question -o faq
    """
    from pathlib import Path

    with waiting("loading libraries"):
        from twicetold.index.folder import require_new
        from twicetold.index.text_index import TextIndex

    require_new(Path(output))
    texts = (
        block for file in files for block in _texts(file, text, format=format, delimiter=delimiter, skip_bad=skip_bad)
    )
    made = TextIndex.start(load_model(model), texts)
    made.save(output)
    _tell(f"{output}: {counted(made.cells, 'cell')}, no texts; attach parts that were built with --centres {output}")


@index.command()
def attach(
    folder: Index,
    parts: Annotated[list[str], typer.Argument(metavar="PART...", help="Indexes without groups.", show_default=False)],
    model: IndexModel = None,
) -> None:
    """Add the texts of other indexes as parts, each named like its folder. Nothing is encoded anew.

    Examples:
        twicetold index attach faq old
        twicetold index attach faq old new --model model
    """
    from pathlib import Path

    with changing(folder, model) as opened:
        from twicetold.index.opening import open_index

        for part in parts:
            opened.attach(open_index(part, opened.model), Path(part).resolve().name)
    _tell(f"attached {', '.join(parts)}; {folder} has {counted(len(opened), 'text')} now")


@index.command()
def detach(
    folder: Index,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of parts.", show_default=False)],
    model: IndexModel = None,
) -> None:
    """Take parts away that were attached, with all their texts. The folders that they came from stay.

    Examples:
        twicetold index detach faq old
        twicetold index detach faq old new
    """
    with changing(folder, model) as opened:
        for name in names:
            opened.detach(name)
    _tell(f"detached {', '.join(names)}; {folder} has {counted(len(opened), 'text')} now")


@index.command()
def add(
    folder: Index,
    file: File,
    text: Text = None,
    id_column: Id = None,
    merges: Annotated[
        Merges, typer.Option(help="Of groups that are there: make them as the rule says, or propose them.")
    ] = "make",
    model: IndexModel = None,
    format: Format = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Add the texts of a file, and group what they are near to anew, by the rule that built the index.

    Examples:
        twicetold index add faq new.csv
        twicetold index add faq new.csv --id id --merges propose
    """
    texts, ids = _read(file, text, id_column, format=format, delimiter=delimiter, skip_bad=skip_bad)
    with changing(folder, model) as opened:
        found = opened.add(texts, ids, merges=merges)
    if as_json:
        rows = [{"id": name, "group": group} for name, group in zip(found.ids, found.groups.tolist(), strict=True)]
        about = {"added": rows, "joined": found.joined, "proposals": _listed(found.proposals)}
        print(json_text({**about, **_changed(found.changes)}))
        return
    joined = f", {found.joined:,} to groups that were there" if opened.threshold is not None else ""
    _tell(f"added {counted(len(texts), 'text')}{joined}; {folder} has {len(opened):,} now")
    _tell_changes(found.changes, folder)
    _tell_proposals(found.proposals, folder)


@index.command()
def remove(
    folder: Index,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids.", show_default=False)] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="File with ids; - for stdin.", show_default=False)
    ] = None,
    id_column: Annotated[str, typer.Option("--id", help="Column of the file with the ids.")] = "id",
    model: IndexModel = None,
    format: Format = None,
    delimiter: Delimiter = None,
) -> None:
    """Remove texts by their ids. If one is not there, nothing is removed.

    Examples:
        twicetold index remove faq 3 17
        twicetold index remove faq --file old.csv --id id
    """
    from twicetold.tables.files import open_rows

    named = list(ids or [])
    if bool(named) == (file is not None):
        raise typer.BadParameter("give ids, or a file with ids (-f)")
    if file is not None:
        with open_rows(file, format=format, delimiter=delimiter) as rows:
            rows.require(id_column)
            for block, bad in rows.sound([]):
                if bad:
                    raise ValueError(f"{rows.name}: {bad[0].at(rows.unit)}. Nothing was removed")
                named += _ids(rows, block, id_column)
    with changing(folder, model) as opened:
        opened.remove(named)
    _tell(f"removed {counted(len(named), 'text')}; {folder} has {len(opened):,} now")


@index.command()
def merge(
    folder: Index,
    group: Annotated[int, typer.Argument(help="A group.", show_default=False)],
    other: Annotated[int, typer.Argument(help="Another one.", show_default=False)],
    ignore: Annotated[bool, typer.Option("--ignore", help="Keep them apart; do not propose it again.")] = False,
    model: IndexModel = None,
) -> None:
    """Make one group of two, or keep them apart. The lower number stays.

    Examples:
        twicetold index merge faq 0 1
        twicetold index merge faq 2 3 --ignore
    """
    with changing(folder, model) as opened:
        if ignore:
            opened.ignore(group, other)
            _tell(f"groups {group} and {other} stay apart")
        else:
            _tell(f"groups {group} and {other} are group {opened.merge(group, other)} now")


@index.command()
def unmerge(
    folder: Index,
    group: Annotated[int, typer.Argument(help="A group that is part of another one now.", show_default=False)],
    model: IndexModel = None,
) -> None:
    """Undo the merge of a group into another one, of yours or of the rule, and keep the two apart.

    Examples:
        twicetold index unmerge faq 1
        twicetold index unmerge faq 1 --model model
    """
    with changing(folder, model) as opened:
        _tell(f"group {group} is no part of group {opened.unmerge(group)} any more, and they stay apart")


@index.command()
def regroup(
    folder: Index,
    rule: Annotated[
        rules.Rule | None, typer.Option("--rule", help="How links make groups from now on.", show_default="as before")
    ] = None,
    model: IndexModel = None,
    as_json: Json = False,
) -> None:
    """Group all texts anew, by the rule of the index. Groups keep their numbers where they can.

    Examples:
        twicetold index regroup faq
        twicetold index regroup faq --rule complete
    """
    from twicetold.index.info import index_info

    with changing(folder, model) as opened:
        changes = opened.regroup(rule)
    if as_json:
        print(json_text(_changed(changes)))
        return
    _tell(f"grouped {counted(len(opened), 'text')} by {opened.rule}")
    for sentence in index_info(folder).evidence:
        _tell(sentence)
    _tell_changes(changes, folder)


@index.command()
def groups(folder: Index, out: OutFile = "-", format: Format = None, delimiter: Delimiter = None) -> None:
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

    table = grouped_texts(folder)
    with write_rows(out, format=format or ("csv" if out == STANDARD else None), delimiter=delimiter) as write:
        write(Block(table, np.arange(1, table.num_rows + 1)))
    if out != STANDARD:
        _tell(f"{out}: {counted(table.num_rows, 'row')}")


@index.command()
def info(folder: Index, as_json: Json = False) -> None:
    """Describe an index: texts, groups, rule, model, merges.

    Examples:
        twicetold index info faq
        twicetold index info faq --json
    """
    from twicetold.index.info import index_info

    about = index_info(folder)
    if as_json:
        print(_json(about))
    else:
        print("\n".join([*_described(about), *_decided(about)]))
        _tell_proposals(about.proposals, folder)


def _json(about: "IndexInfo") -> str:
    from dataclasses import asdict

    return json_text({**asdict(about), "proposals": _listed(about.proposals)})


def _described(about: "IndexInfo") -> list[str]:
    kind = "sparse" if about.sparse else "dense"
    parts = "1 part" if about.parts == 1 else f"{about.parts} parts"
    cells = counted(about.cells, "cell") if about.cells else "searched exactly"
    if about.cells and about.exact:
        cells += f", but {counted(about.exact, 'text is', 'texts are')} searched exactly"
    groups = "none"
    if about.threshold is not None:
        least = f"similarity {about.threshold:.4f} on"
        if about.probability is not None:
            least = f"probability {about.probability:.3f} on (score {about.threshold:.4f})"
        texts = counted(about.grouped, "text")
        groups = f"{about.groups:,} of {texts}, the largest of {about.largest:,}; links from {least}"
    rule = "none" if about.rule is None else f"{about.rule}, {about.neighbours} neighbours of each text"
    if about.rule is not None and not about.rule_is_known:
        rule += "; an earlier version made the index, which does not say its rule: regroup --rule states it"
    return [
        f"texts      {about.texts:,} ({about.removed:,} removed ones take space)",
        f"vectors    {kind}, {counted(about.dimensions, 'column')}, {parts}, {cells}",
        *_found(about.recall),
        *(f"attached   {name}: {counted(texts, 'text')}" for name, texts in about.attached.items()),
        f"size       {about.bytes / 1e6:,.1f} MB",
        f"model      {about.model} (fingerprint {about.fingerprint})",
        f"groups     {groups}",
        f"rule       {rule}",
        *(f"evidence   {sentence}" for sentence in about.evidence),
    ]


def _found(recall: "Recall | None") -> list[str]:
    """How many of the nearest a search finds."""
    if recall is None:
        return []
    shares = ", ".join(f"{share:.3f} with {cells}" for cells, share in recall.found.items() if cells != recall.nprobe)
    of = f"measured with {recall.asked:,} of {counted(recall.texts, 'text')}"
    return [f"recall@10  {recall.found[recall.nprobe]:.3f} with {recall.nprobe} cells (--nprobe); {shares}; {of}"]


def _decided(about: "IndexInfo") -> list[str]:
    """Merges that can be undone, and groups that stay apart."""
    by_hand = sum(each.tied for each in about.merges)
    return [
        f"merges     {len(about.merges):,} can be undone, {by_hand:,} of them by hand (--json lists them)",
        f"apart      {counted(len(about.apart), 'pair')} of groups",
    ]


def _read(
    file: str, text: str | None, id_column: str | None, *, format: str | None, delimiter: str | None, skip_bad: bool
) -> tuple[list[str], list[str] | None]:
    """Texts and ids of a file."""
    from twicetold.tables.files import choose_text, open_rows

    texts: list[str] = []
    ids: list[str] = []
    with waiting(f"reading {file}"), open_rows(file, format=format, delimiter=delimiter) as rows:
        column = choose_text(rows, text)
        if id_column is not None:
            rows.require(id_column)
        for block in rows.blocks([column], skip_bad=skip_bad):
            texts += block.texts(column)
            if id_column is not None:
                ids += _ids(rows, block, id_column)
        tell_left_out(rows.bad)
    return texts, None if id_column is None else ids


def _ids(rows: "Rows", block: "Block", column: str) -> list[str]:
    """Ids of a block, none of which is missing."""
    import pyarrow as pa

    from twicetold.tables.blocks import as_text

    try:
        names: list[str | None] = as_text(block.table[column]).to_pylist()
    except pa.ArrowException as error:
        kind = block.table[column].type
        raise ValueError(
            f"{rows.name}: expected ids that are texts or numbers in column {column!r}, got {kind}"
        ) from error
    ids = [name for name in names if name is not None and name.strip()]
    if len(ids) < len(names):
        first = next(place for place, name in zip(block.lines, names, strict=True) if not (name and name.strip()))
        raise ValueError(f"{rows.name}: {rows.unit} {first}: expected an id in column {column!r}, got none")
    return ids


def _texts(
    file: str, text: str | None, *, format: str | None, delimiter: str | None, skip_bad: bool
) -> Iterator[list[str]]:
    """Texts of a file, some at a time."""
    from twicetold.tables.files import choose_text, open_rows

    with open_rows(file, format=format, delimiter=delimiter) as rows:
        column = choose_text(rows, text)
        for block in rows.blocks([column], skip_bad=skip_bad):
            yield block.texts(column)
        tell_left_out(rows.bad)


def _listed(proposals: Sequence["Proposal"]) -> list[dict[str, object]]:
    return [{"groups": list(p.groups), "ids": list(p.ids), "similarity": p.similarity} for p in proposals]


def _changed(changes: "GroupChanges") -> dict[str, object]:
    merged = [{"group": group, "into": into} for group, into in changes.merged]
    split = [{"group": group, "now": list(into)} for group, into in changes.split]
    return {"merged": merged, "split": split, "moved": changes.moved}


def _tell_changes(changes: "GroupChanges", folder: str) -> None:
    if not changes.moved:
        return
    _tell(
        f"{counted(changes.moved, 'text that was there is', 'texts that were there are')} in another group now: "
        f"{counted(len(changes.merged), 'group was', 'groups were')} merged into another one (`twicetold index unmerge "
        f"{folder} GROUP` undoes it), {counted(len(changes.split), 'was', 'were')} split"
    )
    lines = [f"  {group} is part of {into}" for group, into in changes.merged]
    lines += [f"  {group} is divided among {', '.join(map(str, into))}" for group, into in changes.split]
    for line in lines[:SHOWN]:
        _tell(line)
    if len(lines) > SHOWN:
        _tell(f"  and {len(lines) - SHOWN:,} others (--json lists them)")


def _tell_proposals(proposals: Sequence["Proposal"], folder: str) -> None:
    if not proposals:
        return
    count = counted(len(proposals), "proposed merge")
    _tell(f"{count} of groups (`twicetold index merge {folder} GROUP GROUP`, or --ignore):")
    for each in sorted(proposals, key=lambda p: -p.similarity)[:SHOWN]:
        _tell(f"  {each.groups[0]} {each.groups[1]}: {each.ids[0]!r} and {each.ids[1]!r} score {each.similarity:.4f}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr)
