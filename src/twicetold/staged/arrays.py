"""Files of the stages: arrays, each in a file of NumPy's, and numbers without some of them.

All are written whole. Of a mapped array, only what is looked at is read.

Shape letters: n numbers, L of them that are left out, K that are asked for.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold.neighbours.grouping import Ints
from twicetold.staged.plan import Plan


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
    return np.concatenate([mapped(plan, stage, name, kind) for name in names])


class Numbers(NamedTuple):
    """The numbers 0 .. n - 1 without some: which is the k-th.

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

    def numbers(self, ranks: Ints) -> Ints:
        """Return (K,) the number of each rank."""
        return ranks + np.searchsorted(self.without - np.arange(len(self.without)), ranks, side="right")
