r"""UCI News Aggregator: 422,419 headlines of 2014 with their category and story.

Fabio Gasparetti, "News Aggregator", UCI Machine Learning Repository 359 (2016). One line per headline, eight
tab-separated fields, no header; quotes are literal text.

The split assigns whole stories, so no story is on two sides. `uci_news_by_time` has the published split of the
denoising autoencoder with triplet loss.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import document_corpus, encode
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, SourceTable, read_unquoted
from twicetold_lab.data.splits import Side, by_group

FILE = "newsCorpora.csv"
COLUMNS = ("id", "title", "url", "publisher", "category", "story", "hostname", "timestamp")
CATEGORIES = {"b": "business", "t": "technology", "e": "entertainment", "m": "health"}
MILLISECONDS = 86_400_000  # of a day
Table = TypeVar("Table", bound=SourceTable)


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    split: Literal["story"] = "story",
    splits: Sequence[float] = (0.6, 0.2, 0.2),
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the headlines.

    Args:
        raw: folder with `newsCorpora.csv`.
        name: of the dataset.
        seed: of the split by story, and of the cut to `limit`.
        limit: keep about so many headlines, of every category and split; None for all.
        split: `story`; `uci_news_by_time` splits by time.
        splits: of the stories that go to train, val and test.
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if it holds too few rows for the split or too many malformed ones, or an option is wrong.
    """
    if split != "story":
        raise ValueError(f"uci_news is split by 'story', got {split!r}; data=uci_news_time is split by time")
    rows, number = with_ids(read_unquoted(raw / FILE, COLUMNS), "id", texts=["title", "story"])
    card = {"split": split, **rows.account(max_bad_rows=max_bad_rows)}
    side = by_group(encode(rows.column("story"))[0], splits=splits, seed=seed)
    return headline_corpus(rows, number, side, name=name, seed=seed, limit=limit, card=card)


def with_ids(rows: Table, id: str, *, texts: Sequence[str]) -> tuple[Table, NDArray[np.int64]]:
    """Return the rows with a number that no earlier row has, with some texts, and of a known category.

    Args:
        rows: of the file.
        id: column with the numbers.
        texts: columns that must not be empty.

    Returns:
        The rows, and (R,) their numbers.
    """
    is_number = pc.match_substring_regex(rows.column(id), r"^[0-9]{1,18}$").fill_null(False)
    rows = rows.without(pc.invert(is_number), "bad_id")
    for column in texts:
        rows = rows.with_texts(column, reason=f"empty_{column}")
    rows = rows.with_one_of("category", CATEGORIES, "unknown_category")
    number = np.asarray(pc.cast(rows.column(id), pa.int64()))
    repeated = np.ones(len(rows), bool)
    repeated[np.unique(number, return_index=True)[1]] = False
    return rows.without(repeated, "repeated_id"), number[~repeated]


def groups_of(rows: SourceTable) -> dict[str, pa.StringArray]:
    """Return category, by its name, and story of each row."""
    letters, names = pa.array(list(CATEGORIES)), pa.array(list(CATEGORIES.values()))
    return {"category": names.take(pc.index_in(rows.column("category"), letters)), "story": rows.column("story")}


def headline_corpus(
    rows: SourceTable,
    number: NDArray[np.int64],
    side: Side,
    *,
    name: str,
    seed: int,
    limit: int | None,
    card: Mapping[str, Any],
) -> Corpus:
    """Return the corpus of headlines whose side of the split is known, (R,) each."""
    return document_corpus(
        name=name,
        ids=rows.column("id"),
        texts=rows.column("title"),
        side=side,
        groups=groups_of(rows),
        fields={
            "publisher": rows.column("publisher"),
            "hostname": rows.column("hostname"),
            "url_slug": _slug(rows.column("url")),
        },
        time=number,
        seed=seed,
        limit=limit,
        card=card,
    )


def _slug(url: pa.StringArray) -> pa.StringArray:
    """The last part of each URL's path as words: `http://a.com/b/fed-says-no_1.html?x=y` gives `fed says no 1`."""
    steps = [
        (r"[?#].*$", ""),
        (r"^[A-Za-z]+://[^/]*", ""),  # the host is no part of the path
        (r"/+$", ""),
        (r"^.*/", ""),
        (r"\.[A-Za-z]{1,5}$", ""),  # .html, .story
        (r"%[0-9A-Fa-f]{2}", " "),
        (r"[^\p{L}\p{N}]+", " "),
    ]
    for pattern, replacement in steps:
        url = pc.replace_substring_regex(url, pattern, replacement)
    return pc.utf8_trim_whitespace(url)
