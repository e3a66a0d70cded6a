"""Labelled pairs with the test set that their publisher chose: scrambled questions, tweets and headlines.

- PAWS-QQP: Zhang, Baldridge and He, "PAWS: Paraphrase Adversaries from Word Scrambling" (NAACL 2019). Tab-separated
  with a header; questions of Quora, and the same with words swapped. Quora's terms forbid to give them away: the script
  of its repository makes both files from Quora's.
- Twitter URL, also LanguageNet: Lan, Qiu, He and Xu, "A Continuously Growing Dataset of Sentential Paraphrases" (EMNLP
  2017). Tab-separated without a header: sentence, sentence, votes, address. Votes are such as `(4,6)`, four of six
  annotators; pairs with three votes are left out, as there.
- HLGD: Laban, Bandarkar and Hearst, "News Headline Grouping as a Challenging NLU Task" (NAACL 2021). A zip archive of
  lists in JSON. Two timelines of ten are for validation, two for test.

Fields are literal text: a quote is a quote.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.tables.blocks import one_piece
from twicetold_lab.data.corpus import SPLITS, Corpus
from twicetold_lab.data.sources import numbered, official_card, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, SourceTable, read_unquoted, trimmed
from twicetold_lab.data.splits import TRAIN, VAL, by_component


def read(
    raw: Path,
    *,
    name: str,
    files: Mapping[str, str],
    columns: Sequence[str],
    left: str,
    right: str,
    label: str,
    same: Sequence[str],
    different: Sequence[str],
    undecided: Sequence[str] = (),
    header: bool = False,
    archive: str | None = None,
    val: float = 0.1,
    seed: int = 0,
    limit: int | None = None,
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the pairs. Equal texts are one text, in whichever splits they occur.

    Args:
        raw: folder with the files.
        name: of the dataset.
        files: split -> file, for `train`, `test` and perhaps `val`.
        columns: of a row, in their order; in an archive its keys that are read.
        left: column with one text.
        right: column with the other.
        label: column with the label.
        same: labels of pairs of duplicates.
        different: labels of other pairs.
        undecided: labels of pairs that are left out and counted.
        header: the first row names the columns.
        archive: zip archive that has the files, as lists in JSON; None: they are tab-separated.
        val: share of train's pairs that validation gets where it has no file; it shares no text with train then.
        seed: of the draw of validation and of the cut to `limit`.
        limit: keep about so many pairs, of both labels and every split; None for all.
        max_bad_rows: share of each file's rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: if a file is empty, has another header or too many malformed rows.
    """
    if missing := {"train", "test"} - files.keys():
        raise ValueError(f"expected files for train, test and perhaps val, got none for {sorted(missing)}")
    parts = {}
    for split in (split for split in SPLITS if split in files):
        if archive is None:
            rows = read_unquoted(raw / files[split], columns, optional=1, header=header)  # some tweets have a tab more
        else:
            rows = _read_packed(raw / archive, files[split], columns)
        rows = rows.with_texts(left, right, reason="empty_text")
        parts[split] = rows.with_one_of(label, [*same, *different, *undecided], "bad_label")
    counts = {files[split]: rows.account(max_bad_rows=max_bad_rows) for split, rows in parts.items()}
    table = pa.concat_tables([rows.table for rows in parts.values()])
    side = np.repeat([SPLITS.index(split) for split in parts], [len(rows) for rows in parts.values()]).astype(np.int8)
    decided = np.asarray(pc.is_in(table[label], pa.array([*same, *different])))
    table, side = table.filter(pa.array(decided)), side[decided]
    texts, (one, other) = numbered(one_piece(table[left]), one_piece(table[right]))
    if "val" not in files:
        train = side == TRAIN
        drawn = by_component(len(texts), one[train], other[train], splits=(1 - 2 * val, val, val), seed=seed)
        side[train] = np.where(drawn == VAL, VAL, TRAIN)
    return pair_corpus(
        name=name,
        texts=texts,
        left=one,
        right=other,
        label=np.asarray(pc.is_in(table[label], pa.array([*same]))).astype(np.float32),
        side=side,
        seed=seed,
        limit=limit,
        card={**official_card(counts), "undecided": int((~decided).sum())},
    )


def _read_packed(path: Path, file: str, columns: Sequence[str]) -> SourceTable:
    """Return rows of a list of objects in JSON, one file of an archive; a missing value is an empty text."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}. Run `dvc repro download@{path.parent.name}`, which fetches it"
        )
    try:
        with zipfile.ZipFile(path) as packed:
            rows = json.loads(packed.read(file))
        table = pa.table({name: pa.array([str(row.get(name, "")) for row in rows], pa.string()) for name in columns})
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: expected a zip archive with {file}, a list of objects in JSON; {error}") from error
    if not rows:
        raise ValueError(f"{path}: {file} is empty: expected rows")
    return SourceTable(path, trimmed(table), np.arange(1, len(table) + 1), unit="entry")
