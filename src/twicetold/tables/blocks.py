"""Some consecutive rows of a file.

Shape letters: R rows of a block.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True)
class Block:
    """The sound rows of a part of a file."""

    table: pa.Table
    """(R,) rows; the columns of CSV, TSV and JSON lines are strings."""
    lines: NDArray[np.int64]
    """(R,) line on which each row begins, from 1; of Parquet, number of the row."""
    objects: pa.StringArray | None = None
    """(R,) the objects of JSON lines as they are spelt in the file."""
    added: tuple[str, ...] = ()
    """Columns that are not in the file."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def texts(self, column: str) -> list[str]:
        """(R,) one of the columns that `Rows.blocks` was asked for: no text is null or empty."""
        return one_piece(self.table[column]).cast(pa.string()).to_pylist()  # type: ignore[no-any-return]

    def with_columns(self, columns: Mapping[str, Any]) -> "Block":
        """The rows with further columns, at the end.

        Args:
            columns: name -> (R,) values.

        Raises:
            ValueError: if there is such a column already.
        """
        table = self.table
        for name, values in columns.items():
            if name in table.column_names:
                raise ValueError(f"there is a column {name!r} already: rename it, or leave it out")
            table = table.append_column(name, pa.array(values))
        return replace(self, table=table, added=(*self.added, *columns))

    def where(self, kept: NDArray[np.bool_]) -> "Block":
        """Those of the rows, by a mask (R,)."""
        mask = pa.array(kept)
        objects = None if self.objects is None else self.objects.filter(mask)
        return replace(self, table=self.table.filter(mask), lines=self.lines[kept], objects=objects)


def one_piece(column: pa.ChunkedArray) -> pa.Array:
    """A column of a table as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """(R,) values as text; null and NaN are missing values.

    Raises:
        ArrowException: if values are lists or the like.
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return pc.cast(column, pa.string())


def is_utf8(values: pa.StringArray) -> NDArray[np.bool_]:
    """(R,) whether each value is valid UTF-8. Rows are looked at one by one only when some row is not."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([_decodes(value) for value in values.view(pa.binary()).to_pylist()])
    return np.ones(len(values), bool)


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are texts, also if they are numbered (a dictionary, a category)."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _decodes(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
