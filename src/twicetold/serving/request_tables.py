"""The table in the body of a request: of the columns `text`, `left` and `right`, and no more rows than are allowed.

The formats are those of MLflow's scoring server. It reads them with pandas, where a small body can take all memory:
records with a key of their own each make a square table, and a compressed file of Parquet unfolds. Here only the
columns that count are made, of no more bytes than a body may have.
"""

import csv
import io
import json
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ("text", "left", "right")
MAX_BYTES = 10_000_000  # of a body
MAX_ROWS = 5_000
THRIFT = 100_000  # names, columns and parts in the head of a Parquet file
UNFOLDS_LITTLE = {"UNCOMPRESSED", "SNAPPY"}  # to 21 times at most; pandas and pyarrow write SNAPPY
KEYS = ("dataframe_split", "dataframe_records", "inputs", "instances")
EXPECTED = f"expected a JSON dictionary with exactly one of the keys {', '.join(KEYS)}"

Table: TypeAlias = dict[str, list[Any]]
Params: TypeAlias = dict[str, str]


class Refused(Exception):
    """A request that is not answered: the status, and a message that says what was expected."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def table_of(body: bytes, content_type: str | None) -> tuple[pd.DataFrame, Params]:
    """The table in a body, and the parameters beside it.

    Args:
        body: at most `MAX_BYTES`.
        content_type: the header of this name.

    Returns:
        The columns of `COLUMNS` that are there, at most `MAX_ROWS` rows; their values may be anything. And the
        `params` of JSON.

    Raises:
        Refused: if the content type is not known (415), or there is no such table (400).
    """
    kind, *parameters = [part.strip() for part in (content_type or "").lower().split(";")]
    if kind not in _READERS or parameters not in ([], ["charset=utf-8"]):
        known = ", ".join(_READERS)
        raise Refused(415, f"expected one of {known} in UTF-8 as content type, got {content_type or 'none'!r:.100}")
    columns, params = _READERS[kind](body)
    rows = {len(values) for values in columns.values()}
    if len(rows) > 1:
        raise Refused(400, f"expected columns of one length, got {sorted(rows)}")
    _require_few(max(rows, default=0))
    for name, values in columns.items():
        _require_characters(name, values)
    return pd.DataFrame(columns, dtype=object), params


def _json(body: bytes) -> tuple[Table, Params]:
    try:
        found = json.loads(body)
    except RecursionError as error:
        raise Refused(400, f"expected valid JSON that is not nested deeply; {EXPECTED}") from error
    except ValueError as error:  # also what is no UTF-8, and a number of thousands of digits
        raise Refused(400, f"expected valid JSON in UTF-8, got {error}; {EXPECTED}") from error
    there = [key for key in KEYS if isinstance(found, dict) and key in found]
    if len(there) != 1:
        got = there or (list(found) if isinstance(found, dict) else type(found).__name__)
        raise Refused(400, f"{EXPECTED}, got {reprlib.repr(got)}")
    value = found[there[0]]
    params = found.get("params") or {}
    if not isinstance(params, dict) or not params.keys() <= {"about"} or not isinstance(params.get("about", ""), str):
        raise Refused(400, f'expected {{"about": "a label"}} as params, got {reprlib.repr(params)}')
    if there[0] == "dataframe_split":
        return _split(value), params
    by_column = there[0] == "inputs" and isinstance(value, dict)
    return _by_column(value) if by_column else _records(value, there[0]), params


def _split(value: Any) -> Table:
    names, rows = (value.get(key) for key in ("columns", "data")) if isinstance(value, dict) else (None, None)
    if not isinstance(names, list) or not isinstance(rows, list):
        raise Refused(400, 'expected {"columns": ["text"], "data": [["a text"], …]} as dataframe_split')
    _require_few(len(rows))
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise Refused(
                400, f"expected a list of {len(names)} values as row {number} of data, got {reprlib.repr(row)}"
            )
    return {name: [row[place] for row in rows] for name, place in _places(names).items()}


def _records(value: Any, key: str) -> Table:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise Refused(400, f'expected [{{"text": "a text"}}, …] as {key}')
    _require_few(len(value))
    return {name: [row.get(name) for row in value] for name in COLUMNS if any(name in row for row in value)}


def _by_column(value: Mapping[str, Any]) -> Table:
    for name in COLUMNS:
        if name in value and not isinstance(value[name], list):
            raise Refused(400, f"expected a list of texts as {name!r} of inputs, got {reprlib.repr(value[name])}")
    return {name: value[name] for name in COLUMNS if name in value}


def _csv(body: bytes) -> tuple[Table, Params]:
    limit = csv.field_size_limit(MAX_BYTES)
    rows: list[list[str]] = []
    try:
        lines = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        names = next(lines, [])
        for row in lines:
            if row and len(row) != len(names):
                raise Refused(400, f"expected {len(names)} values in line {lines.line_num}, got {len(row)}")
            rows += [row] if row else []
            _require_few(len(rows))
    except (csv.Error, UnicodeDecodeError) as error:
        raise Refused(400, f"expected CSV in UTF-8: {error}") from error
    finally:
        csv.field_size_limit(limit)  # it is one for the whole process
    return {name: [row[place] or None for row in rows] for name, place in _places(names).items()}, {}


def _parquet(body: bytes) -> tuple[Table, Params]:
    """Read the file row by row: a text of a few bytes may stand for a hundred megabytes in each of its rows."""
    try:
        file = pq.ParquetFile(io.BytesIO(body), thrift_string_size_limit=MAX_BYTES, thrift_container_size_limit=THRIFT)
        _require_few(file.metadata.num_rows)
        names = _places(file.schema_arrow.names)
        parts = [file.metadata.row_group(part) for part in range(file.metadata.num_row_groups)]
        packed = {part.column(place).compression for part in parts for place in range(part.num_columns)}
        if not packed <= UNFOLDS_LITTLE:
            raise Refused(400, f"expected a Parquet file without compression or with SNAPPY, got {sorted(packed)}")
        columns: Table = {name: [] for name in names}
        size = 0
        for batch in file.iter_batches(batch_size=1, columns=list(names), use_threads=False):
            if (size := size + batch.nbytes) > MAX_BYTES:
                raise Refused(413, f"expected at most {MAX_BYTES:,} bytes of texts: send them in several requests")
            for name in names:
                columns[name] += batch.column(name).to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError, LookupError) as error:  # also of single values
        raise Refused(400, f"expected a Parquet file, got one that cannot be read: {error}") from error
    return columns, {}


def _places(names: list[Any]) -> dict[str, int]:
    """Where each of the columns that count is."""
    for name in COLUMNS:
        if names.count(name) > 1:
            raise Refused(400, f"expected the column {name!r} once, got it {names.count(name)} times")
    return {name: names.index(name) for name in COLUMNS if name in names}


def _require_characters(name: str, values: list[Any]) -> None:
    for row, value in enumerate(values):
        try:
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError as error:  # JSON can escape half of a character
            raise Refused(400, f"row {row} of column `{name}` is no text: {error}") from error


def _require_few(rows: int) -> None:
    if rows > MAX_ROWS:
        raise Refused(413, f"expected at most {MAX_ROWS:,} rows, got more: send them in several requests")


_READERS: Mapping[str, Callable[[bytes], tuple[Table, Params]]] = {
    "application/json": _json,
    "text/csv": _csv,
    "application/vnd.apache.parquet": _parquet,
}
