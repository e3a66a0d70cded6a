"""`twicetold search`: the texts of an index that are most alike."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.commands._options import Format, IndexModel, SkipBad, Text, tell_left_out
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.index.text_index import Match


def search(
    folder: Annotated[str, typer.Argument(metavar="INDEX", help="Folder of the index.", show_default=False)],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts to search for.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="File with texts to search for; - for stdin.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Texts to find for each.", min=1)] = 10,
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every text of a large index.")] = False,
    text: Text = None,
    model: IndexModel = None,
    format: Format = None,
    skip_bad: SkipBad = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, one for each text.")] = False,
) -> None:
    """Find the texts of an index that are most alike, nearest first.

    Columns: similarity, probability that both say the same, group, id, text.
    """
    from twicetold.index.opening import open_index

    if bool(texts) == (file is not None):
        raise typer.BadParameter("give texts, or a file with texts (-f)")
    if texts and (empty := [number for number, each in enumerate(texts, 1) if not each.strip()]):
        raise ValueError(f"text {empty[0]} is empty: expected a text to search for")
    opened = open_index(folder, model)
    blocks = iter([texts or []]) if file is None else _blocks(file, text, format=format, skip_bad=skip_bad)
    named = file is not None or len(texts or []) > 1
    for asked in blocks:
        for query, found in zip(asked, opened.search(asked, k, exact=exact), strict=True):
            _print(query, found, named=named, as_json=as_json)


def _blocks(file: str, text: str | None, *, format: str | None, skip_bad: bool) -> Iterator[list[str]]:
    """The texts of a file, a block at a time."""
    from twicetold.tables.files import choose_text, open_rows

    with open_rows(file, format=format) as rows:
        column = choose_text(rows, text)
        for block in rows.blocks([column], skip_bad=skip_bad):
            yield block.texts(column)
        tell_left_out(rows.bad)


def _print(query: str, found: Sequence["Match"], *, named: bool, as_json: bool) -> None:
    if as_json:
        print(json_text({"query": query, "matches": [asdict(each) for each in found]}, indent=None))
        return
    if named:
        print(_line(query))
    for each in found:
        columns = f"{each.similarity:.4f}", f"{each.probability:.4f}", str(each.group), each.id, each.text
        print("\t".join(_line(column) for column in columns))


def _line(text: str) -> str:
    return " ".join(text.split())
