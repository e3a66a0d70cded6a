"""Columns beside the texts: values that are equal or not, numbers, and dates.

They come from a file, where they may be spelt as texts, or from an array of any library (`tables.texts`). A value is
missing if it is null, NaN, or a text without a character but white space.

Shape letters: n rows.
"""

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.errors import require_number
from twicetold.normal_form import normal_form
from twicetold.tables.bad_rows import LISTED, shown
from twicetold.tables.blocks import decoded, is_text, one_piece
from twicetold.tables.cells import delimited_texts
from twicetold.tables.texts import only_column, require_encodable, require_values

MISSING = -1  # code of a missing value
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
MICRO = 1_000_000  # of a second: the unit of times
LEAST_UNIX = 1e8  # seconds (1973): smaller numbers are dates without dashes, or years
UNIX = ((1e11, 1e6), (1e14, 1e3), (1e17, 1.0), (float("inf"), 1e-3))
"""Below which number Unix times are seconds, milliseconds, microseconds and nanoseconds; and microseconds of each."""
NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
DECIMAL_COMMA = r"^[+-]?[0-9.]*,[0-9]+$"
DATE = r"^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}(?::\d{2}(?::\d{2}(?:\.\d+)?)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?$"
ZONE = r"[T ]\d{2}.*(?:Z|[+-]\d{2}(?::?\d{2})?)$"
NUMERAL = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d*)?", re.ASCII)
MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2}(?::\d{2})?)(?:\.0+)?", re.ASCII)
ANSWERS = dict.fromkeys(("1", "1.0", "true", "yes", "y"), True) | dict.fromkeys(("0", "0.0", "false", "no", "n"), False)
"""Answers of a person to whether two texts are duplicates, in small letters."""
ANSWERED = "1 or 0, true or false, yes or no, or nothing"
DATES = "dates as in ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z, or Unix times"

Column: TypeAlias = Any
"""A list, an array of NumPy, or a column of pandas, polars or pyarrow."""
Size: TypeAlias = float | str | datetime.timedelta
"""Maximum distance of values: a number, or for dates a `timedelta` or a text such as 90m, 3d and 2w."""
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class BadValues(ValueError):
    """Values of a column that cannot be used.

    Args:
        expected: what they should be.
        rows: where they are, from 0; at least one.
        value: the first of them.
    """

    def __init__(self, expected: str, rows: NDArray[Any], value: str) -> None:
        self.expected, self.rows, self.value = expected, rows, value
        places = ", ".join(map(str, rows[:LISTED].tolist()))
        more = f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
        super().__init__(f"expected {expected}; got {value} in row{'s' * (len(rows) > 1)} {places}{more} (from 0)")


def column_of(values: Column) -> pa.Array:
    """Return (n,) values as an array of Arrow.

    Raises:
        TypeError: if they are no column, or of several kinds.
        ValueError: if a text among them holds half of a surrogate pair.
    """
    require_values(values, "a column of values")
    try:
        if isinstance(values, pa.ChunkedArray) or hasattr(values, "__arrow_c_stream__"):
            column = one_piece(pa.chunked_array(values))
        elif isinstance(values, pa.Array) or hasattr(values, "__arrow_c_array__"):
            column = pa.array(values)
        else:
            if isinstance(values, np.ndarray) and values.dtype.kind == "M":  # Arrow knows no hours and minutes
                values = values.astype("datetime64[us]")
            column = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _not_of_one_kind(values, error) from error
    column = decoded(only_column(column))
    if pa.types.is_float16(column.type):  # Arrow has few functions of these
        column = column.cast(pa.float32())
    if pa.types.is_decimal(column.type) and column.type.bit_width < 128:  # the same
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def _not_of_one_kind(values: Any, error: Exception) -> Exception:
    """Return the error to raise for values that Arrow takes for no column; names the first row that is at fault."""
    listed = list(values)
    require_encodable(listed)
    known = [(row, value) for row, value in enumerate(listed) if value is not None and value == value]
    first = next(iter(known), None)
    other = next(((row, value) for row, value in known if type(value) is not type(known[0][1])), None)
    if first is None or other is None:
        return TypeError(f"expected a column of values of one kind: {error}")
    return TypeError(
        f"expected a column of values of one kind; row {first[0]} (from 0) is {first[1]!r:.60}, and row {other[0]} is "
        f"{other[1]!r:.60}"
    )


