"""Texts from wherever a person has them: a list, an array, a column of a data frame.

Columns of pandas, polars and pyarrow, and of any other library, come by the Arrow PyCapsule interface
(https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html), so none of these is imported.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc


class ArrowStream(Protocol):
    """A series, a chunked array, or a table of one column."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ArrowArray(Protocol):
    """An array."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...


Texts: TypeAlias = Iterable[str] | ArrowStream | ArrowArray


def texts_of(values: Texts) -> Sequence[str]:
    """The texts as strings.

    Args:
        values: a list, another iterable, or a column. A table may take the place of its only column.

    Raises:
        TypeError: if a value is missing or is no text, one text is given in place of several, or a table has further
            columns.
    """
    if isinstance(values, str):
        raise TypeError(f"expected a list of texts, got one text: put it in a list, [{values!r:.80}]")
    found = values if isinstance(values, list | tuple) else _listed(values)
    if not set(map(type, found)) <= {str}:
        for row, value in enumerate(found):
            if not isinstance(value, str):
                raise TypeError(
                    f"expected texts; row {row} (from 0) is {value!r:.60}: fill in what is missing, or leave it out"
                )
    return found


def _listed(values: Any) -> list[Any]:
    stream = hasattr(values, "__arrow_c_stream__")
    if not stream and not hasattr(values, "__arrow_c_array__"):
        return list(values.tolist() if hasattr(values, "tolist") else values)
    try:
        column = pa.chunked_array(values) if stream else pa.array(values)
    except pa.ArrowException:  # values of several types, in a column of objects
        return list(values)
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        if len(names) != 1:
            raise TypeError(
                f"expected one column of texts, got a table with the columns {', '.join(names)}: choose one"
            )
        column = pc.struct_field(column, [0])
    return column.to_pylist()  # type: ignore[no-any-return]
