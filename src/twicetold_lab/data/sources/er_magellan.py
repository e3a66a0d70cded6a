"""Entity matching: pairs of records of two tables, labelled as one thing or two, with the published splits.

Records and splits are those of DeepMatcher (Mudgal et al., SIGMOD 2018), in the text form of Ditto (Li et al., VLDB
2020): a line is `left TAB right TAB label`, and a record is `COL name VAL value COL name VAL value ...`, where a value
may be empty. The text of a record is its values in a line; each column is a field of the corpus as well.

Records of val and test occur in train too, in other pairs: this is how every system was measured on them. The card's
audit has the shares.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.tables.blocks import one_piece
from twicetold_lab.data.corpus import SPLITS, Corpus
from twicetold_lab.data.sources import numbered, official_card, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, SourceTable, read_unquoted

FILES = ("train.txt", "valid.txt", "test.txt")  # in the order of SPLITS
COLUMNS = ("left", "right", "label")


def read(
    raw: Path,
    *,
    name: str,
    folder: str,
    columns: Sequence[str],
    seed: int = 0,
    limit: int | None = None,
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the pairs. Equal records are one text, in whichever splits they occur.

    Args:
        raw: folder with the files.
        name: of the dataset.
        folder: of the files within `raw`, such as `Textual/Abt-Buy`.
        columns: of a record, in their order.
        seed: of the cut to `limit`.
        limit: keep about so many pairs, of both labels and every split; None for all.
        max_bad_rows: share of each file's rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: if a file is empty or has too many malformed rows.
    """
    for file in FILES:
        if not (raw / folder / file).is_file():
            raise FileNotFoundError(
                f"{file} is not in {raw / folder}. Run `dvc repro download@{name}`, which fetches it"
            )
    files = [_sound(read_unquoted(raw / folder / file, COLUMNS), columns) for file in FILES]
    counts = {file: rows.account(max_bad_rows=max_bad_rows) for file, rows in zip(FILES, files, strict=True)}
    table = pa.concat_tables([rows.table for rows in files])
    records, (left, right) = numbered(one_piece(table["left"]), one_piece(table["right"]))
    values = _values(records, columns)
    corpus = pair_corpus(
        name=name,
        texts=_texts(values),
        left=left,
        right=right,
        label=np.asarray(pc.equal(table["label"], "1")).astype(np.float32),
        side=np.repeat(np.arange(len(SPLITS), dtype=np.int8), [len(rows) for rows in files]),
        seed=seed,
        limit=limit,
        card=official_card(counts),
    )
    kept = pc.cast(corpus.ids, pa.int64())  # ids are the numbers of the records
    return replace(corpus, fields={column: pc.take(of_column, kept) for column, of_column in values.items()})


def _sound(rows: SourceTable, columns: Sequence[str]) -> SourceTable:
    """Return rows whose records have these columns and some value, and whose label is 0 or 1."""
    rows = rows.with_one_of("label", ["0", "1"], "bad_label")
    for side in ("left", "right"):
        rows = rows.without(pc.is_null(_matched(rows.column(side), columns)), "other_columns")
    for side in ("left", "right"):
        rows = rows.without(pc.equal(_texts(_values(rows.column(side), columns)), ""), "empty_record")
    return rows


def _matched(records: pa.StringArray, columns: Sequence[str]) -> pa.StructArray:
    """Return values by column, null where a record has other columns."""
    return pc.extract_regex(records, "^" + r"\s+".join(f"COL {one} VAL(?P<{one}>.*?)" for one in columns) + "$")


def _values(records: pa.StringArray, columns: Sequence[str]) -> dict[str, pa.StringArray]:
    matched = _matched(records, columns)
    return {one: pc.utf8_trim_whitespace(pc.struct_field(matched, one)) for one in columns}


def _texts(values: dict[str, pa.StringArray]) -> pa.StringArray:
    joined = pc.binary_join_element_wise(*values.values(), " ")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(joined, r"\s+", " "))
