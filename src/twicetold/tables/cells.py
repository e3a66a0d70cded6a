"""Values of cells as text: of a delimited file, and as JSON.

Only Parquet has values that are no texts. The rules are the same in all text formats, and inside lists and structs:

- a date or time is spelt as in ISO 8601 with a space, in whatever year; a duration is its number of units;
- bytes are spelt in Base64 (RFC 4648), as not all bytes are text;
- NaN and infinity inside JSON are null, as JSON has no such numbers.

Shape letters: R rows.
"""

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.tables.blocks import as_text, decoded, is_text

LARGEST_YEAR = 32_767  # that Arrow spells right
SECONDS_OF_YEAR = 31_556_952
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second
OUT_OF_RANGE = "<value out of range"  # how Arrow begins the text of a value that it cannot spell


def delimited_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return (R,) values for a delimited file: lists and structs are JSON."""
    column = decoded(column)
    if is_text(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    if _is_plain(column.type):
        return as_text(column).to_pylist()  # type: ignore[no-any-return]
    values = [value for chunk in column.chunks for value in json_values(chunk)]
    return [value if value is None or isinstance(value, str) else dumped(value) for value in values]


def json_texts(column: pa.ChunkedArray) -> list[str]:
    """Return (R,) values as JSON."""
    column = decoded(column)
    if _is_plain(column.type):
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
        return ["null" if value is None else value for value in column.cast(pa.string()).to_pylist()]
    return [dumped(value) for chunk in column.chunks for value in json_values(chunk)]


def dumped(value: Any) -> str:
    """Return a value as JSON; what JSON does not know is the text of it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def require_distinct(names: Sequence[str], what: str) -> None:
    """Check that names may be the keys of an object of JSON.

    Raises:
        ValueError: if one is there twice.
    """
    if again := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(
            f"two {what} have the name {again[0]!r}, and an object of JSON can have one: rename one of them, or write "
            ".csv, .tsv or .parquet"
        )


def finite(value: Any) -> Any:
    """Return a value of JSON with null for each number in it that is not finite."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_values(values: pa.Array) -> list[Any]:
    """Return (R,) values of any type as those that JSON knows."""
    values = decoded(values)
    kind = values.type
    if pa.types.is_temporal(values.type):
        return _spelt_times(values)
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        require_distinct(names, "fields of a struct")
        columns = [json_values(each) for each in values.flatten()]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{}] * len(values)
        return [row if valid else None for row, valid in zip(rows, values.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(kind):
        pairs = values.cast(pa.list_(pa.struct([pa.field("key", kind.key_type, False), ("value", kind.item_type)])))
        rows = json_values(pairs)
        return [None if row is None else [[each["key"], each["value"]] for each in row] for row in rows]
    if pa.types.is_nested(kind) and hasattr(values, "flatten"):
        rest = iter(json_values(values.flatten()))
        lengths = pc.list_value_length(values).to_pylist()
        return [None if length is None else [next(rest) for _ in range(length)] for length in lengths]
    plain = values.to_pylist()
    if pa.types.is_floating(kind):
        return [finite(value) for value in plain]
    return [b64encode(value).decode() if isinstance(value, bytes) else value for value in plain]


def _spelt_times(values: pa.Array) -> list[str | None]:
    """Return (R,) dates, times and durations; those in years that Arrow cannot spell are in UTC."""
    kind = values.type
    texts: list[str | None] = []
    try:
        texts = values.cast(pa.string()).to_pylist()
    except pa.ArrowException:  # a zone that this machine does not know
        zone = "UTC" if pa.types.is_timestamp(kind) else None
        texts = values.cast(pa.timestamp(kind.unit, zone)).cast(pa.string()).to_pylist()
    if pa.types.is_timestamp(kind):
        seconds = np.abs(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)) / UNITS[kind.unit]
        wrong = np.flatnonzero(seconds > (LARGEST_YEAR - 1970) * SECONDS_OF_YEAR)
    else:
        wrong = np.flatnonzero([text is not None and text.startswith(OUT_OF_RANGE) for text in texts])
    if len(wrong):
        plain = values.cast(pa.timestamp(kind.unit)) if pa.types.is_timestamp(kind) else values
        for row in wrong.tolist():
            texts[row] = _spelt_by_numpy(plain[row], "Z" if getattr(kind, "tz", None) else "")
    return texts


def _spelt_by_numpy(value: Any, zone: str) -> str:
    if pa.types.is_time(value.type):  # more than a day: no time, but a number of units
        return str(value.value)
    unit = {"date32[day]": "D", "date64[ms]": "ms"}.get(str(value.type)) or value.type.unit
    moment = np.array(value.value).astype(f"datetime64[{unit}]")
    return f"{moment}{zone}".replace("T", " ")


def _is_plain(kind: pa.DataType) -> bool:
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)
