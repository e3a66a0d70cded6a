"""Ids, texts and groups of a part, which are read from its file when somebody asks for them.

A search asks for some rows: then only the pieces of the file are read that have them. The file stays open, so a part
that another process deletes meanwhile can still be read.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.errors import damaged, require
from twicetold.neighbours.grouping import Ints

SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string()), ("group", pa.int64())])
WIDE = pa.schema([field.with_type(pa.large_string()) if field.type == pa.string() else field for field in SCHEMA])
LARGEST = (1 << 31) - 1  # bytes of the texts of one array of Arrow, whose `take` makes one array of all first
SLICE = 1 << 14  # rows that are taken at once where there are more
TEXTS = "texts.parquet"
PIECE = 2048  # rows of a piece of a file
WHOLE = 1 << 17  # rows of a part that is read at once


def taken(table: pa.Table, rows: Ints) -> pa.Table:
    """Some rows of a table of `SCHEMA`, in this order, however long its texts are."""
    if table.nbytes > LARGEST and len(rows) < len(table):
        asked = np.zeros(len(table), bool)
        asked[rows] = True
        table, rows = table.filter(pa.array(asked)), np.unique(rows, return_inverse=True)[1]
    if table.nbytes <= LARGEST:
        return table.take(pa.array(rows))
    wide = table.cast(WIDE).combine_chunks()
    slices = (wide.take(pa.array(rows[at : at + SLICE])) for at in range(0, len(rows), SLICE))
    return pa.concat_tables([SCHEMA.empty_table(), *(some.cast(SCHEMA) for some in slices)])


class Texts:
    """The rows of a part.

    Args:
        count: how many there are.
        columns: that have been read.
        file: of the others.
    """

    def __init__(self, count: int, columns: Mapping[str, pa.ChunkedArray], file: Path | None = None) -> None:
        self.count, self._file, self._lock = count, file, Lock()
        self._columns = dict(columns)
        self._reader = None if file is None else _reader(file)

    @classmethod
    def of(cls, table: pa.Table) -> "Texts":
        """Those of a table with `id`, `text` and `group`, the group that the text had when the part was made."""
        return cls(table.num_rows, {name: table[name] for name in SCHEMA.names})

    @classmethod
    def read(cls, folder: Path) -> "Texts":
        """Read the texts from the folder of a part.

        Raises:
            ValueError: if the file has other columns.
        """
        file = folder / TEXTS
        reader = _reader(file)
        require(reader.schema_arrow.equals(SCHEMA), f"{TEXTS} has other columns: {reader.schema_arrow.names}")
        return cls(reader.metadata.num_rows, {}, file)

    def save(self, folder: Path) -> None:
        """Write the rows to the folder of a part."""
        pieces = {"row_group_size": PIECE, "write_statistics": False, "write_page_checksum": True}
        pq.write_table(self.table, folder / TEXTS, **pieces)

    def __len__(self) -> int:
        return self.count

    @property
    def table(self) -> pa.Table:
        """All rows."""
        return pa.table([self.column(name) for name in SCHEMA.names], schema=SCHEMA)

    def column(self, name: str) -> pa.ChunkedArray:
        """One of the columns. Errors: `at`."""
        if name not in self._columns:
            self._columns[name] = self._read([name], None)[name]
        return self._columns[name]

    def at(self, rows: Ints) -> pa.Table:
        """Some rows, which ascend.

        Raises:
            ValueError: if the file is damaged.
        """
        if len(self._columns) == len(SCHEMA) or len(self) <= WHOLE:
            return taken(self.table, rows)
        pieces, place = np.unique(np.searchsorted(self._ends, rows, side="right"), return_inverse=True)
        if not len(pieces):
            return SCHEMA.empty_table()
        sizes = np.diff(self._ends, prepend=0)[pieces]
        first = np.cumsum(sizes) - sizes
        inside = rows - (self._ends[pieces] - sizes)[place]
        return taken(self._read(SCHEMA.names, pieces.tolist()), first[place] + inside)

    @cached_property
    def _ends(self) -> Ints:
        """Number of the row after the last one of each piece."""
        about = self._open.metadata
        return np.cumsum([about.row_group(number).num_rows for number in range(about.num_row_groups)])

    @property
    def _open(self) -> pq.ParquetFile:
        assert self._reader is not None
        return self._reader

    def _read(self, columns: list[str], pieces: list[int] | None) -> pa.Table:
        assert self._file is not None
        try:
            with self._lock:
                some = range(self._open.num_row_groups) if pieces is None else pieces
                found = self._open.read_row_groups(list(some), columns, use_threads=False)
            require(not any(column.null_count for column in found.columns), f"a value is missing in {TEXTS}")
            return found
        except Exception as error:
            index = self._file.parent.parent
            raise damaged(index, error, what="read the index", again="build the index") from error


def _reader(file: Path) -> pq.ParquetFile:
    return pq.ParquetFile(file, memory_map=True, page_checksum_verification=True)
