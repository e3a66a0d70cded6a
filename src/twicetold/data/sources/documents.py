"""Your own documents: a CSV, TSV, JSONL or Parquet file with a column of texts and one or two of labels.

A faulty row raises an error that names it, as you can correct your own file. `UserTable`, which checks the rows, is
also used for your own pairs.

Shape letters: R rows of the file.
"""

import codecs
import csv
import difflib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.data.sources import document_corpus, encode, one_piece
from twicetold.data.splits import TEST, TRAIN, VAL, Side, by_group, by_rows

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".jsonl", ".parquet")
SIDE_NAMES = {"train": TRAIN, "val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}


def read(
    raw: Path,
    *,
    name: str,
    path: str | Path,
    text: str,
    category: str | None = None,
    story: str | None = None,
    id: str | None = None,
    split_column: str | None = None,
    splits: Sequence[float] = (0.6, 0.2, 0.2),
    seed: int = 0,
    limit: int | None = None,
) -> Corpus:
    """Read the documents.

    Args:
        raw: not used; the file is where `path` says.
        name: of the dataset.
        path: the file, with the suffix .csv, .tsv, .jsonl or .parquet.
        text: column with the texts.
        category: column with the topic of each text. At least one of `category` and `story` is needed.
        story: column with the story of each text: two texts of one story are duplicates.
        id: column with unique names of the texts; they are numbered from 0 when None.
        split_column: column with the values train, val and test; when None, the split is drawn.
        splits: shares of train, val and test when it is drawn: of the stories (no story on two sides) when
            there is a story column, else of the texts of each category.
        seed: of the draw and of the cut to `limit`.
        limit: keep about so many documents, of every category and split; None for all.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is malformed; the message names the row and what was expected.
    """
    groups = {group: column for group, column in (("category", category), ("story", story)) if column is not None}
    if not groups:
        raise ValueError(
            "documents need a label: name a column with data.source.category=<column>, data.source.story=<column>, "
            "or both"
        )
    table = UserTable.read(Path(path), [text, *groups.values(), *(c for c in (id, split_column) if c is not None)])
    texts = table.filled(text)
    ids = pa.array([str(row) for row in range(len(texts))]) if id is None else table.unique(id)
    values = {group: table.or_null(column) for group, column in groups.items()}
    if split_column is not None:
        how, side = "column", table.sides(split_column)
    elif "story" in values:
        how, side = "story", by_group(encode(values["story"])[0], splits=splits, seed=seed)
    else:
        strata = encode(values["category"])[0]
        how, side = "rows", by_rows(len(texts), splits=splits, seed=seed, strata=strata)
    return document_corpus(
        name=name,
        ids=ids,
        texts=texts,
        side=side,
        groups=values,
        seed=seed,
        limit=limit,
        card={
            "split": how,
            "rows": len(texts),
            "unlabelled": {group: column.null_count for group, column in values.items()},
        },
    )


@dataclass(frozen=True)
class UserTable:
    """Columns of text from a user's own file, with checks that name the faulty row."""

    path: Path
    table: pa.Table

    @classmethod
    def read(cls, path: Path, columns: Sequence[str]) -> "UserTable":
        """Read the given columns as text.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the suffix is unknown, a column is missing, the file has no rows or cannot be read.
        """
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}; got {suffix!r}")
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path.absolute()}: check data.source.path")
        chosen = list(dict.fromkeys(columns))
        if suffix == ".parquet":
            table = _read_parquet(path, chosen)
        elif suffix == ".jsonl":
            table = _read_jsonl(path, chosen)
        else:
            table = _read_delimited(path, chosen, DELIMITERS[suffix])
        if not table.num_rows:
            raise ValueError(f"{path} has no rows: expected at least one for each of train, val and test")
        return cls(path, pa.table({name: pc.utf8_trim_whitespace(table[name]) for name in chosen}))

    def filled(self, column: str, expected: str = "a text") -> pa.StringArray:
        """(R,) a column in which no row may be empty."""
        values = one_piece(self.table[column])
        self._check(column, pc.not_equal(values, "").fill_null(False), expected=f"{expected}, not an empty one")
        return values

    def unique(self, column: str) -> pa.StringArray:
        """(R,) a column in which no value may be empty or repeated."""
        values = self.filled(column)
        _, first = np.unique(np.asarray(values.dictionary_encode().indices), return_index=True)
        new = np.zeros(len(values), bool)
        new[first] = True
        self._check(column, pa.array(new), expected="an id that no earlier row has")
        return values

    def or_null(self, column: str) -> pa.StringArray:
        """(R,) a column in which an empty value means that it is not known."""
        values = one_piece(self.table[column])
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
        if values.null_count == len(values):
            raise ValueError(f"{self.path}: column {column!r} is empty in every row")
        return values

    def sides(self, column: str) -> Side:
        """(R,) side of the split that each row names."""
        names = pc.utf8_lower(self.filled(column))
        places = pc.index_in(names, pa.array(list(SIDE_NAMES)))
        self._check(column, places.is_valid(), expected=f"one of {', '.join(SIDE_NAMES)}")
        sides = np.array(list(SIDE_NAMES.values()), np.int8)
        return sides.take(np.asarray(places))

    def labels(self, column: str) -> NDArray[np.float32]:
        """(R,) 1 or 0, from 1, 0, true or false."""
        names = pc.utf8_lower(self.filled(column, expected := "0, 1, true or false"))
        self._check(column, pc.is_in(names, pa.array(["0", "1", "true", "false"])), expected=expected)
        return np.asarray(pc.is_in(names, pa.array(["1", "true"]))).astype(np.float32)

    def grades(self, column: str) -> NDArray[np.float32]:
        """(R,) finite numbers."""
        values = self.filled(column, "a number")
        number = pc.match_substring_regex(values, r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$")
        self._check(column, number, expected="a number")
        return np.asarray(pc.cast(pc.utf8_ltrim(values, "+"), pa.float64())).astype(np.float32)

    def _check(self, column: str, good: pa.BooleanArray, *, expected: str) -> None:
        bad = np.flatnonzero(~np.asarray(good))
        if len(bad):
            got = self.table[column][int(bad[0])].as_py()
            more = f" ({len(bad)} rows are like this)" if len(bad) > 1 else ""
            where = _place_of(self.path, int(bad[0]))
            raise ValueError(f"{self.path}, {where}, column {column!r}: expected {expected}; got {got!r}{more}")


def _read_delimited(path: Path, columns: list[str], delimiter: str) -> pa.Table:
    text = _decoded(path)
    header = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    _require_columns(path, columns, header)
    try:
        return pa.csv.read_csv(
            path,
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        for line, row in _records(text, delimiter):
            if len(row) != len(header):
                raise ValueError(
                    f"{path}, line {line}: expected {len(header)} fields ({', '.join(header)}), got {len(row)}. A "
                    "field that holds the separator, a quote or a line end must be in double quotes, and its own "
                    'quotes doubled ("")'
                ) from error
        raise ValueError(f"{path} cannot be read as {path.suffix}: {error}") from error


def _read_jsonl(path: Path, columns: list[str]) -> pa.Table:
    rows: list[list[str | None]] = []
    for line, text in _json_lines(_decoded(path)):
        try:
            row = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {line}: expected one JSON object; {error.msg} at {error.colno}") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {line}: expected a JSON object such as {{...}}, got {text[:60]!r}")
        _require_columns(path, columns, list(row), where=f", line {line}")
        rows.append([_as_text(row[column]) for column in columns])
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(columns)})


