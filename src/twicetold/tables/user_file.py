"""Columns of a user's own file as text: CSV, TSV, JSONL or Parquet; rows that cannot be read are errors, or left out.

Shape letters: R rows of the file.
"""

import codecs
import csv
import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold.tables.delimited import is_utf8, lines_of, not_utf8, one_piece, records

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".jsonl", ".parquet")
TO_SKIP = "to leave such rows out, set data.source.bad_rows=skip"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

OnBadRow = Literal["error", "skip"]


class BadRow(NamedTuple):
    """A row that is left out."""

    place: int
    """Line on which it begins; in a Parquet file the number of the row. From 1."""
    reason: str
    """Of the kind that is counted: `bad_label`."""
    why: str
    """What was expected and what came, `column 'same': expected 0, 1, true or false; got 'maybe'`."""


class Rows(NamedTuple):
    """The rows of a file that could be read, and those that could not."""

    table: pa.Table
    places: NDArray[np.int64]
    """(R,) line on which each row begins; in a Parquet file the number of the row. From 1."""
    bad: tuple[BadRow, ...] = ()
    several: int = 0
    """Of CSV and TSV: rows that go on over further lines."""


def read_columns(path: Path, columns: list[str], bad_rows: OnBadRow) -> Rows:
    """Some columns of a file, in the format that its suffix says.

    Raises:
        ValueError: if a column is missing, the file cannot be read, or a row cannot and none may be left out.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(path, columns, bad_rows)
    if suffix == ".jsonl":
        return _read_jsonl(path, columns, bad_rows)
    return _read_delimited(path, columns, DELIMITERS[suffix], bad_rows)


def unit(path: Path) -> str:
    """What the places of rows count."""
    return "row" if path.suffix.lower() == ".parquet" else "line"


def shown(value: str | None) -> str:
    """A value for a message, cut where it is long."""
    return repr(value) if value is None or len(value) <= 60 else f"{value[:60]!r}…"


def _read_delimited(path: Path, columns: list[str], delimiter: str, bad_rows: OnBadRow) -> Rows:
    lines = lines_of(_decoded(path, bad_rows))
    invalid = not_utf8(lines)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise ValueError(f"{path}, line 1: expected a header with the names of the columns; {error}") from error
    if 1 in invalid:
        _decoded(path, "error")
    _require_columns(path, columns, header)
    found = records(lines, delimiter=delimiter, width=len(header), start=reader.line_num, invalid=invalid)
    if found.malformed and bad_rows == "error":
        counts = Counter(reason for _, reason in found.malformed)
        others = ", ".join(f"{reason} {count:,}" for reason, count in counts.items())
        in_all = f". Malformed lines in all: {others}" if len(found.malformed) > 1 else ""
        line, reason = found.malformed[0]
        raise ValueError(f"{path}, line {line}: {_fault(line, reason, lines, delimiter, header)}{in_all}; {TO_SKIP}")
    bad = [BadRow(line, reason, _fault(line, reason, lines, delimiter, header)) for line, reason in found.malformed]
    table = pa.table({name: found.column(header.index(name)) for name in columns})
    return Rows(table, np.array(found.lines, np.int64), tuple(bad), found.several)


def _fault(line: int, reason: str, lines: Sequence[str], delimiter: str, header: Sequence[str]) -> str:
    """What is wrong with a malformed line, and what to do about it."""
    if reason == "not_utf8":
        return "expected UTF-8"
    if reason == "wrong_column_count":
        fields = next(csv.reader(lines[line - 1 : line + 1000], delimiter=delimiter))
        return (
            f"expected {len(header)} fields ({', '.join(header)}), got {len(fields)}. A field that holds the "
            'separator, a quote or a line end must be in double quotes, and its own quotes doubled ("")'
        )
    if reason == "field_too_long":
        return f"a field has more than {csv.field_size_limit():,} characters. Keep such texts in .jsonl or .parquet"
    return (
        "a field begins with a quote, and no quote before a separator or a line end closes it (or it closes after "
        "swallowing other rows). A field that holds a quote must be in double quotes, and its own quotes doubled "
        '(""). If the file quotes nothing, docs/your-own-data.md has a command that quotes its fields'
    )


def _read_jsonl(path: Path, columns: list[str], bad_rows: OnBadRow) -> Rows:
    rows: list[list[str | None]] = []
    places: list[int] = []
    bad: list[BadRow] = []
    text = _decoded(path, bad_rows)
    invalid = not_utf8(text.split("\n"))
    for line, written in _json_lines(text):
        try:
            if line in invalid:
                raise _BadLineError("not_utf8", "expected UTF-8")
            values = _json_row(written, path, columns)
        except _BadLineError as error:
            if bad_rows == "error":
                raise ValueError(f"{path}, line {line}: {error}; {TO_SKIP}") from error
            bad.append(BadRow(line, error.reason, f"{error}"))
            continue
        rows.append(values)
        places.append(line)
    table = pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(columns)})
    return Rows(table, np.array(places, np.int64), tuple(bad))


def _json_row(written: str, path: Path, columns: Sequence[str]) -> list[str | None]:
    """The values of some columns of a line.

    Raises:
        _BadLineError: if it is no JSON object with these columns.
    """
    try:
        row = json.loads(written)
        if not isinstance(row, dict):
            raise ValueError(f"got {shown(written)}")
        _require_columns(path, columns, list(row))
        values = [_as_text(row[column]) for column in columns]
        "".join(value or "" for value in values).encode()
    except json.JSONDecodeError as error:
        raise _BadLineError("bad_json", f"expected one JSON object; {error.msg} at {error.colno}") from error
    except UnicodeEncodeError as error:
        raise _BadLineError(
            "bad_json", "expected text, got half of a surrogate pair (\\ud800 to \\udfff). Correct or remove it"
        ) from error
    except RecursionError as error:
        raise _BadLineError("bad_json", "the JSON object is nested too deeply") from error
    except _MissingColumnError as error:
        raise _BadLineError("missing_column", f"{error}".removeprefix(f"{path}: ")) from error
    except ValueError as error:  # not an object; a number of thousands of digits
        raise _BadLineError("bad_json", f"expected a JSON object such as {{...}}; {error}") from error
    return values


def _read_parquet(path: Path, columns: list[str], bad_rows: OnBadRow) -> Rows:
    try:
        _require_columns(path, columns, pq.read_schema(path).names)
        table = pq.read_table(path, columns=columns)
        table = pa.table({name: pc.cast(table[name], pa.string()) for name in columns})
    except _MissingColumnError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file with columns of text: {error}") from error
    read = Rows(table, np.arange(1, table.num_rows + 1))
    for name in columns:
        if not (valid := is_utf8(one_piece(read.table[name]))).all():
            bad = [BadRow(int(row), "not_utf8", f"column {name!r}: expected UTF-8") for row in read.places[~valid]]
            if bad_rows == "error":
                raise ValueError(f"{path}, row {bad[0].place}, {bad[0].why}. Correct it; {TO_SKIP}")
            table = read.table.filter(pa.array(valid))
            read = Rows(table, read.places[valid], (*read.bad, *bad))
    return read


class _BadLineError(ValueError):
    """What is wrong with one line, and of which kind it is."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _MissingColumnError(ValueError):
    """A column that is not there, or there twice."""


