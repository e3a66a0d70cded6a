"""UCI News Aggregator, split by time after first days that are denser than the rest.

The split is that of the denoising autoencoder with triplet loss (louislung/DAE_RNN_News_Recommendation): by id, the
first 5,000 headlines are for training and the next 5,348 are the test. It has no validation set there; ours is taken
from the end of train. It supposes that the file is as complete in its first days as later. A part of the file can hold
most of the first days and little of each later one; train is then a few stories in full and test many stories in part,
so that a difference between them measures the sample. Such days are left out and counted on the card. Of the complete
file none are: its ids advance by some 4,000 in the first 24 hours, as on most days.

Shape letters: R rows of the file.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, read_unquoted
from twicetold_lab.data.sources.uci_news import COLUMNS, FILE, MILLISECONDS, headline_corpus, with_ids
from twicetold_lab.data.splits import UNUSED, by_order


def read(
    raw: Path,
    *,
    name: str,
    train: int | float = 5000,
    val: float = 0.1,
    test: int | float = 5348,
    dense_days: float | None = 3,
    seed: int = 0,
    limit: int | None = None,
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the headlines.

    Args:
        raw: folder with `newsCorpora.csv`.
        name: of the dataset.
        train: earliest headlines, a number or a share of those that are not left out; val is the last part of these.
        val: share of `train` that is held out.
        test: headlines that follow, a number or a share.
        dense_days: days at the beginning that each have more than this many times the headlines of the median day are
            left out; None keeps them.
        seed: of the cut to `limit`.
        limit: keep about so many headlines, of every category and split; None for all.
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if it holds too few rows for the split or too many malformed ones, or an option is wrong.
    """
    rows, number = with_ids(read_unquoted(raw / FILE, COLUMNS), "id", texts=["title", "story"])
    counts = rows.account(max_bad_rows=max_bad_rows)
    day = _days(rows.column("timestamp"))
    dense = in_dense_first_days(day, times=np.inf if dense_days is None else dense_days)
    side = np.full(len(rows), UNUSED, np.int8)
    side[~dense] = by_order(number[~dense], train=train, val=val, test=test)
    story = rows.column("story").filter(pa.array(dense))
    dense_is = f"days at the beginning with more than {dense_days} times the headlines of the median day"
    left_out = {
        "rule": "no dense days" if dense_days is None else dense_is,
        "dense_first_days": len(np.unique(day[dense])),
        "headlines_of_dense_first_days": int(dense.sum()),
        "stories_of_dense_first_days": len(story.unique()),
        "headlines_after_test": int((side[~dense] == UNUSED).sum()),
    }
    card = {"split": "time", **counts, "left_out": left_out}
    return headline_corpus(rows, number, side, name=name, seed=seed, limit=limit, card=card)


def in_dense_first_days(day: NDArray[np.float64], *, times: float) -> NDArray[np.bool_]:
    """Return (R,) whether each row is of the days at the beginning that are denser than the rest.

    A day is dense if it has more than `times` the rows of the median day that has any. The first day that is not ends
    the beginning: a dense day after it stays.

    Args:
        day: (R,) number of the day; NaN where it is not known, and such a row is of no dense day.
        times: at least 1.

    Raises:
        ValueError: if `times` is below 1.

    Example:
        >>> in_dense_first_days(np.array([0.0, 0, 0, 0, 1, 2, 3]), times=3)
        array([ True,  True,  True,  True, False, False, False])
    """
    if not times >= 1:
        raise ValueError(f"dense_days is a number of times, at least 1, or null to leave out no day; got {times}")
    days, rows = np.unique(day[~np.isnan(day)], return_counts=True)
    if not len(days):
        return np.zeros(len(day), bool)
    first_even = np.flatnonzero(rows <= times * np.median(rows))[0]  # there is one: no median is below all
    return np.asarray(day < days[first_even])


def _days(stamps: pa.StringArray) -> NDArray[np.float64]:
    """Return (R,) days of 24 hours since the earliest headline, NaN where the time is no number."""
    known = np.asarray(pc.match_substring_regex(stamps, r"^[0-9]{1,18}$"))
    times = np.full(len(stamps), np.nan)
    times[known] = np.asarray(pc.cast(stamps.filter(pa.array(known)), pa.int64()))
    return np.asarray((times - times[known].min(initial=np.inf)) // MILLISECONDS)
