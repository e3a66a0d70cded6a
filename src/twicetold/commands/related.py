"""`twicetold related`: the texts of an index to go on with after a text."""

from typing import Annotated

import typer

from twicetold.commands._options import Delimiter, Format, IndexModel, SkipBad, Text
from twicetold.commands._queries import Asked, AskedFile, Count, Exact, Index, JsonLines, Nprobe, check_queries, queries
from twicetold.commands._queries import tell_matches as tell
from twicetold.commands._waiting import open_index


def related(
    folder: Index,
    texts: Asked = None,
    file: AskedFile = None,
    k: Count = 10,
    not_copies: Annotated[
        bool,
        typer.Option("--not-copies", help="Leave out what shares seven of ten words with the text, or one above."),
    ] = False,
    exact: Exact = False,
    nprobe: Nprobe = None,
    text: Text = None,
    model: IndexModel = None,
    format: Format = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    as_json: JsonLines = False,
) -> None:
    """Find the texts of an index to go on with after a text: the most alike that are other than it, nearest first.

    Examples:
        twicetold related faq "How do I learn to swim?"
        twicetold related faq --file questions.csv -k 3 --not-copies

    Texts that are equal to it but for case and white space are left out. Columns: as of search.
    """
    check_queries(texts, file)
    opened = open_index(folder, model)
    named = file is not None or len(texts or []) > 1
    for asked in queries(texts, file, text, format=format, delimiter=delimiter, skip_bad=skip_bad):
        others = opened.related(asked, k, not_copies=not_copies, exact=exact, nprobe=nprobe)
        for query, found in zip(asked, others, strict=True):
            tell(query, found, named=named, as_json=as_json)
