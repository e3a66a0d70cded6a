"""Natural language inference with all three classes: pairs of sentences that entail, are neutral, or contradict.

`AllNLI.tsv` of sentence-transformers (Reimers and Gurevych, EMNLP 2019): SNLI (Bowman et al., EMNLP 2015) and MultiNLI
(Williams, Nangia and Bowman, NAACL 2018) in one file, tab-separated without quoting, with a header and the splits of
both. Left is the premise, right the hypothesis.

Classes are grades: contradiction 0, neutral 1, entailment 2. So they have an order, examples of pairs that say the same
or not (`labelled_pairs`) have neutral and contradicting pairs as negatives, and `graded_pairs` gives the class.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import numbered, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, read_unquoted

FILE = "AllNLI.tsv"
COLUMNS = ("split", "dataset", "filename", "sentence1", "sentence2", "label")
PARTS = ("train", "dev", "test")  # its names of SPLITS
CLASSES = ("contradiction", "neutral", "entailment")  # by grade


def read(
    raw: Path, *, name: str, seed: int = 0, limit: int | None = None, max_bad_rows: float = MAX_BAD_ROWS
) -> Corpus:
    """Read the pairs of all classes. Equal sentences are one text, in whichever splits they occur.

    Args:
        raw: folder with `AllNLI.tsv`.
        name: of the dataset.
        seed: of the cut to `limit`.
        limit: keep about so many pairs, of every class and split; None for all.
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if the file is not in `raw`.
        ValueError: if it has another header or too many malformed rows.
    """
    rows = read_unquoted(raw / FILE, COLUMNS, header=True)
    rows = rows.with_one_of("split", PARTS, "unknown_split").with_one_of("label", CLASSES, "unknown_label")
    rows = rows.with_texts("sentence1", "sentence2", reason="empty_sentence")
    counts = rows.account(max_bad_rows=max_bad_rows)
    texts, (left, right) = numbered(rows.column("sentence1"), rows.column("sentence2"))
    return pair_corpus(
        name=name,
        kind="graded_pairs",
        texts=texts,
        left=left,
        right=right,
        label=np.asarray(pc.index_in(rows.column("label"), pa.array(CLASSES))).astype(np.float32),
        side=np.asarray(pc.index_in(rows.column("split"), pa.array(PARTS))).astype(np.int8),
        positive=CLASSES.index("entailment"),
        seed=seed,
        limit=limit,
        card={"split": "official", **counts, "positive_grade": CLASSES.index("entailment"), "classes": list(CLASSES)},
    )
