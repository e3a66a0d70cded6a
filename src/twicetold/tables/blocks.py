"""Some consecutive rows of a file.

Shape letters: R rows of a block.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

INDEX = re.compile(r"__index_level_\d+__")  # how pandas names an index without a name


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
        """Return (R,) one of the columns that `Rows.blocks` was asked for: no text is null or empty."""
        return one_piece(decoded(self.table[column])).cast(pa.string()).to_pylist()  # type: ignore[no-any-return]

    def rounded(self, decimals: int = 4) -> "Block":
        """Return the rows with added numbers rounded, for files that people read."""
        table = self.table
        for name in self.added:
            if pa.types.is_floating(table[name].type):
                table = table.set_column(table.column_names.index(name), name, pc.round(table[name], decimals))
        return replace(self, table=table)

    def with_columns(self, columns: Mapping[str, Any]) -> "Block":
        """Return the rows with further columns, at the end.

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

    def where(self, chosen: NDArray[np.bool_]) -> "Block":
        """Return rows that are chosen by a mask (R,)."""
        mask = pa.array(chosen)
        objects = None if self.objects is None else self.objects.filter(mask)
        return replace(self, table=self.table.filter(mask), lines=self.lines[chosen], objects=objects)


def one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of a table as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return (R,) values as text; null and NaN are missing values.

    Raises:
        ArrowException: if values are lists or the like.
    """
    column = decoded(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return pc.cast(column, pa.string())


def decoded(column: Any) -> Any:
    """Decode a column: dictionaries, runs, views and extension types are encodings that few functions know."""
    if isinstance(column, pa.ChunkedArray):
        kind = _values(column.type)
        return column if column.type == kind else pa.chunked_array([decoded(each) for each in column.chunks], kind)
    if isinstance(column, pa.RunEndEncodedArray):
        runs = np.searchsorted(np.asarray(column.run_ends), column.offset + np.arange(len(column)), side="right")
        return decoded(column.values).take(pa.array(runs))
    if pa.types.is_dictionary(column.type):
        return decoded(column.dictionary).take(column.indices)
    if isinstance(column.type, pa.BaseExtensionType):
        if isinstance(column.type, pa.UuidType):
            return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
        return decoded(column.storage)
    kind = without_views(column.type)
    return column if column.type == kind else column.cast(kind)


def without_views(kind: pa.DataType) -> pa.DataType:
    """Return the type with texts and bytes in place of views, at any depth, as of polars and DataFusion."""
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, without_views(kind.value_type), kind.ordered)
    fields = [kind.field(place) for place in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    plain = [field.with_type(without_views(field.type)) for field in fields]
    if pa.types.is_struct(kind):
        return pa.struct(plain)
    if pa.types.is_map(kind):
        return pa.map_(*plain[0].type, kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain[0], kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain[0])
    return pa.list_(plain[0]) if pa.types.is_list(kind) else kind  # views of lists cannot be cast, and are as good


def index_columns(schema: pa.Schema) -> set[str]:
    """Return columns that hold the index of a frame of pandas that has no name: no columns of the file."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return {name for name in described if isinstance(name, str) and INDEX.fullmatch(name)}


def is_utf8(values: pa.StringArray) -> NDArray[np.bool_]:
    """Return (R,) whether each value is valid UTF-8. Rows are looked at one by one only when some row is not."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([_decodes(value) for value in values.view(pa.binary()).to_pylist()])
    return np.ones(len(values), bool)


def is_text(kind: pa.DataType) -> bool:
    """Return true if values of a type are texts, also if they are numbered (a dictionary, a category)."""
    kind = kind if isinstance(kind, pa.BaseExtensionType) else _values(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _values(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that an encoding stands for."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if isinstance(kind, pa.UuidType) else _values(kind.storage_type)
    encoded = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return _values(kind.value_type) if encoded else without_views(kind)


def _decodes(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
