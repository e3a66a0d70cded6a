"""Files of the stages: arrays, each in a file of NumPy's, those of texts, numbers without some of them, and links.

All are written whole. Of a mapped array, only what is looked at is read.

Shape letters: n numbers, L of them that are left out, K that are asked for; b texts of a block, D columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold.neighbours.dense_join import Dense, Pairs
from twicetold.neighbours.grouping import Ints
from twicetold.staged.plan import BLOCK, Plan

LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("dot", "<f8")])
CHUNK = 1 << 20  # links that are read at once


def write_arrays(plan: Plan, stage: str, name: str, **arrays: NDArray[Any]) -> None:
    """Write arrays of a task, each to the file of its kind, which is there only once it is whole.

    Raises:
        DiskFullError: if there is no room.
    """
    for kind, array in arrays.items():
        with write_file(plan.file(stage, name, kind)) as temporary, temporary.open("wb") as file:
            np.save(file, array, allow_pickle=False)


def mapped(plan: Plan, stage: str, name: str, kind: str) -> NDArray[Any]:
    """Return an array of a task.

    Raises:
        OSError: if it is not there.
        ValueError: if it is damaged.
    """
    return np.asarray(np.load(plan.file(stage, name, kind), mmap_mode="r", allow_pickle=False))


def in_memory(plan: Plan, stage: str, names: Sequence[str], kind: str) -> NDArray[Any]:
    """Return the numbers of several tasks, one array after another."""
    return np.concatenate([np.empty(0, np.int64), *(mapped(plan, stage, name, kind) for name in names)])


def block(plan: Plan, name: str) -> Dense:
    """Return (b, D) vectors of a block of distinct texts."""
    return np.array(mapped(plan, "encode", name, "vectors"))


def of_texts(plan: Plan, kind: str, numbers: Ints) -> NDArray[Any]:
    """Return (k, ...) `vectors`, or `length` in characters, of some distinct texts, which ascend."""
    ends = np.searchsorted(numbers, np.arange(len(plan.blocks) + 1) * BLOCK)
    like = mapped(plan, "encode", plan.blocks[0], kind)
    found = np.empty((len(numbers), *like.shape[1:]), like.dtype)
    for number, name in enumerate(plan.blocks):
        rows = slice(ends[number], ends[number + 1])
        if rows.start < rows.stop:
            found[rows] = mapped(plan, "encode", name, kind)[numbers[rows] - number * BLOCK]
    return found


class Numbers(NamedTuple):
    """The numbers 0 .. n - 1 without some: how many come before a number, and which is the k-th.

    Attributes:
        without: (L,) those that are left out, ascending.
    """

    without: Ints

    @classmethod
    def read(cls, plan: Plan, stage: str) -> "Numbers":
        """Read the files of a stage that `write` made."""
        return cls(mapped(plan, stage, "all", "without"))

    @classmethod
    def write(cls, plan: Plan, stage: str, without: Ints) -> "Numbers":
        """Write all numbers without these, which ascend, as files of a stage."""
        write_arrays(plan, stage, "all", without=without)
        return cls(without)

    def ranks(self, numbers: Ints) -> Ints:
        """Return (K,) how many are below each number."""
        return numbers - np.searchsorted(self.without, numbers)

    def numbers(self, ranks: Ints) -> Ints:
        """Return (K,) the number of each rank."""
        return ranks + np.searchsorted(self.without - np.arange(len(self.without)), ranks, side="right")


def in_numbers(links: Iterable[Pairs], left: Ints, right: Ints) -> Iterator[Pairs]:
    """Yield links between rows as links between their texts, the lower number first; none of a text to itself."""
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


def read_links(path: Path) -> Iterator[NDArray[Any]]:
    """Yield links of a file, chunk by chunk."""
    for begin in range(0, path.stat().st_size, CHUNK * LINK.itemsize):
        yield np.fromfile(path, LINK, CHUNK, offset=begin)
