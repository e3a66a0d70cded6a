"""Vectors that were made elsewhere: a row a text, in a file of NumPy, or in a column of lists.

A list may be spelt, as in CSV and JSON lines: `[0.1, -2e-3, 3]`. Nothing is unpickled.

Shape letters: n texts, D numbers of a vector.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.tables.blocks import is_text
from twicetold.tables.columns import BadValues, Column, castable, column_of, require_right

ROWS = 1 << 12  # spelt lists that are read at a time
NUMBERS = "fiu"  # kinds of numbers: floating, whole ones, and whole ones without a sign
LIST = r"^\[[-+0-9.eE,\s]+\]$"
EXPECTED = "lists of numbers, such as [0.1, -0.2]"
LONGEST = 300  # characters of the reason why a file is refused

Floats32 = NDArray[np.float32]


def matrix_in(file: Path) -> NDArray[Any]:
    """Return the matrix in a file of `numpy.save`, memory-mapped.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is no such file, or holds objects, which would have to be unpickled.
    """
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    try:
        matrix: NDArray[Any] = np.lib.format.open_memmap(file, mode="r")
    except Exception as error:  # whatever a file from elsewhere brings about
        reason = " ".join(str(error).split())
        if "Python objects" in reason:
            raise ValueError(
                f"{file}: expected numbers, got Python objects, which are not read, as they may run code: save it "
                'again with numpy.save(file, array.astype("float32"))'
            ) from error
        raise ValueError(
            f"{file}: expected a matrix of numbers as numpy.save writes it, a row a text: {reason[:LONGEST]}"
        ) from error
    return matrix


def unit_rows(vectors: Any, *, count: int, name: str = "vectors") -> Floats32:
    """Return (n, D) vectors of length 1 in the same directions: their dot products are cosines.

    Args:
        vectors: (n, D) numbers as an array of any library, or a column of n lists.
        count: n.
        name: of the vectors, for messages.

    Raises:
        TypeError: if they are neither a matrix of numbers nor a column of lists.
        BadValues: if a list is missing or has another length, or a row has a number that is not finite, or is 0.
        ValueError: if there are not as many rows as texts, or no columns.
    """
    matrix = np.asarray(vectors) if getattr(vectors, "ndim", 1) != 1 else of_lists(vectors)
    if matrix.dtype.kind not in NUMBERS:
        raise TypeError(f"{name}: expected numbers, got {matrix.dtype}")
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise ValueError(f"{name}: expected a matrix with a row of numbers for each text, got shape {matrix.shape}")
    if len(matrix) != count:
        raise ValueError(f"{name}: expected a row for each of {count:,} texts, got {len(matrix):,} rows")
    with np.errstate(over="ignore"):
        units = np.array(matrix, np.float32, order="C")
    length = np.sqrt(np.einsum("nd,nd->n", units, units, dtype=np.float64))
    for wrong, what in ((~np.isfinite(length), "NaN or infinity"), (length == 0, "zeros alone")):
        if wrong.any():
            raise BadValues("vectors of finite numbers that are not all 0", np.flatnonzero(wrong), what)
    units /= length[:, None]
    return units


def of_lists(values: Column) -> Floats32:
    """Return (n, D) numbers of a column of n lists.

    Raises:
        TypeError: if values are something else.
        BadValues: if a list is missing, has another length than the first one, or is spelt otherwise.
    """
    column = column_of(values)
    missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
    if len(missing):
        raise BadValues(EXPECTED, missing, "no value")
    if is_text(column.type):
        return _spelt(column)
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise TypeError(f"expected {EXPECTED}; got {column.type}")
    if not (pa.types.is_integer(kind := column.type.value_type) or pa.types.is_floating(kind)):
        raise TypeError(f"expected {EXPECTED}; got lists of {kind}")
    width = _width(pc.list_value_length(column))
    flat = pc.list_flatten(column).to_numpy(zero_copy_only=False)  # NaN where a number is missing
    with np.errstate(over="ignore"):
        return np.asarray(flat, np.float32).reshape(-1, width)


def _spelt(column: pa.Array) -> Floats32:
    """Return (n, D) numbers of lists that are spelt as in JSON."""
    require_right(column, pc.match_substring_regex(column, LIST), EXPECTED)
    commas = pc.count_substring(column, ",")
    width = _width(pc.add(commas, 1))
    matrix = np.empty((len(column), width), np.float32)
    for start in range(0, len(column), ROWS):
        part = column.slice(start, ROWS)
        numbers = pc.list_flatten(pc.split_pattern(pc.utf8_trim(part, "[]"), ","))
        try:
            flat = pc.utf8_trim_whitespace(numbers).cast(pa.float32())
        except pa.ArrowException as error:  # rows are looked at one by one only here
            lists = ([number.strip() for number in value.strip("[]").split(",")] for value in column.to_pylist())
            require_right(column, pa.array([castable(each, pa.float32()) for each in lists]), EXPECTED)
            raise AssertionError from error
        matrix[start : start + len(part)] = flat.to_numpy(zero_copy_only=False).reshape(-1, width)
    return matrix


def _width(lengths: pa.Array) -> int:
    """Return the length of all lists, which is that of the first one."""
    length = lengths.to_numpy(zero_copy_only=False)
    if not len(length):
        return 0
    other = np.flatnonzero(length != length[0])
    if len(other):
        raise BadValues(f"lists of {length[0]:,} numbers, as the first one is", other, f"{length[other[0]]:,} numbers")
    return int(length[0])
