"""Writers of the formats.

Shape letters: R rows of a block.
"""

import csv
import json
from dataclasses import replace
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twicetold.tables.blocks import Block, index_columns
from twicetold.tables.cells import delimited_texts, json_texts, require_distinct


class Writer:
    """A file that is being written."""

    def write(self, block: Block) -> None:
        """Append rows. The first block says what the columns are."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left; the stream stays open."""


class DelimitedWriter(Writer):
    """CSV or TSV; a missing value is an empty field, and `tables.cells` says how values are spelt."""

    def __init__(self, stream: IO[bytes], delimiter: str) -> None:
        self.stream = stream
        self.delimiter = delimiter
        self.columns: list[str] = []

    def write(self, block: Block) -> None:
        """See `Writer`."""
        block = _without_index(block)
        lines = _Lines()
        writer = csv.writer(lines, delimiter=self.delimiter, lineterminator=_Lines.END)
        if not self.columns:
            self.columns = block.table.column_names
            writer.writerow(self.columns)
        table = _with_columns(block, self.columns)
        writer.writerows(zip(*map(delimited_texts, table.columns), strict=True))
        self.stream.write("".join(lines).encode())
        self.stream.flush()


class JsonLinesWriter(Writer):
    """One JSON object a line. Rows that come from JSON lines keep their spelling."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    def write(self, block: Block) -> None:
        """See `Writer`."""
        table = _without_index(block).table if block.objects is None else block.table.select(block.added)
        require_distinct(table.column_names, "columns")
        fields = [[f"{json.dumps(name)}: {value}" for value in json_texts(table[name])] for name in table.column_names]
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


class ParquetWriter(Writer):
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


def _without_index(block: Block) -> Block:
    """Return the rows without the index of a frame of pandas, which only Parquet keeps."""
    index = index_columns(block.table.schema)
    return replace(block, table=block.table.drop_columns(sorted(index))) if index else block


def _with_columns(block: Block, columns: list[str]) -> pa.Table:
    """Return the table with these columns. Only rows of JSON lines may differ in theirs."""
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
