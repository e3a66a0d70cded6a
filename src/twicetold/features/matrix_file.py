"""A matrix that is written to an .npy file some rows at a time.

A memory-mapped file that is written to on a full disk ends the process by a signal (SIGBUS). Ordinary writes raise an
error.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


@contextmanager
def write_matrix(path: Path, *, dtype: DTypeLike, shape: tuple[int, int]) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Yield a function that writes the next rows.

    Args:
        path: the file.
        dtype: of its numbers.
        shape: rows and columns.

    Raises:
        ValueError: if rows do not fit, or there are more or fewer of them than `shape` says.
    """
    kind, written = np.dtype(dtype), 0
    with path.open("wb") as file:
        head = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, head)

        def write(rows: NDArray[Any]) -> None:
            nonlocal written
            written += len(rows)
            if rows.dtype != kind or rows.shape[1:] != shape[1:] or written > shape[0]:
                raise ValueError(f"expected {shape} of {kind}, got {written} rows, {rows.shape} of {rows.dtype}")
            file.write(np.ascontiguousarray(rows).data)

        yield write
    if written != shape[0]:
        raise ValueError(f"expected {shape[0]:,} rows, got {written:,}")
