"""Your own documents: a CSV, TSV, JSONL or Parquet file with a column of texts and one or two of labels."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import document_corpus, encode
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, OnBadRow
from twicetold_lab.data.sources.user_table import UserTable
from twicetold_lab.data.splits import by_group, by_rows


def read(
    raw: Path,
    *,
    name: str,
    path: str | Path,
    text: str,
    category: str | None = None,
    story: str | None = None,
    id: str | None = None,
    complete_labels: bool = False,
    split_column: str | None = None,
    splits: Sequence[float] = (0.6, 0.2, 0.2),
    seed: int = 0,
    limit: int | None = None,
    bad_rows: OnBadRow = "error",
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the documents.

    Args:
        raw: not used; the file is where `path` says.
        name: of the dataset.
        path: the file, of any format of `twicetold.tables.files`.
        text: column with the texts.
        category: column with the topic of each text. At least one of `category` and `story` is needed.
        story: column with the story of each text: two texts of one story are duplicates.
        id: column with unique names of the texts; they are numbered from 0 when None.
        complete_labels: all duplicates are in one story; if not, precisions are lower bounds.
        split_column: column with the values train, val and test; when None, the split is drawn.
        splits: shares of train, val and test when it is drawn: of the stories (no story on two sides) when
            there is a story column, else of the texts of each category.
        seed: of the draw and of the cut to `limit`.
        limit: keep about so many documents, of every category and split; None for all.
        bad_rows: `error`: a bad row is an error; `skip`: it is left out, counted and listed.
        max_bad_rows: share of the rows that may be left out.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a row is bad, or more than may be left out; the message names the row and what was expected.
    """
    groups = {group: column for group, column in (("category", category), ("story", story)) if column is not None}
    if not groups:
        raise ValueError(
            "documents need a label: name a column with data.source.category=<column>, data.source.story=<column>, "
            "or both"
        )
    columns = [text, *groups.values(), *(c for c in (id, split_column) if c is not None)]
    table = UserTable.read(Path(path), columns, texts=[text])
    if split_column is not None:
        table = table.with_sides(split_column)
    if id is not None:
        table = table.with_unique(id)
    counts = table.account(bad_rows=bad_rows, max_bad_rows=max_bad_rows)
    texts = table.column(text)
    ids = pa.array([str(row) for row in range(len(texts))]) if id is None else table.column(id)
    values = {group: table.or_null(column) for group, column in groups.items()}
    if split_column is not None:
        how, side = "column", table.sides(split_column)
    elif "story" in values:
        how, side = "story", by_group(encode(values["story"])[0], splits=splits, seed=seed)
    else:
        strata = encode(values["category"])[0]
        how, side = "rows", by_rows(len(texts), splits=splits, seed=seed, strata=strata)
    corpus = document_corpus(
        name=name,
        ids=ids,
        texts=texts,
        side=side,
        groups=values,
        seed=seed,
        limit=limit,
        card={
            "split": how,
            **counts,
            "unlabelled": {group: column.null_count for group, column in values.items()},
            **({"complete_labels": True} if complete_labels else {}),
        },
    )
    return replace(corpus, left_out=table.left_out)
