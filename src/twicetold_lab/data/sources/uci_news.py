r"""UCI News Aggregator: 422,419 headlines of 2014 with their category and story.

Fabio Gasparetti, "News Aggregator", UCI Machine Learning Repository 359 (2016). One line per headline, eight
tab-separated fields, no header; quotes are literal text.

Two splits. `story` assigns whole stories, so no story is on two sides. `time` is the published split of the denoising
autoencoder with triplet loss (louislung/DAE_RNN_News_Recommendation): by id, the first 5,000 headlines are for
training and the next 5,348 are the test. It has no validation set there; ours is carved from the end of train.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import document_corpus, encode
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, read_unquoted
from twicetold_lab.data.splits import by_group, by_order

FILE = "newsCorpora.csv"
COLUMNS = ("id", "title", "url", "publisher", "category", "story", "hostname", "timestamp")
CATEGORIES = {"b": "business", "t": "technology", "e": "entertainment", "m": "health"}


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    split: Literal["story", "time"] = "story",
    splits: Sequence[float] = (0.6, 0.2, 0.2),
    train: int | float = 5000,
    val: float = 0.1,
    test: int | float = 5348,
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the headlines.

    Args:
        raw: folder with `newsCorpora.csv`.
        name: of the dataset.
        seed: of the split by story, and of the cut to `limit`.
        limit: keep about so many headlines, of every category and split; None for all.
        split: `story` or `time`.
        splits: of the stories that go to train, val and test (`story` only).
        train: earliest headlines, a number or a share (`time` only); val is the last part of these.
        val: share of `train` that is held out (`time` only).
        test: headlines that follow, a number or a share (`time` only).
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if it holds too few rows for the split or too many malformed ones, or an option is wrong.
    """
    if split not in ("story", "time"):
        raise ValueError(f"uci_news is split by 'story' or by 'time', got {split!r}")
    rows = read_unquoted(raw / FILE, COLUMNS)
    numbered = pc.match_substring_regex(rows.column("id"), r"^[0-9]{1,18}$")
    rows = rows.without(pc.invert(numbered), "bad_id")
    rows = rows.without(pc.equal(rows.column("title"), ""), "empty_title")
    rows = rows.without(pc.invert(pc.is_in(rows.column("category"), pa.array(list(CATEGORIES)))), "unknown_category")
    rows = rows.without(pc.equal(rows.column("story"), ""), "empty_story")
    number = np.asarray(pc.cast(rows.table["id"], pa.int64()))
    repeated = np.ones(len(rows), bool)
    repeated[np.unique(number, return_index=True)[1]] = False
    rows, number = rows.without(repeated, "repeated_id"), number[~repeated]
    counts = rows.account(max_bad_rows=max_bad_rows)
    story, _ = encode(rows.column("story"))
    if split == "story":
        side = by_group(story, splits=splits, seed=seed)
    else:
        side = by_order(number, train=train, val=val, test=test)
    letters, category = pa.array(list(CATEGORIES)), pa.array(list(CATEGORIES.values()))
    return document_corpus(
        name=name,
        ids=rows.column("id"),
        texts=rows.column("title"),
        side=side,
        groups={
            "category": category.take(pc.index_in(rows.column("category"), letters)),
            "story": rows.column("story"),
        },
        fields={
            "publisher": rows.column("publisher"),
            "hostname": rows.column("hostname"),
            "url_slug": _slug(rows.column("url")),
        },
        time=number,
        seed=seed,
        limit=limit,
        card={"split": split, **counts},
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
