"""Texts from wherever a person has them: a list, an array, a column of a data frame.

Columns of pandas, polars and pyarrow, and of any other library, come by the Arrow PyCapsule interface
(https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html), so none of these is imported.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from twicetold.tables.blocks import INDEX, decoded

SURROGATE = re.compile("[\ud800-\udfff]")  # half of a character, which UTF-8 has not


class ArrowStream(Protocol):
    """A series, a chunked array, or a table of one column."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ArrowArray(Protocol):
    """An array."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...


TextsLike: TypeAlias = Iterable[str] | ArrowStream | ArrowArray
"""Texts as people have them: a list, an array of NumPy, a column of pandas, polars or pyarrow, or another iterable."""


def texts_of(values: TextsLike) -> Sequence[str]:
    """Return the texts as strings.

    Args:
        values: a list, another iterable, or a column. A table may take the place of its only column.

    Raises:
        TypeError: if a value is missing or is no text, one text is given in place of several, the values are in no
            order or are no values yet, or a table has further columns.
        ValueError: if a text holds half of a surrogate pair.
    """
    require_values(values, "a list of texts")
    texts = values if isinstance(values, list | tuple) else _listed(values)
    if not set(map(type, texts)) <= {str}:
        for row, value in enumerate(texts):
            if not isinstance(value, str):
                raise TypeError(
                    f"expected texts; row {row} (from 0) is {value!r:.60}: fill in what is missing, or leave it out"
                )
    require_encodable(texts)
    return texts


def require_values(values: Any, expected: str) -> None:
    """Check that values are there, several, and in an order.

    Args:
        values: of whatever library.
        expected: such as `a list of texts`.

    Raises:
        TypeError: if they are one text, none, a plan of polars for values, or without an order.
    """
    kind = type(values).__name__
    if isinstance(values, str | bytes):
        raise TypeError(f"expected {expected}, got one text: put it in a list, [{values!r:.80}]")
    if isinstance(values, Mapping | Set):
        raise TypeError(f"expected {expected} in an order, got a {kind}: make a list of what is meant")
    if isinstance(values, Iterable) or hasattr(values, "__array__") or _has_arrow(values):
        return
    hint = ""
    if hasattr(values, "collect"):
        hint = ": call collect() first, and take the column"
    elif hasattr(values, "over") and hasattr(values, "alias"):
        hint = ": take the column of a frame, such as frame.select(...).to_series()"
    raise TypeError(f"expected {expected}, got {'nothing (None)' if values is None else f'a value of {kind}'}{hint}")


def require_encodable(values: Iterable[Any]) -> None:
    """Check that all texts among values can be written in UTF-8.

    Raises:
        ValueError: if one holds half of a surrogate pair, as of bytes that were read with `surrogateescape`.
    """
    for row, value in enumerate(values):
        if isinstance(value, str) and not value.isascii() and (half := SURROGATE.search(value)):
            raise ValueError(
                f"expected texts; row {row} (from 0) holds half of a surrogate pair ({half[0]!r}): {value!r:.60}. "
                "Correct or remove it, or read the file in its encoding"
            )


def only_column(column: Any) -> Any:
    """Return the only column of a table that came as an array of structs; any other array as it is.

    Raises:
        TypeError: if the table has several. The index of a frame of pandas is none.
    """
    if not pa.types.is_struct(column.type):
        return column
    names = [field.name for field in column.type]
    places = [place for place, name in enumerate(names) if not INDEX.fullmatch(name)]
    if len(places) != 1:
        listed = ", ".join(names[place] for place in places)
        raise TypeError(f"expected one column, got a table with the columns {listed}: choose one")
    return pc.struct_field(column, [places[0]])


def _listed(values: Any) -> list[Any]:
    if not _has_arrow(values):
        plain = values.tolist() if hasattr(values, "tolist") else values
        require_values(plain, "a list of texts")  # an array without dimensions has one text
        column = getattr(values, "ndim", 1) == 2 and values.shape[1] == 1
        return [row[0] for row in plain] if column else list(plain)
    try:
        column = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    except (pa.ArrowException, UnicodeError):  # values of several types, in a column of objects
        return list(values)
    column = only_column(column)
    if isinstance(column.type, pa.BaseExtensionType) or pa.types.is_temporal(column.type):
        raise TypeError(f"expected texts, got a column of {column.type}")
    return decoded(column).to_pylist()  # type: ignore[no-any-return]


def _has_arrow(values: Any) -> bool:
    return hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
