"""Articles of the denoising autoencoder with triplet loss: headlines of UCI with the text of their page.

Kaggle, louislung/uci-news-aggregator-dataset-with-content, a Parquet file of 10,348 rows, as `datasets/articles.py` of
louislung/DAE_RNN_News_Recommendation reads it: an article without text is left out, and by their ids the first 5,000
are for training, the next 5,348 are the test. It has no validation set there; ours is carved from the end of train.
"""

from pathlib import Path
from typing import Literal

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import document_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS
from twicetold_lab.data.sources.uci_news import groups_of, with_ids
from twicetold_lab.data.sources.user_table import UserTable
from twicetold_lab.data.splits import by_order

FILE = "uci_news.snappy.parquet"
COLUMNS = ("article_id", "title", "publisher", "category", "story", "main_content")


def read(
    raw: Path,
    *,
    name: str,
    text: Literal["main_content", "title"] = "main_content",
    train: int | float = 5000,
    val: float = 0.1,
    test: int | float = 5348,
    seed: int = 0,
    limit: int | None = None,
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the articles.

    Args:
        raw: folder with `uci_news.snappy.parquet`.
        name: of the dataset.
        text: what is compared: the text of the page, or its headline; the other is a field.
        train: earliest articles, a number or a share; val is the last part of these.
        val: share of `train` that is held out.
        test: articles that follow, a number or a share.
        seed: of the cut to `limit`.
        limit: keep about so many articles, of every category and split; None for all.
        max_bad_rows: share of the rows that may be malformed or without text. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if a column is missing, there are too few rows for the split or too many malformed ones.
    """
    if text not in ("main_content", "title"):
        raise ValueError(f"expected data.source.text=main_content or title, got {text!r}")
    if not (raw / FILE).is_file():
        raise FileNotFoundError(f"{FILE} is not in {raw}. Run `dvc repro download@{raw.name}`, which fetches it")
    rows = UserTable.read(raw / FILE, COLUMNS)
    rows, number = with_ids(rows, "article_id", texts=["title", "main_content", "story"])
    counts = rows.account(max_bad_rows=max_bad_rows)
    other = "title" if text == "main_content" else "main_content"
    return document_corpus(
        name=name,
        ids=rows.column("article_id"),
        texts=rows.column(text),
        side=by_order(number, train=train, val=val, test=test),
        groups=groups_of(rows),
        fields={other: rows.column(other), "publisher": rows.column("publisher")},
        time=number,
        seed=seed,
        limit=limit,
        card={"split": "time", "text": text, **counts},
    )
