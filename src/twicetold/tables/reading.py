"""Readers of the formats: blocks of rows, and the rows that are none.

A record of CSV or TSV may go on over several lines, so it may not be whole at the end of a block. Then it is read again
with the next block. `tables.delimited` says what makes a line malformed.

Shape letters: R rows of a block.
"""

import csv
import io
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twicetold.tables.bad_rows import INVALID, BadRow, invalid_lines, not_utf8, shown
from twicetold.tables.blocks import Block, decoded, index_columns, is_text, is_utf8, one_piece, without_views
from twicetold.tables.cells import dumped, finite
from twicetold.tables.delimited import fault, records
from twicetold.tables.separators import NAMED, recognised

BLOCK = 1 << 21  # characters that are read at once
CELLS = 1 << 24  # of rows of JSON lines that are read at once: where rows share keys, `BLOCK` holds a thirtieth
ROWS = 1 << 14  # rows of Parquet that are read at once
LONGEST = 1 << 26  # bytes of a line, and of a text of Parquet (64 MB)
NOT_FINITE = re.compile(r'("(?:[^"\\]|\\.)*")|-?Infinity|NaN')
TEXT = pa.string()
LONGEST_RECORD = 1000  # lines of a malformed record that are looked at to say what is wrong

Blocks: TypeAlias = Iterator[tuple[Block, list[BadRow]]]


class Reader(Protocol):
    """A file that is open."""

    columns: list[str]
    several: int
    """Rows so far that go on over further lines."""

    def blocks(self, texts: Sequence[str] = (), *, columns: Sequence[str] | None = None) -> Blocks:
        """Return all rows in order, once; at least one block. Texts may be null or empty.

        Args:
            texts: columns that must be texts.
            columns: those that are needed; None: all.
        """
        ...


class _Bounded(io.BufferedIOBase):
    """The bytes of a stream, as long as its lines have at most `LONGEST`: a line is held as a whole.

    Raises:
        ValueError: where one is longer, before it is read to its end.
    """

    name = ""

    def __init__(self, stream: IO[bytes]) -> None:
        self._read = getattr(stream, "read1", stream.read)
        self._lines, self._length = 1, 0  # number and bytes of the line so far

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        data: bytes = self._read(size)
        end = max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._lines += data.count(b"\n")
        self._length = len(data) - 1 - end if end >= 0 else self._length + len(data)
        if self._length > LONGEST:
            raise ValueError(f"line {self._lines}: {_too_long('a line')}")
        return data


def _too_long(what: str) -> str:
    return f"expected {what} of at most {LONGEST:,} bytes, got more: remove the row, or divide its text into several"


class Delimited:
    """CSV or TSV.

    Args:
        stream: the bytes.
        delimiter: between fields.
        recognise: take another one if the first lines show it; see `tables.separators`.

    Raises:
        ValueError: if there is no header, or more than one delimiter that may be it.
    """

    def __init__(self, stream: IO[bytes], delimiter: str, *, recognise: bool = False) -> None:
        self.stream = io.TextIOWrapper(_Bounded(stream), "utf-8-sig", errors="surrogateescape", newline="")
        self.several = 0
        self.lines = self.stream.readlines(BLOCK)
        _check_start(self.lines, expected="a header with the names of the columns, and rows")
        named = NAMED.fullmatch(self.lines[0])
        start = int(named is not None)
        self.delimiter = (named[1] if named else recognised(self.lines, delimiter)) if recognise else delimiter
        reader = self._records(start)
        try:
            self.columns: list[str] = next(reader)
        except (csv.Error, StopIteration) as error:
            raise ValueError(f"line {start + 1}: expected a header with the names of the columns; {error}") from error
        if not self.columns:
            raise ValueError("line 1: expected a header with the names of the columns, got nothing")
        if invalid := [name for name in self.columns if INVALID.search(name)]:
            raise ValueError(f"line 1: {not_utf8(invalid[0])}")
        self.header = start + reader.line_num
        del self.lines[: self.header]

    def blocks(self, texts: Sequence[str] = (), *, columns: Sequence[str] | None = None) -> Blocks:
        """See `Reader`."""
        places = range(len(self.columns)) if columns is None else [self.columns.index(name) for name in columns]
        names = [self.columns[place] for place in places]
        done, more = self.header, self.stream.readlines(BLOCK)
        while True:
            invalid = invalid_lines(self.lines)
            split = records(self.lines, delimiter=self.delimiter, width=len(self.columns), invalid=invalid)
            end = self._whole(split.malformed) if more else len(self.lines)
            rows = bisect_right(split.lines, end)
            self.several += bisect_right(split.several, end)
            arrays = [split.column(place, rows) for place in places]
            bad = [self._bad(line, reason, done) for line, reason in split.malformed if line <= end]
            yield Block(pa.Table.from_arrays(arrays, names=names), done + np.array(split.lines[:rows], np.int64)), bad
            if not more:
                return
            done += end
            self.lines = self.lines[end:] + more
            more = self.stream.readlines(BLOCK)

    def _bad(self, line: int, reason: str, done: int) -> BadRow:
        if reason == "not_utf8":
            what = not_utf8(self.lines[line - 1])
        else:
            lines = self.lines[line - 1 : line - 1 + LONGEST_RECORD]
            what = fault(reason, lines, delimiter=self.delimiter, header=self.columns)
        return BadRow(done + line, reason, what, content=self.lines[line - 1])

    def _whole(self, malformed: Sequence[tuple[int, str]]) -> int:
        """Return the number of lines that hold whole records: the last record may go on after them."""
        for line, reason in malformed:
            if reason == "unclosed_quote":
                reader = self._records(line - 1)
                try:
                    next(reader)
                except csv.Error:
                    if line - 1 + reader.line_num == len(self.lines):
                        return line - 1
        return len(self.lines)

    def _records(self, start: int) -> Any:
        lines = map(self.lines.__getitem__, range(start, len(self.lines)))
        return csv.reader(lines, delimiter=self.delimiter, strict=True)


