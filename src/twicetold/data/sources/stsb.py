"""STS benchmark: 8,628 sentence pairs, graded from 0 (nothing in common) to 5 (the same meaning).

Cer, Diab, Agirre, Lopez-Gazpio and Specia, "SemEval-2017 Task 1" (arXiv:1708.00055). Tab-separated, no quoting,
seven fields or nine (two of licence); train, dev and test are the official ones.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.data.corpus import SPLITS, Corpus
from twicetold.data.sources import Rows, pair_corpus, read_unquoted

FILES = {"train": "sts-train.csv", "val": "sts-dev.csv", "test": "sts-test.csv"}
COLUMNS = ("genre", "file", "year", "index", "grade", "left", "right")
HIGHEST = 5.0


def read(raw: Path, *, name: str, seed: int = 0, limit: int | None = None, positive_grade: float = 4.0) -> Corpus:
    """Read the graded pairs. Equal sentences are one text, in whichever splits they occur.

    Args:
        raw: folder with `sts-train.csv`, `sts-dev.csv` and `sts-test.csv`.
        name: of the dataset.
        seed: of the cut to `limit`.
        limit: keep about so many pairs, of every rounded grade and split; None for all.
        positive_grade: from this grade on, two sentences of train are duplicates and join clusters.

    Raises:
        FileNotFoundError: if a file is not in `raw`.
        ValueError: if a file is empty, or the grade is off the scale.
    """
    if not 0 < positive_grade <= HIGHEST:
        raise ValueError(f"positive_grade is a grade above 0 and at most {HIGHEST}, got {positive_grade}")
    parts = {split: _read_pairs(raw / FILES[split]) for split in SPLITS}
    sizes = [len(parts[split]) for split in SPLITS]
    table = pa.concat_tables([parts[split].table for split in SPLITS])
    sentences = pa.concat_arrays(table["left"].chunks + table["right"].chunks).dictionary_encode()
    left, right = np.asarray(sentences.indices).astype(np.int64).reshape(2, -1)
    malformed = {FILES[split]: dict(rows.malformed) for split, rows in parts.items() if rows.malformed}
    return pair_corpus(
        name=name,
        kind="graded_pairs",
        ids=pc.cast(pa.array(np.arange(len(sentences.dictionary))), pa.string()),
        texts=sentences.dictionary,
        left=left,
        right=right,
        label=np.asarray(pc.cast(table["grade"], pa.float32())),
        side=np.repeat(np.arange(len(SPLITS), dtype=np.int8), sizes),
        positive=positive_grade,
        seed=seed,
        limit=limit,
        card={
            "split": "official",
            "rows": sum(sizes) + sum(sum(counts.values()) for counts in malformed.values()),
            "malformed": malformed,
            "positive_grade": positive_grade,
        },
    )


def _read_pairs(path: Path) -> Rows:
    rows = read_unquoted(path, COLUMNS, optional=2)
    graded = pc.match_substring_regex(rows.table["grade"], r"^([0-4](\.[0-9]+)?|5(\.0+)?)$")
    rows = rows.without(pc.invert(graded).combine_chunks(), "bad_grade")
    empty = pc.or_(pc.equal(rows.table["left"], ""), pc.equal(rows.table["right"], ""))
    return rows.without(empty.combine_chunks(), "empty_sentence")
