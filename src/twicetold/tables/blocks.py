"""Some consecutive rows of a file.

Shape letters: R rows of a block.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.tables.delimited import one_piece


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
