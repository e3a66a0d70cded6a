"""`centres`: cells of dense vectors by k-means of a sample, once, in one process; and which shard has which cells.

A shard is a part of the space of vectors that one task looks at: cells next to each other, so that the cells that a
text visits are in few shards. Cells are halved at the median of their first principal component until there are as
many shards as asked for. Shards do not change what is found, cells do.

The sample of texts whose links are also searched for exactly is taken here as well.

Shape letters: C cells, D columns.
"""

from typing import Any

import numpy as np

from twicetold.neighbours.cells import centres_of, nearest_centres, sampled
from twicetold.neighbours.dense_joining import Dense
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.sample import sample
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.encode import vectors_of
from twicetold.staged.plan import Plan

SALT = 1  # of the sample of texts that are compared with all others; that of centres has another one


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find centres.

    Returns:
        Number of cells.
    """
    vectors = vectors_of(plan, sampled(plan.distinct))
    centres = centres_of(vectors, plan.cells)
    weights = np.bincount(nearest_centres(vectors, centres, 1)[:, 0], minlength=len(centres)).astype(np.float64)
    asked = sample(plan.distinct, plan.settings.sampled, salt=SALT) if plan.settings.sampled else np.empty(0, np.int64)
    content = {
        "centres": centres,
        "shard": shards_of(centres, weights, plan.shards),
        "asked": asked,
        "vectors": vectors_of(plan, asked),
    }
    write_arrays(plan.file("centres", name, "centres"), content)
    return {"cells": len(centres)}


def centres_in(plan: Plan) -> tuple[Dense, Ints]:
    """(C, D) centres, and the (C,) shard of each cell."""
    found = Arrays(plan.file("centres", "all", "centres"))
    return found.read("centres"), found.read("shard")


def shards_of(centres: Dense, weights: Floats, shards: int) -> Ints:
    """(C,) shard of each cell, of about equal weights."""
    found = np.zeros(len(centres), np.int64)
    waiting = [(np.arange(len(centres)), 0, min(shards, len(centres)))]
    while waiting:
        cells, first, count = waiting.pop()
        found[cells] = first
        if count == 1:
            continue
        inside = centres[cells].astype(np.float64)
        inside -= inside.mean(axis=0)
        order = np.argsort(inside @ np.linalg.eigh(inside.T @ inside)[1][:, -1], kind="stable")
        half = count // 2
        total = np.cumsum(weights[cells][order])
        cut = int(np.searchsorted(total, total[-1] * half / count)) + 1
        cut = min(max(cut, half), len(cells) - (count - half))
        waiting += [(cells[order[:cut]], first, half), (cells[order[cut:]], first + half, count - half)]
    return found
