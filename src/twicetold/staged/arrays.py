"""Several arrays in one file, written whole and read by slices, in the layout of safetensors."""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from twicetold.files import write_file

CODES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U64": "<u8"}
NAMES = {np.dtype(kind): code for code, kind in CODES.items()}
HEAD = 8  # bytes that say how long the description is
LONGEST = 1 << 20  # bytes of a description


class Pieces(NamedTuple):
    """An array that comes in pieces, in order."""

    shape: tuple[int, ...]
    kind: DTypeLike
    pieces: Iterable[NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any] | Pieces]) -> None:
    """Write arrays to a file, which is there only once it is whole.

    Raises:
        ValueError: if pieces do not add up to the shape.
        DiskFullError: if there is no room.
    """
    head: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        shape, kind = array.shape, np.dtype(array.kind if isinstance(array, Pieces) else array.dtype)
        start, end = end, end + prod(shape) * kind.itemsize
        head[name] = {"dtype": NAMES[kind], "shape": list(shape), "data_offsets": [start, end]}
    described = json.dumps(head).encode()
    described += b" " * (-len(described) % HEAD)
    with write_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(described).to_bytes(HEAD, "little") + described)
        for array in arrays.values():
            for piece in array.pieces if isinstance(array, Pieces) else (array,):
                np.ascontiguousarray(piece).tofile(file)
        file.flush()
        if file.tell() != HEAD + len(described) + end:
            raise ValueError(f"{path}: the pieces have {file.tell() - HEAD - len(described):,} bytes, expected {end:,}")


class Arrays:
    """The arrays of a file.

    Args:
        path: of the file.

    Raises:
        ValueError: if it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self.begin, self.head = self._described(file)
        expected = self.begin + max((about["data_offsets"][1] for about in self.head.values()), default=0)
        if path.stat().st_size != expected:
            raise self._damaged(f"expected {expected:,} bytes, got {path.stat().st_size:,}")

    def _described(self, file: IO[bytes]) -> tuple[int, dict[str, Any]]:
        length = int.from_bytes(file.read(HEAD), "little")
        if length > LONGEST:
            raise self._damaged("it does not begin as expected")
        try:
            return HEAD + length, json.loads(file.read(length))
        except ValueError as error:
            raise self._damaged("it does not begin as expected") from error

    def _damaged(self, what: str) -> ValueError:
        return ValueError(f"{self.path} is damaged: {what}. Delete it, then run the same command again")

    def shape(self, name: str) -> tuple[int, ...]:
        """Of an array."""
        return tuple(self.head[name]["shape"])

    def __len__(self) -> int:
        """Rows of the first array."""
        return self.shape(next(iter(self.head)))[0]

    def read(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Some rows of an array."""
        about, shape = self.head[name], self.shape(name)
        stop = shape[0] if stop is None else stop
        kind, width = np.dtype(CODES[about["dtype"]]), prod(shape[1:])
        offset = self.begin + about["data_offsets"][0] + start * width * kind.itemsize
        found = np.fromfile(self.path, kind, (stop - start) * width, offset=offset)
        return found.reshape(stop - start, *shape[1:])

    def mapped(self, name: str) -> NDArray[Any]:
        """An array of which only what is looked at is read."""
        about, shape = self.head[name], self.shape(name)
        if not prod(shape):
            return np.empty(shape, CODES[about["dtype"]])
        offset = self.begin + about["data_offsets"][0]
        return np.memmap(self.path, CODES[about["dtype"]], "r", offset, shape)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Of a file that is sorted by where its rows go: (destinations + 1,) first row of each."""
        return self.read("starts")
