"""`twicetold search`: the texts of an index that are most alike."""

from twicetold.commands._options import Delimiter, Format, IndexModel, SkipBad, Text
from twicetold.commands._queries import Asked, AskedFile, Count, Exact, Index, JsonLines, Nprobe, check_queries, queries
from twicetold.commands._queries import tell_matches as tell
from twicetold.commands._waiting import open_index


def search(
    folder: Index,
    texts: Asked = None,
    file: AskedFile = None,
    k: Count = 10,
    exact: Exact = False,
    nprobe: Nprobe = None,
    text: Text = None,
    model: IndexModel = None,
    format: Format = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    as_json: JsonLines = False,
) -> None:
    """Find the texts of an index that are most alike, nearest first.

    Examples:
        twicetold search faq "how do I learn to swim"
        twicetold search faq --file questions.csv -k 3 --json

    Columns: similarity, probability that both say the same, group, id, text.
    """
    check_queries(texts, file)
    opened = open_index(folder, model)
    named = file is not None or len(texts or []) > 1
    for asked in queries(texts, file, text, format=format, delimiter=delimiter, skip_bad=skip_bad):
        for query, found in zip(asked, opened.search(asked, k, exact=exact, nprobe=nprobe), strict=True):
            tell(query, found, named=named, as_json=as_json)
