"""Readers of the formats: blocks of rows, and the rows that are none.

A record of CSV or TSV may go on over several lines, so it may not be whole at the end of a block. Then it is read again
with the next block. `data.sources.delimited` says what makes a line malformed.

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

from twicetold.tables.blocks import Block
from twicetold.tables.delimited import is_utf8, one_piece, records

BLOCK = 1 << 21  # characters that are read at once
ROWS = 1 << 14  # rows of Parquet that are read at once
NOT_UTF8 = "is not UTF-8; if the file is of another encoding, convert it, say with `iconv -f WINDOWS-1252 -t UTF-8`"
MALFORMED = {
    "not_utf8": f"this or another line of its row {NOT_UTF8}",
    "wrong_column_count": "has not as many fields as the header; a field that holds the separator, a quote or a line "
    'end must be in double quotes, and its own quotes doubled ("")',
    "field_too_long": f"has a field of more than {csv.field_size_limit():,} characters; keep such texts in .jsonl or "
    ".parquet",
    "unclosed_quote": "has a field that begins with a quote which is not closed before a separator or line end; a "
    'field that holds a quote must be in double quotes, and its own quotes doubled ("")',
}
_INVALID = re.compile("[\udc80-\udcff]")  # what errors="surrogateescape" makes of bytes that are no UTF-8

Bad: TypeAlias = list[tuple[int, str]]
"""Line (or row of Parquet) and what is wrong with it."""


class Reader(Protocol):
    """A file that is open."""

    columns: list[str]

    def blocks(self, texts: Sequence[str]) -> Iterator[tuple[Block, Bad]]:
        """All rows in order, once; at least one block. Texts may be null or empty.

        Args:
            texts: columns that must be texts.
        """
        ...


class Delimited:
    """CSV or TSV.

    Raises:
        ValueError: if there is no header.
    """

    def __init__(self, stream: IO[bytes], delimiter: str) -> None:
        self.stream = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        self.delimiter = delimiter
        self.lines = self.stream.readlines(BLOCK)
        _refuse_utf16(self.lines)
        reader = self._records(0)
        try:
            self.columns: list[str] = next(reader, [])
        except csv.Error as error:
            raise ValueError(f"line 1: expected a header with the names of the columns; {error}") from error
        if not self.columns:
            raise ValueError("expected a header with the names of the columns in line 1, got nothing")
        if any(_INVALID.search(name) for name in self.columns):
            raise ValueError(f"line 1 {NOT_UTF8}")
        self.header = reader.line_num
        del self.lines[: self.header]

    def blocks(self, texts: Sequence[str]) -> Iterator[tuple[Block, Bad]]:
        """See `Reader`."""
        done, more, width = self.header, self.stream.readlines(BLOCK), len(self.columns)
        while True:
            invalid = _invalid(self.lines)
            found = records(self.lines, delimiter=self.delimiter, width=width, start=0, invalid=invalid)
            end = self._whole(found.malformed) if more else len(self.lines)
            rows = bisect_right(found.lines, end)
            values = found.values[: rows * width]
            arrays = [pa.array(values[place::width], pa.string()) for place in range(width)]
            bad = [(done + line, MALFORMED[reason]) for line, reason in found.malformed if line <= end]
            lines = done + np.array(found.lines[:rows], np.int64)
            yield Block(pa.Table.from_arrays(arrays, names=self.columns), lines), bad
            if not more:
                return
            done += end
            self.lines = self.lines[end:] + more
            more = self.stream.readlines(BLOCK)

    def _whole(self, malformed: Sequence[tuple[int, str]]) -> int:
        """How many of the lines hold whole records: the last one may go on after them."""
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

    Raises:
        ValueError: if no line of the first block is an object.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="\n")
        self.lines = self.stream.readlines(BLOCK)
        _refuse_utf16(self.lines)
        rows, bad = _objects(self.lines, 0)
        if not rows:
            raise ValueError(f"line {bad[0][0]} {bad[0][1]}" if bad else "expected JSON objects, got nothing")
        self.columns = list(dict.fromkeys(key for row, _ in rows.values() for key in row))

    def blocks(self, texts: Sequence[str]) -> Iterator[tuple[Block, Bad]]:
        """See `Reader`."""
        done = 0
        while True:
            rows, bad = _objects(self.lines, done)
            for line, (row, _) in list(rows.items()):
                for column in texts:
                    if not isinstance(row.get(column), str | None):
                        bad.append((line, f"expected a text as {column!r}, got {rows[line][1]:.60}"))
                        del rows[line]
                        break
            keys = dict.fromkeys([*self.columns, *(key for row, _ in rows.values() for key in row)])
            table = {key: pa.array([_as_text(row.get(key)) for row, _ in rows.values()], pa.string()) for key in keys}
            objects = pa.array([text for _, text in rows.values()], pa.string())
            yield Block(pa.table(table), np.fromiter(rows, np.int64, len(rows)), objects), sorted(bad)
            done += len(self.lines)
            self.lines = self.stream.readlines(BLOCK)
            if not self.lines:
                return


def _objects(lines: Sequence[str], done: int) -> tuple[dict[int, tuple[dict[str, Any], str]], Bad]:
    """The object of each line and its spelling, by line, and the lines that hold none."""
    rows, bad = {}, []
    for number, line in enumerate(lines, done + 1):
        text = line.strip()
        if not text:
            continue
        try:
            if not line.isascii() and _INVALID.search(line):
                raise ValueError(NOT_UTF8)
            row = json.loads(text)
            if not isinstance(row, dict):
                raise ValueError(f"expected a JSON object such as {{...}}, got {text:.60}")
            if "\\u" in line:
                json.dumps(row, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            bad.append((number, f"expected one JSON object; {error.msg} at {error.colno}"))
        except UnicodeEncodeError:
            bad.append((number, "expected text, got half of a surrogate pair (\\ud800 to \\udfff)"))
        except RecursionError:
            bad.append((number, "the JSON object is nested too deeply"))
        except ValueError as error:  # also a number of thousands of digits
            bad.append((number, str(error)))
        else:
            rows[number] = row, text
    return rows, bad


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Parquet:
    """Parquet, whose columns keep their types.

    Raises:
        ValueError: if the file is not Parquet.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        try:
            self.file = pq.ParquetFile(stream)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"cannot be read as a Parquet file: {error}") from error
        self.columns: list[str] = self.file.schema_arrow.names

    def blocks(self, texts: Sequence[str]) -> Iterator[tuple[Block, Bad]]:
        """See `Reader`."""
        schema = self.file.schema_arrow
        for column in texts:
            kind = schema.field(column).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if not any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
                raise ValueError(f"expected texts in the column {column!r}, got {kind}")
        done = 0
        for table in self._tables():
            lines = np.arange(done + 1, done + 1 + table.num_rows)
            valid = np.ones(len(lines), bool)
            for column in texts:
                valid &= is_utf8(one_piece(pc.cast(table[column], pa.string())))
            bad = [(int(line), "is not UTF-8") for line in lines[~valid]]
            yield Block(table.filter(pa.array(valid)), lines[valid]), bad
            done += len(lines)

    def _tables(self) -> Iterator[pa.Table]:
        if not self.file.metadata.num_rows:
            yield self.file.schema_arrow.empty_table()
            return
        try:
            for batch in self.file.iter_batches(batch_size=ROWS):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"cannot be read as a Parquet file: {error}") from error


def _refuse_utf16(lines: Sequence[str]) -> None:
    if lines and lines[0].startswith(("\udcff\udcfe", "\udcfe\udcff")):
        raise ValueError("expected UTF-8, got UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`")


def _invalid(lines: Sequence[str]) -> set[int]:
    """Lines, from 1, with bytes that are no UTF-8."""
    return {number for number, line in enumerate(lines, 1) if not line.isascii() and _INVALID.search(line)}