def _require_columns(path: Path, columns: Sequence[str], present: Sequence[str]) -> None:
    for column in columns:
        if present.count(column) > 1:
            raise _MissingColumnError(f"{path}: the column {column!r} is there {present.count(column)} times")
        if column not in present:
            close = difflib.get_close_matches(column, present, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            there = ", ".join(repr(name) for name in present)
            raise _MissingColumnError(f"{path}: there is no column {column!r}.{hint} Columns there are: {there}")


def _decoded(path: Path, bad_rows: OnBadRow) -> str:
    """The text of a file; `skip` keeps lines that are not UTF-8, for `not_utf8` to find."""
    data = path.read_bytes()
    if not data.strip():
        raise ValueError(f"{path} is empty: expected rows")
    try:
        if bad_rows == "skip" and not data.startswith(UTF16):
            return data.decode("utf-8-sig", errors="surrogateescape")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        likely, otherwise = ("UTF-16", "") if data.startswith(UTF16) else ("WINDOWS-1252", f"; {TO_SKIP}")
        raise ValueError(
            f"{path}, line {line}: expected UTF-8, got the byte 0x{data[error.start]:02x}. "
            f"Convert the file, say with `iconv -f {likely} -t UTF-8`{otherwise}"
        ) from error


def _json_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number from 1; empty lines are none."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
