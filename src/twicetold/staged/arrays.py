"""Files of the stages: arrays in the layout of safetensors, numbers without some of them, and links.

All are written whole, and read by slices or chunks.

Shape letters: n numbers, L of them that are left out, K that are asked for.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from twicetold.files import write_file
from twicetold.neighbours.dense_join import Pairs
from twicetold.neighbours.grouping import Ints

CODES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U64": "<u8"}
NAMES = {np.dtype(kind): code for code, kind in CODES.items()}
HEAD = 8  # bytes that say how long the description is
LONGEST = 1 << 20  # bytes of a description
LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("dot", "<f8")])
CHUNK = 1 << 20  # links that are read at once


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
        """Shape of an array."""
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
        values = np.fromfile(self.path, kind, (stop - start) * width, offset=offset)
        return values.reshape(stop - start, *shape[1:])

    def mapped(self, name: str) -> NDArray[Any]:
        """An array of which only what is looked at is read."""
        about, shape = self.head[name], self.shape(name)
        if not prod(shape):
            return np.empty(shape, CODES[about["dtype"]])
        offset = self.begin + about["data_offsets"][0]
        return np.memmap(self.path, CODES[about["dtype"]], "r", offset, shape)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(destinations + 1,) first row of each destination, in a file that is sorted by these."""
        return self.read("starts")


class Numbers:
    """The numbers 0 .. n - 1 without some: how many come before a number, and which is the k-th.

    Args:
        without: (L,) those that are left out, ascending.
        before: (L,) how many are not left out before each of these.
        count: n.
    """

    def __init__(self, without: Ints, before: Ints, count: int) -> None:
        self.without, self.before, self.count = without, before, count

    @classmethod
    def read(cls, path: Path) -> "Numbers":
        """From a file that `write_numbers` made, of which only what is looked at is read."""
        arrays = Arrays(path)
        return cls(arrays.mapped("without"), arrays.mapped("before"), int(arrays.read("count")[0]))

    def __len__(self) -> int:
        return self.count - len(self.without)

    def ranks(self, numbers: Ints) -> Ints:
        """(K,) how many are below each number."""
        return numbers - np.searchsorted(self.without, numbers)

    def numbers(self, ranks: Ints) -> Ints:
        """(K,) the number of each rank."""
        return ranks + np.searchsorted(self.before, ranks, side="right")


def write_numbers(path: Path, count: int, without: Ints) -> Numbers:
    """Write all numbers below `count` without these, which ascend, to a file."""
    before = without - np.arange(len(without))
    write_arrays(path, {"without": without, "before": before, "count": np.array([count])})
    return Numbers.read(path)


def in_numbers(links: Iterable[Pairs], left: Ints, right: Ints) -> Iterator[Pairs]:
    """Links between rows as those between the texts of these numbers, the lower one first; none of a text to itself."""
    for one, other, dot in links:
        low, high = np.minimum(left[one], right[other]), np.maximum(left[one], right[other])
        apart = low < high
        yield low[apart], high[apart], dot[apart]


def write_links(path: Path, links: Iterable[Pairs]) -> int:
    """Write links to a file as they are found.

    Returns:
        Their number.
    """
    total = 0
    with write_file(path) as temporary, temporary.open("wb") as file:
        for left, right, dot in links:
            rows = np.empty(len(left), LINK)
            rows["left"], rows["right"], rows["dot"] = left, right, dot
            rows.tofile(file)
            total += len(rows)
    return total


def read_links(path: Path, start: int = 0, stop: int | None = None) -> Iterator[NDArray[Any]]:
    """Links of a file, chunk by chunk."""
    stop = path.stat().st_size // LINK.itemsize if stop is None else stop
    for begin in range(start, stop, CHUNK):
        yield np.fromfile(path, LINK, min(CHUNK, stop - begin), offset=begin * LINK.itemsize)
