"""`twicetold search`: the texts of an index that are most alike."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.commands._options import Index, IndexModel, Json, Reading, file_format, with_options
from twicetold.commands._progress import progress, tell_left_out
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.index.text_index import Match

Asked = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts to search for.", show_default=False)]
AskedFile = Annotated[
    str | None, typer.Option("--file", "-f", help="File with texts to search for; - for stdin.", show_default=False)
]


@with_options
def search(
    folder: Index,
    reading: Reading,
    texts: Asked = None,
    file: AskedFile = None,
    k: Annotated[int, typer.Option("-k", help="Number of results for each text.", min=1)] = 10,
    model: IndexModel = None,
    as_json: Json = False,
) -> None:
    """Find the most similar texts of an index, nearest first.

    Examples:
        twicetold search faq "how do I learn to swim"
        twicetold search faq --file questions.csv -k 3 --json

    Columns: similarity, probability of a duplicate, group, id, text.
    """
    if bool(texts) == (file is not None):
        raise typer.BadParameter("give texts, or a file with texts (-f)")
    if empty := [number for number, each in enumerate(texts or [], 1) if not each.strip()]:
        raise ValueError(f"text {empty[0]} is empty: expected a text to search for")
    with progress(f"loading {folder} and its model"):
        from twicetold.index.text_index import open_index

        opened = open_index(folder, model)
    named = file is not None or len(texts or []) > 1
    for asked in _queries(texts, file, reading):
        matches = opened.search(asked, k)
        for query, hits in zip(asked, matches, strict=True):
            _tell(query, hits, named=named, as_json=as_json)


def _queries(texts: list[str] | None, file: str | None, reading: Reading) -> Iterator[list[str]]:
    """Yield the texts that are asked for, those of a file a block at a time."""
    if file is None:
        yield texts or []
        return
    from twicetold.tables.files import choose_text, open_rows

    with open_rows(file, **file_format(reading.format)) as rows:
        column = choose_text(rows, reading.text)
        for block in rows.blocks([column], skip_bad=reading.skip_bad):
            yield block.texts(column)
        tell_left_out(rows.bad)


def _tell(query: str, hits: Sequence["Match"], *, named: bool, as_json: bool) -> None:
    """Print what was found for a text, under the text if it is `named`."""
    if as_json:
        print(json_text({"query": query, "matches": [asdict(each) for each in hits]}, indent=None))
        return
    if named:
        print(_line(query))
    for each in hits:
        columns = f"{each.similarity:.4f}", f"{each.probability:.4f}", str(each.group), each.id, each.text
        print("\t".join(_line(column) for column in columns))


def _line(text: str) -> str:
    return " ".join(text.split())
