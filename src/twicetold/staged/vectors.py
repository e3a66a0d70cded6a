"""Vectors and lengths of distinct texts, from what the stage `encode` wrote."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.dense_join import Dense
from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import mapped
from twicetold.staged.plan import BLOCK, Plan


def block(plan: Plan, name: str) -> Dense:
    """(b, D) vectors of a block."""
    return np.array(mapped(plan, "encode", name, "vectors"))


def of_texts(plan: Plan, kind: str, numbers: Ints) -> NDArray[Any]:
    """(k, ...) `vectors`, or `length` in characters, of some distinct texts, which ascend."""
    ends = np.searchsorted(numbers, np.arange(len(plan.blocks) + 1) * BLOCK)
    return np.concatenate(
        [
            mapped(plan, "encode", name, kind)[numbers[ends[number] : ends[number + 1]] - number * BLOCK]
            for number, name in enumerate(plan.blocks)
            if ends[number] < ends[number + 1]
        ]
    )
