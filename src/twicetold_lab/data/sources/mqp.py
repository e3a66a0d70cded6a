"""Medical Question Pairs: 3,048 pairs of patients' questions, labelled by doctors as asking the same or not.

McCreery, Katariya, Kannan, Chablani and Amatriain, "Effective Transfer Learning for Identifying Similar Questions:
Matching User Questions to COVID-19 FAQs" (KDD 2020). Comma-separated without a header: number of the doctor, question,
another question, 1 or 0. Each question was given to a doctor, who wrote one that asks the same in other words, and
one that looks alike and asks something else. So words alone say little.

There is no published split: questions that share a pair go to one side.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import first_of_each, numbered, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, read_quoted
from twicetold_lab.data.splits import by_component

FILE = "mqp.csv"
COLUMNS = ("doctor", "question1", "question2", "label")


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    splits: Sequence[float] = (0.6, 0.2, 0.2),
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the pairs. Equal questions are one text, and no question is on two sides of the split.

    Args:
        raw: folder with `mqp.csv`.
        name: of the dataset.
        seed: of the split and of the cut to `limit`.
        limit: keep about so many pairs, of either label and every split; None for all.
        splits: of the pairs that go to train, val and test.
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if it has too many malformed rows or too few for the split.
    """
    rows = read_quoted(raw / FILE, COLUMNS, delimiter=",", header=False)
    rows = rows.with_texts("question1", "question2", reason="empty_question")
    rows = rows.with_one_of("label", ["0", "1"], "bad_label")
    counts = rows.account(max_bad_rows=max_bad_rows)
    texts, (left, right) = numbered(rows.column("question1"), rows.column("question2"))
    first = first_of_each(left, right)
    left, right = left[first], right[first]
    label = np.asarray(pc.equal(rows.column("label"), "1")).astype(np.float32)[first]
    return pair_corpus(
        name=name,
        texts=texts,
        left=left,
        right=right,
        label=label,
        side=by_component(len(texts), left, right, splits=splits, seed=seed),
        seed=seed,
        limit=limit,
        card={"split": "disjoint", **counts, "repeated_pairs": len(rows) - len(left)},
    )
