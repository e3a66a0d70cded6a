"""Natural language inference as pairs: what follows from a sentence, and what contradicts it.

`nli_for_simcse.csv` of SimCSE (Gao, Yao and Chen, EMNLP 2021, section 4), made from SNLI (Bowman et al., EMNLP 2015)
and MultiNLI (Williams, Nangia and Bowman, NAACL 2018): for each premise a sentence that it entails and one that it
contradicts. Comma-separated, with a header. A row gives two pairs: premise and entailed sentence, 1; premise and
contradicting sentence, 0.

To entail is less than to say the same, and has a direction: "a man plays a black guitar" entails "a man plays". As
labels of a metric they are used as if it were the same, as SimCSE does.
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import first_of_each, numbered, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, read_quoted
from twicetold_lab.data.splits import by_component

FILE = "nli_for_simcse.csv"
COLUMNS = ("sent0", "sent1", "hard_neg")  # premise, entailed, contradicting


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    splits: Sequence[float] = (0.8, 0.1, 0.1),
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the pairs. Equal sentences are one text, and no text is on two sides of the split.

    Args:
        raw: folder with `nli_for_simcse.csv`.
        name: of the dataset.
        seed: of the split and of the cut to `limit`.
        limit: keep about so many pairs, of either label and every split; None for all.
        splits: of the pairs that go to train, val and test. Premises that share a sentence, their own or one that
            is compared with them, go together.
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if it has another header, too many malformed rows or too few for the split.
    """
    rows = read_quoted(raw / FILE, COLUMNS, delimiter=",")
    rows = rows.with_texts(*COLUMNS, reason="empty_sentence")
    equal = [np.asarray(pc.equal(rows.table[one], rows.table[other])) for one, other in combinations(COLUMNS, 2)]
    rows = rows.without(np.logical_or.reduce(equal), "equal_sentences")
    counts = rows.account(max_bad_rows=max_bad_rows)
    texts, (premise, *others) = numbered(*map(rows.column, COLUMNS))
    left, right = np.tile(premise, 2), np.concatenate(others)
    label = np.repeat(np.array([1, 0], np.float32), len(rows))
    first = first_of_each(left, right)
    left, right, label = left[first], right[first], label[first]
    return pair_corpus(
        name=name,
        kind="labelled_pairs",
        texts=texts,
        left=left,
        right=right,
        label=label,
        side=by_component(len(texts), left, right, splits=splits, seed=seed),
        positive=1,
        seed=seed,
        limit=limit,
        card={"split": "disjoint", **counts, "repeated_pairs": 2 * len(rows) - len(left)},
    )
