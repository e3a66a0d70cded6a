"""Vectors and lengths of distinct texts, from what the stage `encode` wrote."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays
from twicetold.staged.plan import BLOCK, Plan

FEW = 0.02  # share of a block's rows below which they are read one by one


def block(plan: Plan, name: str) -> Any:
    """(b, D) vectors of a block, dense or CSR."""
    arrays = Arrays(plan.file("encode", name, "vectors"))
    if not plan.sparse:
        return arrays.read("vectors")
    starts = arrays.starts
    return sparse.csr_matrix((arrays.read("data"), arrays.read("indices"), starts), (len(starts) - 1, plan.width))


def vectors_of(plan: Plan, numbers: Ints) -> Any:
    """(k, D) vectors of some distinct texts, which ascend."""
    parts = [_of_block(plan, name, inside) for name, inside in _by_block(plan, numbers)]
    if plan.sparse:
        return sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, plan.width), dtype=np.float32)
    return np.concatenate(parts) if parts else np.empty((0, plan.width), np.float32)


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


def _of_block(plan: Plan, name: str, rows: Ints) -> Any:
    if plan.sparse or len(rows) > FEW * BLOCK:
        return block(plan, name)[rows]
    return np.asarray(Arrays(plan.file("encode", name, "vectors")).mapped("vectors")[rows])