def codes_of(values: Column) -> Ints:
    """Return (n,) codes that are the same where values are; `MISSING` for a missing one.

    Raises:
        TypeError: if they are no column, or lists and the like.
    """
    column = column_of(values)
    if pa.types.is_null(column.type):
        return np.full(len(column), MISSING, np.int64)
    try:
        codes = column.dictionary_encode().indices
    except pa.ArrowException as error:
        raise TypeError(f"expected plain values, got {column.type}") from error
    return np.asarray(pc.fill_null(codes.cast(pa.int64()), MISSING).to_numpy(zero_copy_only=False))


def strings_of(values: Column) -> list[str]:
    """Return (n,) values as strings, so that a number is equal to one that is spelt; empty where one is missing.

    Raises:
        TypeError: if they are no column, or lists and the like.
    """
    column = column_of(values)
    if pa.types.is_nested(column.type):
        raise TypeError(f"expected texts, numbers or dates, got {column.type}")
    try:
        return list(pc.fill_null(column.cast(pa.string()), "").to_pylist())
    except pa.ArrowException:  # bytes that are no texts, a zone that this machine does not know
        return [value or "" for value in delimited_texts(pa.chunked_array([column]))]


def keys_of(values: Column) -> list[str]:
    """Return (n,) spellings that are equal where values are, whatever their types; empty where one is missing.

    Texts are in their normal form with single blanks. A number is one however it is spelt (5, 5.0, +5), but 05 is a
    code; a time is one with and without fractions of 0, and midnight is its day.

    Raises:
        TypeError: if they are no column, or lists and the like.
    """
    column = column_of(values)
    coded = pa.array(strings_of(column), pa.string()).dictionary_encode()
    spelt = coded.dictionary.to_pylist()
    if _is_number(column.type):
        spelt = [f"{Decimal(value):f}" if value else "" for value in spelt]
    return [*map([_key(" ".join(form.split())) for form in normal_form(spelt)].__getitem__, coded.indices.to_pylist())]


def _key(form: str) -> str:
    if NUMERAL.fullmatch(form):
        number = form.lstrip("+").rstrip("0").rstrip(".") if "." in form else form.lstrip("+")
        return "0" if number == "-0" else number
    moment = MOMENT.fullmatch(form)
    return form if moment is None else f"{moment[1]} {moment[2]}".removesuffix(" 00:00").removesuffix(" 00:00:00")


def answers_of(values: Column) -> Ints:
    """Return (n,) 1 where a person said that two texts are duplicates, 0 that they are not; `MISSING` if not answered.

    The one rule for answers, of truth values, numbers or texts in any case: 1, 1.0, true, yes and y; 0, 0.0, false, no
    and n; nothing, white space and NaN are no answer.

    Raises:
        TypeError: if they are no column.
        BadValues: if a value is none of them.
    """
    column = column_of(values)
    column = column.cast(pa.float64(), safe=False) if _is_number(column.type) else column
    try:
        spelt = pc.utf8_lower(column.cast(pa.string()))
    except pa.ArrowException as error:
        raise TypeError(f"expected {ANSWERED}; got {column.type}") from error
    spelt = pc.if_else(pc.equal(spelt, "nan"), pa.scalar(None, pa.string()), spelt)
    known = pc.index_in(spelt, pa.array(list(ANSWERS)))
    require_right(spelt, pc.or_(pc.is_null(spelt), pc.is_valid(known)), ANSWERED)
    answers = pa.array(map(int, ANSWERS.values()), pa.int64()).take(known)
    return np.asarray(pc.fill_null(answers, MISSING).to_numpy(zero_copy_only=False))


def numbers_of(values: Column) -> Floats:
    """Return (n,) numbers; NaN for a missing one.

    Raises:
        TypeError: if they are no column, or neither numbers nor texts.
        BadValues: if a text is no number, or a number is infinite.
    """
    column = column_of(values)
    if is_text(column.type):
        column = pc.if_else(pc.equal(pc.utf8_lower(column), "nan"), pa.scalar(None, pa.string()), column)
        right = pc.match_substring_regex(column, NUMBER)
        dated = pc.match_substring_regex(column, DATE)
        comma = pc.match_substring_regex(column, DECIMAL_COMMA)
        hint = "; for dates, give the size with a unit, such as 3d" if pc.any(dated).as_py() else ""
        hint = "; decimals have a point" if not hint and pc.all(pc.or_(right, comma)).as_py() else hint
        require_right(column, right, f"numbers{hint}")
    elif pa.types.is_temporal(column.type):
        raise TypeError(f"expected numbers, got {column.type}: for dates, give the size with a unit, such as 3d")
    elif not (_is_number(column.type) or pa.types.is_null(column.type)):
        raise TypeError(f"expected numbers, got {column.type}")
    numbers = _floats(column)
    if np.isinf(numbers).any():
        raise BadValues("finite numbers", np.flatnonzero(np.isinf(numbers)), str(numbers[np.isinf(numbers)][0]))
    return numbers


