"""Fitted state of a featuriser on disk: arrays in safetensors, the rest in JSON, no pickle.

A matrix is written to an .npy file some rows at a time. A memory-mapped file that is written to on a full disk ends the
process by a signal (SIGBUS); ordinary writes raise an error.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors.numpy import load_file, save_file

from twicetold import layout
from twicetold.files import write_text

T = TypeVar("T")


def save_fitted(featuriser: Any, folder: Path) -> None:
    """Write the fitted attributes (those whose names end in `_`) of `featuriser` to `folder`."""
    arrays, rest = _fitted(featuriser)
    save_file(arrays, folder / layout.FEATURISER_ARRAYS)
    write_text(folder / layout.FEATURISER_STATE, rest)


def load_fitted(featuriser: T, folder: Path) -> T:
    """Give an unfitted `featuriser` the state that `save_fitted` wrote to `folder`, and return it.

    Raises:
        ValueError: if there is anything but fitted attributes in the files.
    """
    try:
        rest = json.loads((folder / layout.FEATURISER_STATE).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{layout.FEATURISER_STATE} is not JSON: {error}") from error
    if not isinstance(rest, dict):
        raise ValueError(f"expected an object in {layout.FEATURISER_STATE}, got {type(rest).__name__}")
    for name, value in {**rest, **load_file(folder / layout.FEATURISER_ARRAYS)}.items():
        if name.startswith("_") or not name.endswith("_") or name.endswith("__"):  # `__dict__` would be all of them
            raise ValueError(f"expected the name of a fitted attribute, which ends in _, got {name!r}")
        setattr(featuriser, name, value)
    return featuriser


def fitted_digest(featuriser: Any) -> str:
    """Return SHA-256 of the fitted state. Featurisers with the same digest and settings make the same rows."""
    arrays, rest = _fitted(featuriser)
    total = hashlib.sha256(rest.encode())
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(array.data)
    return total.hexdigest()


def _fitted(featuriser: Any) -> tuple[dict[str, NDArray[Any]], str]:
    """Return the fitted attributes: arrays, and the rest as JSON."""
    state = {n: v for n, v in vars(featuriser).items() if n.endswith("_") and not n.startswith("_")}
    arrays = {n: np.ascontiguousarray(v) for n, v in state.items() if isinstance(v, np.ndarray)}
    rest = {n: v for n, v in state.items() if n not in arrays}
    return arrays, json.dumps(rest, ensure_ascii=False, sort_keys=True)


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