def _read_parquet(path: Path, columns: list[str]) -> pa.Table:
    try:
        _require_columns(path, columns, pq.read_schema(path).names)
        table = pq.read_table(path, columns=columns)
        return pa.table({name: pc.cast(table[name], pa.string()) for name in columns})
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file with columns of text: {error}") from error


def _require_columns(path: Path, columns: Sequence[str], present: Sequence[str], where: str = "") -> None:
    for column in columns:
        if present.count(column) > 1:
            raise ValueError(f"{path}: the column {column!r} is there {present.count(column)} times")
        if column not in present:
            close = difflib.get_close_matches(column, present, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            there = ", ".join(repr(name) for name in present)
            raise ValueError(f"{path}{where}: there is no column {column!r}.{hint} Columns there are: {there}")


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    if not data.strip():
        raise ValueError(f"{path} is empty: expected rows")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        likely = "UTF-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "WINDOWS-1252"
        raise ValueError(
            f"{path}, line {line}: expected UTF-8, got the byte 0x{data[error.start]:02x}. "
            f"Convert the file, say with `iconv -f {likely} -t UTF-8`"
        ) from error


def _place_of(path: Path, row: int) -> str:
    """The line on which a row (counted from 0) begins. Called for errors only, hence the loop."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return f"row {row + 1}"
    text = _decoded(path)
    lines = _json_lines(text) if suffix == ".jsonl" else _records(text, DELIMITERS[suffix])
    return f"line {next(line for number, (line, _) in enumerate(lines) if number == row)}"


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows below the header, with the line that each begins on; empty lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    next(reader, None)
    begins = reader.line_num + 1
    for row in reader:
        if row:
            yield begins, row
        begins = reader.line_num + 1


def _json_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number from 1; empty lines are none."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
