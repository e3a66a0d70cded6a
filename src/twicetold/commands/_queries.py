"""What `twicetold search` and `related` ask an index, and how they print what it finds."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.commands._options import tell_left_out
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.index.text_index import Match

Index = Annotated[str, typer.Argument(metavar="INDEX", help="Folder of the index.", show_default=False)]
Asked = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts to search for.", show_default=False)]
AskedFile = Annotated[
    str | None, typer.Option("--file", "-f", help="File with texts to search for; - for stdin.", show_default=False)
]
Exact = Annotated[bool, typer.Option("--exact", help="Compare with every text of a large index.")]
Nprobe = Annotated[
    int | None,
    typer.Option(
        "--nprobe",
        help="Cells of a large index to search; index info says how much each number finds.",
        show_default="as many as find 0.95 of the nearest",
        min=1,
    ),
]
Count = Annotated[int, typer.Option("-k", help="Texts to find for each.", min=1)]
JsonLines = Annotated[bool, typer.Option("--json", help="Print JSON lines, one for each text.")]


def check_queries(texts: list[str] | None, file: str | None) -> None:
    """Check that there are texts, or a file with texts.

    Raises:
        typer.BadParameter: unless there is one of both.
        ValueError: if a text is empty.
    """
    if bool(texts) == (file is not None):
        raise typer.BadParameter("give texts, or a file with texts (-f)")
    if texts and (empty := [number for number, each in enumerate(texts, 1) if not each.strip()]):
        raise ValueError(f"text {empty[0]} is empty: expected a text to search for")


def queries(
    texts: list[str] | None,
    file: str | None,
    text: str | None,
    *,
    format: str | None,
    delimiter: str | None,
    skip_bad: bool,
) -> Iterator[list[str]]:
    """The texts that are asked for, those of a file a block at a time."""
    from twicetold.tables.files import choose_text, open_rows

    if file is None:
        yield texts or []
        return
    with open_rows(file, format=format, delimiter=delimiter) as rows:
        column = choose_text(rows, text)
        for block in rows.blocks([column], skip_bad=skip_bad):
            yield block.texts(column)
        tell_left_out(rows.bad)


def tell_matches(query: str, found: Sequence["Match"], *, named: bool, as_json: bool) -> None:
    """Print what was found for a text, under the text if it is `named`."""
    if as_json:
        print(json_text({"query": query, "matches": [asdict(each) for each in found]}, indent=None))
        return
    if named:
        print(_line(query))
    for each in found:
        probability = "" if each.probability is None else f"{each.probability:.4f}"
        columns = f"{each.similarity:.4f}", probability, str(each.group), each.id, each.text
        print("\t".join(_line(column) for column in columns))


def _line(text: str) -> str:
    return " ".join(text.split())