def times_of(values: Column) -> Floats:
    """Return (n,) microseconds since 1970 in UTC, exact until 2255; NaN for a missing one. A time without zone is UTC.

    Whole numbers are Unix times in seconds, milliseconds, microseconds or nanoseconds, by the size of the largest.

    Raises:
        TypeError: if they are no column, or neither dates nor numbers nor texts.
        BadValues: if a value is no date.
    """
    column = column_of(values)
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        zone = getattr(column.type, "tz", None)
        return _floats(column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()))
    if is_text(column.type):
        plain = pc.match_substring_regex(column, r"^[+-]?\d+(?:\.\d+)?$")
        if not pc.all(plain).as_py():  # of no value at all it is true
            return _parsed(column)
    elif not (_is_number(column.type) or pa.types.is_null(column.type)):
        raise TypeError(f"expected {DATES}; got {column.type}")
    numbers = _floats(column)
    known = np.abs(numbers[~np.isnan(numbers)])
    largest = float(known.max(initial=0.0))
    if len(known) and (largest < LEAST_UNIX or not np.isfinite(largest)):
        expected = f"{DATES}; years alone are numbers (highest, lowest)"
        raise BadValues(expected, np.flatnonzero(~np.isnan(numbers)), shown(str(column.drop_null()[0].as_py())))
    return numbers * next(factor for below, factor in UNIX if largest < below)


def size_of(size: Size) -> tuple[float, bool]:
    """Return the maximum distance of values, in microseconds if they are times, and whether they are.

    Raises:
        TypeError: if it is neither a number nor a text nor a `timedelta`.
        ValueError: if it is negative or no size.
    """
    if isinstance(size, datetime.timedelta):
        value, timed = size.total_seconds() * MICRO, True
    elif isinstance(size, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])?", size.strip())
        if match is None:
            raise ValueError(
                f"expected a size such as 5, or for dates 90m, 3d or 2w ({', '.join(SECONDS)}), and no share in per "
                f"cent; got {size!r}"
            )
        timed = match[2] is not None
        value = float(match[1]) * (SECONDS[match[2]] * MICRO if timed else 1)
    else:
        require_number("size", size)
        value, timed = float(size), False
    if not (0 <= value < float("inf")):
        raise ValueError(f"expected a size of 0 or more, got {size!r}")
    return value, timed


def distances_by(size: Size) -> Callable[[Column], Floats]:
    """Return what reads a column whose values are at most `size` apart: `times_of` or `numbers_of`."""
    return times_of if size_of(size)[1] else numbers_of


def _parsed(column: pa.Array) -> Floats:
    """Return times that are spelt as in ISO 8601."""
    require_right(column, pc.match_substring_regex(column, DATE), DATES)
    column = pc.replace_substring_regex(column, r"(\.\d{6})\d+", r"\1")
    zoned = pc.match_substring_regex(column, ZONE)
    nothing = pa.scalar(None, pa.string())
    try:
        with_zone = pc.if_else(zoned, column, nothing).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        without = pc.if_else(zoned, nothing, column).cast(pa.timestamp("us")).cast(pa.int64())
    except pa.ArrowException as error:  # a 13th month: rows are looked at one by one only here
        kinds = (pa.timestamp("us", "UTC" if zone else None) for zone in zoned.to_pylist())
        right = [
            value is None or castable([value], kind) for value, kind in zip(column.to_pylist(), kinds, strict=True)
        ]
        require_right(column, pa.array(right), DATES)
        raise AssertionError from error
    return _floats(pc.coalesce(with_zone, without))


def castable(values: list[str], kind: pa.DataType) -> bool:
    """Return true if all texts can be read as values of a type."""
    try:
        pa.array(values).cast(kind)
    except pa.ArrowException:
        return False
    return True


def require_right(column: pa.Array, right: Any, expected: str) -> None:
    """Check that values that are not missing are right, by a mask (n,).

    Raises:
        BadValues: if some are not.
    """
    wrong = np.flatnonzero(pc.fill_null(pc.invert(right), False).to_numpy(zero_copy_only=False))
    if len(wrong):
        raise BadValues(expected, wrong, shown(column[int(wrong[0])].as_py()))


def _floats(column: pa.Array) -> Floats:
    filled = pc.fill_null(column.cast(pa.float64(), safe=False), float("nan"))
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.float64)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