class JsonLines:
    """One JSON object a line; empty lines are none. The columns are the keys of the first block.

    A row without a key, or with null or NaN, has no value there.

    Raises:
        ValueError: if no line of the first block is an object.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = io.TextIOWrapper(_Bounded(stream), "utf-8-sig", errors="surrogateescape", newline="\n")
        self.several = 0
        self.lines = self.stream.readlines(BLOCK)
        _check_start(self.lines, expected="JSON objects, one a line")
        objects, bad = _objects(self.lines, 0)
        if not objects:
            raise ValueError(bad[0].at("line"))
        self.columns = list(dict.fromkeys(key for row, _ in objects.values() for key in row))

    def blocks(self, texts: Sequence[str] = (), *, columns: Sequence[str] | None = None) -> Blocks:
        """See `Reader`."""
        done = 0
        while self.lines:
            objects, bad = _objects(self.lines, done)
            for line, (row, _) in list(objects.items()):
                for column in texts:
                    value = row.get(column)
                    if not (isinstance(value, str) or _is_missing(value)):
                        what = f"expected a text, got {_as_text(value):.60}"
                        bad.append(BadRow(line, "no_text", what, column, objects.pop(line)[1]))
                        break
            rows = [row for row, _ in objects.values()]
            keys = dict.fromkeys([*self.columns, *(key for row in rows for key in row)] if columns is None else columns)
            if len(rows) * len(keys) > CELLS:
                raise ValueError(
                    f"line {done + 1}: expected rows that share most of their keys, got {len(keys):,} keys in "
                    f"{len(rows):,} rows, the last one {[*keys][-1]!r}: put values whose keys differ by row under one "
                    "key, as by jq -c '{text, more: del(.text)}'"
                )
            table = {key: pa.array([_as_text(row[key]) if key in row else None for row in rows], TEXT) for key in keys}
            spelt = pa.array([text for _, text in objects.values()], TEXT)
            yield Block(pa.table(table), np.fromiter(objects, np.int64, len(objects)), spelt), bad
            done += len(self.lines)
            self.lines = self.stream.readlines(BLOCK)


def _objects(lines: Sequence[str], done: int) -> tuple[dict[int, tuple[dict[str, Any], str]], list[BadRow]]:
    """Return the object of each line and its spelling, by line, and the lines that hold none."""
    objects, bad = {}, []
    for number, line in enumerate(lines, done + 1):
        text = line.strip()
        if not text:
            continue
        if not line.isascii() and INVALID.search(line):
            bad.append(BadRow(number, "not_utf8", not_utf8(line), content=line))
            continue
        try:
            objects[number] = _object(text), _with_null(text)
        except ValueError as error:
            bad.append(BadRow(number, "bad_json", str(error), content=line))
    return objects, bad


def _object(text: str) -> dict[str, Any]:
    """Return the object that a line holds.

    Raises:
        ValueError: if it holds none; the message says why.
    """
    try:
        row = json.loads(text)
        if "\\u" in text:
            json.dumps(row, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"expected one JSON object; {error.msg} at {error.colno}") from error
    except UnicodeEncodeError as error:
        raise ValueError(
            "expected text, got half of a surrogate pair (\\ud800 to \\udfff). Correct or remove it"
        ) from error
    except RecursionError as error:
        raise ValueError("the JSON object is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise ValueError(f"expected a JSON object such as {{...}}; {error}") from error
    if not isinstance(row, dict):
        raise ValueError(f"expected a JSON object such as {{...}}; got {shown(text)}")
    return row


def _with_null(text: str) -> str:
    """Replace NaN and Infinity, which JSON does not know, by null; the rest of the line stays as it is spelt."""
    return NOT_FINITE.sub(lambda match: match[1] or "null", text) if "NaN" in text or "Infinity" in text else text


def _is_missing(value: Any) -> bool:
    return value is None or value != value  # NaN, which writers of JSON leave for a missing value


def _as_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return None if _is_missing(value) else dumped(finite(value) if isinstance(value, dict | list) else value)


class Parquet:
    """Parquet, whose columns keep their types.

    Raises:
        ValueError: if the file is not Parquet.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.several = 0
        try:
            self.file = pq.ParquetFile(stream)
            self.schema = self.file.schema_arrow
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"cannot be read as a Parquet file: {error}") from error
        index = index_columns(self.schema)
        self.columns: list[str] = [name for name in self.schema.names if name not in index]

    def blocks(self, texts: Sequence[str] = (), *, columns: Sequence[str] | None = None) -> Blocks:
        """See `Reader`."""
        for column in texts:
            if not is_text(kind := self.schema.field(column).type):
                raise ValueError(f"expected texts in the column {column!r}, got {kind}")
        done = 0
        for table in self._tables(columns):
            rows = np.arange(done + 1, done + 1 + table.num_rows)
            bad: dict[int, BadRow] = {}
            for column, values in zip(table.column_names, table.columns, strict=True):  # a name may be there twice
                if is_text(values.type):
                    valid = is_utf8(one_piece(pc.cast(decoded(values), pa.string())))
                    for row in np.flatnonzero(~valid).tolist():
                        bad.setdefault(row, BadRow(done + 1 + row, "not_utf8", "expected UTF-8", column))
            sound = np.ones(len(rows), bool)
            sound[list(bad)] = False
            yield Block(table.filter(pa.array(sound)) if bad else table, rows[sound]), list(bad.values())
            done += len(rows)

    def _tables(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        if not self.file.metadata.num_rows:
            yield self._plain(self.schema).empty_table()
            return
        self._require_short(columns)
        done = 0
        try:
            for batch in self.file.iter_batches(batch_size=ROWS, columns=columns):
                table = pa.Table.from_batches([batch]).cast(self._plain(batch.schema))
                _require_short_texts(table, done)
                done += len(batch)
                yield table
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"cannot be read as a Parquet file: {error}") from error

    @staticmethod
    def _plain(schema: pa.Schema) -> pa.Schema:
        kinds = [field.with_type(without_views(field.type)) for field in schema]
        return pa.schema(kinds, schema.metadata)

    def _require_short(self, columns: Sequence[str] | None) -> None:
        """Refuse texts that are too long in the mean, which the head of the file says."""
        about, first = self.file.metadata, 1
        for group in (about.row_group(number) for number in range(about.num_row_groups)):
            for part in (group.column(number) for number in range(group.num_columns)):
                name = part.path_in_schema.split(".")[0]
                needed = columns is None or name in columns
                if needed and part.total_uncompressed_size > LONGEST * max(1, group.num_rows):
                    last = first + group.num_rows - 1
                    raise ValueError(f"rows {first} to {last}, column {name!r}: {_too_long('values')}")
            first += group.num_rows


def _require_short_texts(table: pa.Table, done: int) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            continue
        if is_text(column.type) and (pc.max(pc.binary_length(column)).as_py() or 0) > LONGEST:
            row = done + 1 + int(np.argmax(pc.fill_null(pc.binary_length(column), 0)))
            raise ValueError(f"row {row}, column {name!r}: {_too_long('a text')}")


def _check_start(lines: Sequence[str], *, expected: str) -> None:
    """Refuse an empty file, and UTF-16."""
    if not any(map(str.strip, lines)):
        raise ValueError(f"is empty: expected {expected}")
    if lines[0].startswith(("\udcff\udcfe", "\udcfe\udcff")):
        raise ValueError("line 1: expected UTF-8, got UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`")
