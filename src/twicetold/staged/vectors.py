"""Vectors and lengths of distinct texts, from what the stage `encode` wrote."""

from collections.abc import Iterator

import numpy as np

from twicetold.neighbours.dense_join import Dense
from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays
from twicetold.staged.plan import BLOCK, Plan

FEW = 0.02  # share of a block's rows below which they are read one by one


def block(plan: Plan, name: str) -> Dense:
    """(b, D) vectors of a block."""
    vectors: Dense = Arrays(plan.file("encode", name, "vectors")).read("vectors")
    return vectors


def vectors_of(plan: Plan, numbers: Ints) -> Dense:
    """(k, D) vectors of some distinct texts, which ascend."""
    parts = [np.empty((0, plan.width), np.float32)]
    for name, inside in _by_block(plan, numbers):
        few = len(inside) <= FEW * BLOCK
        parts.append(
            (Arrays(plan.file("encode", name, "vectors")).mapped("vectors") if few else block(plan, name))[inside]
        )
    return np.concatenate(parts)


def lengths_of(plan: Plan, numbers: Ints) -> Ints:
    """(k,) characters of some distinct texts, which ascend."""
    lengths = [
        Arrays(plan.file("encode", name, "vectors")).read("length")[inside] for name, inside in _by_block(plan, numbers)
    ]
    return np.concatenate([np.empty(0, np.int64), *lengths]).astype(np.int64)


def _by_block(plan: Plan, numbers: Ints) -> Iterator[tuple[str, Ints]]:
    ends = np.searchsorted(numbers, np.arange(len(plan.blocks) + 1) * BLOCK)
    for number, name in enumerate(plan.blocks):
        if ends[number] < ends[number + 1]:
            yield name, numbers[ends[number] : ends[number + 1]] - number * BLOCK
