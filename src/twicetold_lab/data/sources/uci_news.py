r"""UCI News Aggregator: 422,419 headlines of 2014 with their category and story.

Fabio Gasparetti, "News Aggregator", UCI Machine Learning Repository 359 (2016). One line per headline, eight
tab-separated fields, no header; quotes are literal text.

The split assigns whole stories, so no story is on two sides. `uci_news_by_time` has the published split of the
denoising autoencoder with triplet loss.

A corpus does not hold the times of publication. `publication_days` reads them from where its source says them:

- UCI News Aggregator: the column of the raw file. It is the time at which the aggregator found a story, so headlines
  of one story are seconds apart.
- The generated headlines: their ids count them in order of publication. A story begins every hour and a half and has
  five headlines on average, so a headline is taken to follow the one before by a fifth of that.
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
HEADLINE_DAYS = 1.5 / 24 / 5  # of the generated headlines, from one to the next on average
Days = NDArray[np.float64]
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


def publication_days(corpus: Corpus, raw: Path) -> Days | None:
    """Return (N,) days since the first document of the source; None if the source knows no times.

    Args:
        corpus: the documents.
        raw: the folder of its raw files.

    Raises:
        FileNotFoundError: if the raw file is not there.
        ValueError: if a document is not in it, or its time is no number.
    """
    source = str(corpus.card.get("source", {}).get("_target_", "")).split(".")
    if source[-2:] in (["uci_news", "read"], ["uci_news_by_time", "read"]):
        return _of_uci_news(corpus, raw / FILE)
    if source[-2:] == ["toy_news", "read"]:
        numbers = np.asarray(pc.cast(corpus.ids, pa.int64()), np.float64)
        return np.asarray((numbers - 1) * HEADLINE_DAYS)
    return None


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


def _of_uci_news(corpus: Corpus, file: Path) -> Days:
    rows = read_unquoted(file, COLUMNS)
    stamps = rows.column("timestamp")
    place = pc.index_in(corpus.ids, rows.column("id"))
    times = stamps.take(place)
    numbers = pc.match_substring_regex(times, r"^[0-9]{1,18}$")
    if bad := pc.sum(pc.invert(pc.fill_null(numbers, False))).as_py():
        first = pc.index(pc.fill_null(numbers, False), False).as_py()
        raise ValueError(
            f"{file}: expected a time in milliseconds for each document, got {times[first].as_py()!r} for id "
            f"{corpus.ids[first].as_py()} and none for {bad - 1:,} others: prepare {corpus.name} from this file again"
        )
    days = np.asarray(pc.cast(times, pa.int64()), np.float64) / MILLISECONDS
    return np.asarray(days - days.min())
