"""Writers of the formats.

Shape letters: R rows of a block.
"""

import csv
import json
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twicetold.tables.blocks import Block, as_text, is_text


class Writer(Protocol):
    """A file that is being written."""

    def write(self, block: Block) -> None:
        """Append rows. The first block says what the columns are."""
        ...

    def close(self) -> None:
        """Write what is left; the stream stays open."""
        ...


class Delimited:
    """CSV or TSV; a missing value is an empty field, and what is neither text nor number is JSON."""

    def __init__(self, stream: IO[bytes], delimiter: str) -> None:
        self.stream = stream
        self.delimiter = delimiter
        self.columns: list[str] = []

    def write(self, block: Block) -> None:
        """See `Writer`."""
        lines = _Lines()
        writer = csv.writer(lines, delimiter=self.delimiter, lineterminator=_Lines.END)
        if not self.columns:
            self.columns = block.table.column_names
            writer.writerow(self.columns)
        table = _with_columns(block, self.columns)
        writer.writerows(zip(*(_as_texts(column) for column in table.columns), strict=True))
        self.stream.write("".join(lines).encode())
        self.stream.flush()

    def close(self) -> None:
        """See `Writer`."""


class JsonLines:
    """One JSON object a line. Rows that come from JSON lines keep their spelling."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    def write(self, block: Block) -> None:
        """See `Writer`."""
        names = block.table.column_names if block.objects is None else block.added
        fields = [[f"{json.dumps(name)}: {value}" for value in _as_json(block.table[name])] for name in names]
        rows = (", ".join(row) for row in zip(*fields, strict=True)) if fields else iter([""] * len(block))
        if block.objects is None:
            lines = [f"{{{row}}}\n" for row in rows]
        else:
            lines = [
                f"{text[:-1].rstrip()}{', ' if row else ''}{row}}}\n"
                for text, row in zip(block.objects.to_pylist(), rows, strict=True)
            ]
        self.stream.write("".join(lines).encode())
        self.stream.flush()

    def close(self) -> None:
        """See `Writer`."""


class Parquet:
    """Parquet, with the columns and types of the first block."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.writer: Any = None

    def write(self, block: Block) -> None:
        """See `Writer`."""
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.stream, block.table.schema)
        self.writer.write_table(_with_columns(block, self.writer.schema.names).cast(self.writer.schema))

    def close(self) -> None:
        """See `Writer`."""
        if self.writer is not None:
            self.writer.close()


class _Lines(list[str]):
    """Takes what `csv` writes, with its line's end, which becomes that of the file.

    Readers end a row at a carriage return too, and `csv` of Python 3.11 quotes one only if it is part of the end.
    """

    END = "\r\n"

    def write(self, line: str) -> None:
        """Append a line."""
        self.append(f"{line.removesuffix(self.END)}\n")


def _with_columns(block: Block, columns: list[str]) -> pa.Table:
    """The table with these columns. Only rows of JSON lines may differ in theirs."""
    table = block.table
    if table.column_names == columns:
        return table
    if unknown := [name for name in table.column_names if name not in columns]:
        filled = pc.is_valid(table[unknown[0]]).index(True).as_py()
        line = f"line {block.lines[filled]}: " if filled >= 0 else ""
        raise ValueError(
            f"{line}the key {unknown[0]!r} is not among those of the first rows, so the output has no column for it. "
            "Write .jsonl, where rows may differ in their keys"
        )
    empty = pa.nulls(len(block), pa.string())
    return pa.table({name: table[name] if name in table.column_names else empty for name in columns})


def _as_texts(column: pa.ChunkedArray) -> list[str | None]:
    """(R,) values for a delimited file."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    if _is_plain(column.type) or pa.types.is_temporal(column.type):
        return as_text(column).to_pylist()  # type: ignore[no-any-return]
    return [None if value is None else _dumped(value) for value in column.to_pylist()]


def _as_json(column: pa.ChunkedArray) -> list[str]:
    """(R,) values as JSON."""
    if _is_plain(column.type):
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
        return ["null" if value is None else value for value in column.cast(pa.string()).to_pylist()]
    return [_dumped(value) for value in column.to_pylist()]


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_plain(kind: pa.DataType) -> bool:
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)
