"""STS benchmark: 8,628 sentence pairs, graded from 0 (nothing in common) to 5 (the same meaning).

Cer, Diab, Agirre, Lopez-Gazpio and Specia, "SemEval-2017 Task 1" (arXiv:1708.00055). Train, dev and test are the
official ones. Two layouts, both tab-separated without quoting, give the same corpus: the official files, with seven
fields or nine (two of licence) and no header; or the one file of sentence-transformers, with a header.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.tables.blocks import one_piece
from twicetold_lab.data.corpus import SPLITS, Corpus
from twicetold_lab.data.sources import numbered, official_card, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, SourceTable, read_unquoted

FILES = {"train": "sts-train.csv", "val": "sts-dev.csv", "test": "sts-test.csv"}
COLUMNS = ("genre", "file", "year", "index", "grade", "left", "right")
COPY = "stsbenchmark.tsv"
COPY_COLUMNS = ("split", "genre", "dataset", "year", "sid", "score", "sentence1", "sentence2")
COPY_SPLITS = {"train": "train", "val": "dev", "test": "test"}
HIGHEST = 5.0

_Parts = tuple[dict[str, pa.Table], dict[str, SourceTable]]
"""The sound rows of each split, and those of each file."""


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    positive_grade: float = 4.0,
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the graded pairs. Equal sentences are one text, in whichever splits they occur.

    Args:
        raw: folder with `sts-train.csv`, `sts-dev.csv` and `sts-test.csv`, or with `stsbenchmark.tsv`.
        name: of the dataset.
        seed: of the cut to `limit`.
        limit: keep about so many pairs, of every rounded grade and split; None for all.
        positive_grade: from this grade on, two sentences of train are duplicates and join clusters.
        max_bad_rows: share of each file's rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if a file is not in `raw`.
        ValueError: if a file is empty, has another header or too many malformed rows, or the grade is off the scale.
    """
    if not 0 < positive_grade <= HIGHEST:
        raise ValueError(f"positive_grade is a grade above 0 and at most {HIGHEST}, got {positive_grade}")
    tables, files = _read_copy(raw / COPY) if _has_the_copy_alone(raw) else _read_official(raw)
    counts = {file: rows.account(max_bad_rows=max_bad_rows) for file, rows in files.items()}
    sizes = [len(tables[split]) for split in SPLITS]
    table = pa.concat_tables([tables[split] for split in SPLITS])
    texts, (left, right) = numbered(one_piece(table["left"]), one_piece(table["right"]))
    return pair_corpus(
        name=name,
        kind="graded_pairs",
        texts=texts,
        left=left,
        right=right,
        label=np.asarray(pc.cast(table["grade"], pa.float32())),
        side=np.repeat(np.arange(len(SPLITS), dtype=np.int8), sizes),
        positive=positive_grade,
        seed=seed,
        limit=limit,
        card={**official_card(counts), "positive_grade": positive_grade},
    )


def _has_the_copy_alone(raw: Path) -> bool:
    return (raw / COPY).is_file() and not all((raw / file).is_file() for file in FILES.values())


def _read_official(raw: Path) -> _Parts:
    parts = {split: _sound(read_unquoted(raw / FILES[split], COLUMNS, optional=2)) for split in SPLITS}
    return {split: rows.table for split, rows in parts.items()}, {FILES[split]: rows for split, rows in parts.items()}


def _read_copy(path: Path) -> _Parts:
    rows = read_unquoted(path, COPY_COLUMNS, header=True)
    rows = rows.with_one_of("split", COPY_SPLITS.values(), "unknown_split")
    rows = _sound(replace(rows, table=rows.table.rename_columns(["split", *COLUMNS])))
    tables = {
        split: rows.table.filter(pc.equal(rows.table["split"], name)).select(COLUMNS)
        for split, name in COPY_SPLITS.items()
    }
    return tables, {path.name: rows}


def _sound(rows: SourceTable) -> SourceTable:
    graded = pc.match_substring_regex(rows.table["grade"], r"^([0-4](\.[0-9]+)?|5(\.0+)?)$")
    return rows.without(pc.invert(graded), "bad_grade").with_texts("left", "right", reason="empty_sentence")
