"""Ids, texts and groups of a part, each of which is read from its file when somebody asks for it.

The file stays open, so a part that another process deletes meanwhile can still be read.
"""

from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.errors import damaged, require

SCHEMA = pa.schema([("id", pa.large_string()), ("text", pa.large_string()), ("group", pa.int64())])
TEXTS = "texts.parquet"


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
        pq.write_table(self.table, folder / TEXTS, write_statistics=False, write_page_checksum=True)

    def __len__(self) -> int:
        return self._count

    @property
    def table(self) -> pa.Table:
        """All rows."""
        return pa.table([self.column(name) for name in SCHEMA.names], schema=SCHEMA)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one of the columns.

        Raises:
            ValueError: if the file is damaged.
        """
        if name not in self._columns:
            try:
                with self._lock:
                    found = self._reader.read([name], use_threads=False)[name]
                require(not found.null_count, f"a value is missing in {TEXTS}")
            except Exception as error:
                raise damaged(self._folder.parent, error, what="read the index", again="build the index") from error
            self._columns[name] = found
        return self._columns[name]
