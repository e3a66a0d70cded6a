"""Your own pairs: a CSV, TSV, JSONL or Parquet file with two columns of texts and one of labels or grades."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import first_of_each, numbered, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, OnBadRow
from twicetold_lab.data.sources.user_table import UserTable
from twicetold_lab.data.splits import UNUSED, by_component, by_rows


def read(
    raw: Path,
    *,
    name: str,
    path: str | Path,
    left: str,
    right: str,
    label: str,
    graded: bool = False,
    positive_grade: float | None = None,
    complete_labels: bool = False,
    split: Literal["pairs", "disjoint"] = "pairs",
    split_column: str | None = None,
    splits: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    limit: int | None = None,
    bad_rows: OnBadRow = "error",
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the pairs. Equal texts are one text.

    Args:
        raw: not used; the file is where `path` says.
        name: of the dataset.
        path: the file, of any format of `twicetold.tables.files`.
        left: column with one text.
        right: column with the other.
        label: column that says whether they are duplicates: 1 or 0, true or false; or a grade.
        graded: the labels are grades, numbers up to a million, higher = more alike.
        positive_grade: from this grade on, two texts of train are duplicates; needed for graded pairs.
        complete_labels: all duplicates are labelled so; if not, precisions are lower bounds.
        split: `pairs` draws pairs, with the same share of duplicates everywhere, and leaves repetitions of a pair out;
            `disjoint` draws connected components of pairs, so no text is on two sides.
        split_column: column that says train, val or test; then nothing is drawn.
        splits: shares of the pairs that go to train, val and test when they are drawn.
        seed: of the draw and of the cut to `limit`.
        limit: keep about so many pairs, of every label and split; None for all.
        bad_rows: `error`: a bad row is an error; `skip`: it is left out, counted and listed.
        max_bad_rows: share of the rows that may be left out.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a row is bad, or more than may be left out; the message names the row and what was expected.
    """
    if split not in ("pairs", "disjoint"):
        raise ValueError(f"pairs are split by 'pairs' or 'disjoint', or by a split_column; got {split!r}")
    if graded and positive_grade is None:
        raise ValueError(
            "graded pairs need data.source.positive_grade=<number>: from which grade on do two texts are duplicates?"
        )
    if positive_grade is not None and not (isinstance(positive_grade, int | float) and math.isfinite(positive_grade)):
        raise ValueError(f"data.source.positive_grade is a number; got {positive_grade!r}")
    columns = [left, right, label] + ([split_column] if split_column is not None else [])
    table = UserTable.read(Path(path), columns, texts=[left, right])
    table = table.with_grades(label) if graded else table.with_labels(label)
    if split_column is not None:
        table = table.with_sides(split_column)
    counts = table.account(bad_rows=bad_rows, max_bad_rows=max_bad_rows)
    texts, (one, other) = numbered(table.column(left), table.column(right))
    labels = table.grades(label).astype(np.float32) if graded else table.labels(label)
    if graded and positive_grade is not None and not float(labels.min()) < positive_grade <= float(labels.max()):
        raise ValueError(
            f"{path}, column {label!r}: the grades go from {labels.min():g} to {labels.max():g}, so positive_grade="
            f"{positive_grade:g} does not divide them. Choose a grade above the lowest one and at most the highest one"
        )
    repeated = {}
    if split_column is not None:
        side = table.sides(split_column)
    elif split == "disjoint":
        side = by_component(len(texts), one, other, splits=splits, seed=seed)
    else:
        first = first_of_each(one, other)
        strata = np.rint(labels[first]).astype(np.int64)
        side = np.full(len(labels), UNUSED, np.int8)
        side[first] = by_rows(len(first), splits=splits, seed=seed, strata=strata)
        repeated = {"repeated_pairs_left_out": len(labels) - len(first)}
    corpus = pair_corpus(
        name=name,
        kind="graded_pairs" if graded else "labelled_pairs",
        texts=texts,
        left=one,
        right=other,
        label=labels,
        side=side,
        positive=1 if positive_grade is None else positive_grade,
        seed=seed,
        limit=limit,
        card={
            "split": "column" if split_column is not None else split,
            **counts,
            **repeated,
            **({"positive_grade": positive_grade} if graded else {}),
            **({"complete_labels": True} if complete_labels else {}),
        },
    )
    return replace(corpus, left_out=table.left_out)
