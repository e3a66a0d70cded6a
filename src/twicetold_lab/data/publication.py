"""When the documents of a corpus were published.

A corpus does not hold times. They are read from where its source says them:

- UCI News Aggregator: the column of the raw file. It is the time at which the aggregator found a story, so headlines
  of one story are seconds apart.
- The generated headlines: their ids count them in order of publication. A story begins every hour and a half and has
  five headlines on average, so a headline is taken to follow the one before by a fifth of that.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import uci_news
from twicetold_lab.data.sources.source_table import read_unquoted

MILLISECONDS = 86_400_000  # of a day
HEADLINE_DAYS = 1.5 / 24 / 5  # of the generated headlines, from one to the next on average
Days = NDArray[np.float64]


def publication_days(corpus: Corpus, raw: Path) -> Days | None:
    """(N,) days since the first document of the source; None if the source knows no times.

    Args:
        corpus: the documents.
        raw: the folder of its raw files.

    Raises:
        FileNotFoundError: if the raw file is not there.
        ValueError: if a document is not in it, or its time is no number.
    """
    source = str(corpus.card.get("source", {}).get("_target_", "")).split(".")
    if source[-2:] in (["uci_news", "read"], ["uci_news_by_time", "read"]):
        return _of_uci_news(corpus, raw / uci_news.FILE)
    if source[-2:] == ["toy_news", "read"]:
        numbers = np.asarray(pc.cast(corpus.ids, pa.int64()), np.float64)
        return np.asarray((numbers - 1) * HEADLINE_DAYS)
    return None


def _of_uci_news(corpus: Corpus, file: Path) -> Days:
    rows = read_unquoted(file, uci_news.COLUMNS)
    stamps = rows.column("timestamp")
    place = pc.index_in(corpus.ids, rows.column("id"))
    found = stamps.take(place)
    numbers = pc.match_substring_regex(found, r"^[0-9]{1,18}$")
    if bad := pc.sum(pc.invert(pc.fill_null(numbers, False))).as_py():
        first = pc.index(pc.fill_null(numbers, False), False).as_py()
        raise ValueError(
            f"{file}: expected a time in milliseconds for each document, got {found[first].as_py()!r} for id "
            f"{corpus.ids[first].as_py()} and none for {bad - 1:,} others: prepare {corpus.name} from this file again"
        )
    days = np.asarray(pc.cast(found, pa.int64()), np.float64) / MILLISECONDS
    return np.asarray(days - days.min())
