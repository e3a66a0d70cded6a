"""Ids, texts and groups of a part, which are read from its file when somebody asks for them.

A search asks for some rows: then only the pieces of the file are read that have them. The file stays open, so a part
that another process deletes meanwhile can still be read.
"""

from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.errors import damaged, require
from twicetold.neighbours.grouping import Ints

SCHEMA = pa.schema([("id", pa.large_string()), ("text", pa.large_string()), ("group", pa.int64())])
TEXTS = "texts.parquet"
PIECE = 2048  # rows of a piece of a file
WHOLE = 1 << 17  # rows of a part that is read at once


class Texts:
    """The rows of a part.

    Args:
        source: a table of `SCHEMA`, whose groups are those when the part was made, or the folder of a part.

    Raises:
        ValueError: if the file in the folder has other columns.
    """

    def __init__(self, source: pa.Table | Path) -> None:
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._lock, self._folder = Lock(), source
        if isinstance(source, Path):
            self._reader = pq.ParquetFile(source / TEXTS, memory_map=True, page_checksum_verification=True)
            names = self._reader.schema_arrow.names
            require(self._reader.schema_arrow.equals(SCHEMA), f"{TEXTS} has other columns: {names}")
            self._count = int(self._reader.metadata.num_rows)
        else:
            self._columns, self._count = {name: source[name] for name in SCHEMA.names}, source.num_rows

    def save(self, folder: Path) -> None:
        """Write the rows to the folder of a part."""
        pieces = {"row_group_size": PIECE, "write_statistics": False, "write_page_checksum": True}
        pq.write_table(self.table, folder / TEXTS, **pieces)

    def __len__(self) -> int:
        return self._count

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
        """Some rows, at least one, which ascend.

        Raises:
            ValueError: if the file is damaged.
        """
        if len(self._columns) == len(SCHEMA) or len(self) <= WHOLE:
            return self.table.take(pa.array(rows))
        pieces, place = np.unique(np.searchsorted(self._ends, rows, side="right"), return_inverse=True)
        sizes = np.diff(self._ends, prepend=0)[pieces]
        first = np.cumsum(sizes) - sizes
        inside = rows - (self._ends[pieces] - sizes)[place]
        return self._read(SCHEMA.names, pieces.tolist()).take(pa.array(first[place] + inside))

    @cached_property
    def _ends(self) -> Ints:
        """Number of the row after the last one of each piece."""
        about = self._reader.metadata
        return np.cumsum([about.row_group(number).num_rows for number in range(about.num_row_groups)])

    def _read(self, columns: list[str], pieces: list[int] | None) -> pa.Table:
        try:
            with self._lock:
                some = range(self._reader.num_row_groups) if pieces is None else pieces
                found = self._reader.read_row_groups(list(some), columns, use_threads=False)
            require(not any(column.null_count for column in found.columns), f"a value is missing in {TEXTS}")
            return found
        except Exception as error:
            raise damaged(self._folder.parent, error, what="read the index", again="build the index") from error
