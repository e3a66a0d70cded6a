"""Stages of dense vectors: `centres` of cells, `scatter` to shards, and `links`.

A shard is a part of the space of vectors that one task looks at: cells next to each other, so that the cells that a
text visits are in few shards. Cells are halved at the median of their first principal component until there are as
many shards as asked for. Shards do not change what is found, cells do. Few texts, or with `exact` all, go by
`links_all`, without cells.

Shape letters: C cells, D columns, b texts of a block, p visited cells, R copies of texts, one for each shard, V visits.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib import format as npy

from twicetold.files import write_file
from twicetold.neighbours.cells import PROBES, Cells, centres_of, nearest_centres, sampled
from twicetold.neighbours.dense_join import Dense, Pairs, dense_pairs, dense_self_pairs
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.staged.arrays import block, in_numbers, mapped, of_texts, write_arrays, write_links
from twicetold.staged.plan import Plan, bounds

STEP = 1 << 14  # vectors that are copied at once


def centres(plan: Plan, name: str) -> dict[str, Any]:
    """Cells of dense vectors by k-means of a sample, once, in one process; and which shard has which cells.

    Returns:
        Number of cells.
    """
    vectors = of_texts(plan, "vectors", sampled(plan.distinct))
    centres = centres_of(vectors, plan.cells)
    weights = np.bincount(nearest_centres(vectors, centres, 1)[:, 0], minlength=len(centres)).astype(np.float64)
    shard = shards_of(centres, weights, plan.shards)
    write_arrays(plan, "centres", name, centre=centres, shard=shard)
    return {"cells": len(centres)}


def shards_of(centres: Dense, weights: Floats, shards: int) -> Ints:
    """(C,) shard of each cell, of about equal weights."""
    shard = np.zeros(len(centres), np.int64)
    pending = [(np.arange(len(centres)), 0, min(shards, len(centres)))]
    while pending:
        cells, first, count = pending.pop()
        shard[cells] = first
        if count == 1:
            continue
        inside = centres[cells].astype(np.float64)
        inside -= inside.mean(axis=0)
        order = np.argsort(inside @ np.linalg.eigh(inside.T @ inside)[1][:, -1], kind="stable")
        half = count // 2
        total = np.cumsum(weights[cells][order])
        cut = int(np.searchsorted(total, total[-1] * half / count)) + 1
        cut = min(max(cut, half), len(cells) - (count - half))
        pending += [(cells[order[:cut]], first, half), (cells[order[cut:]], first + half, count - half)]
    return shard


def scatter(plan: Plan, name: str) -> dict[str, Any]:
    """The vectors of a block to the shards whose cells they visit, sorted by shard.

    Returns:
        R.
    """
    vectors = block(plan, name)
    near = nearest_centres(vectors, np.array(mapped(plan, "centres", "all", "centre")), PROBES)
    text = np.repeat(np.arange(len(near)), near.shape[1])
    cell = near.ravel()
    goes = mapped(plan, "centres", "all", "shard")[cell]
    order = np.lexsort((text, goes))
    text, cell, goes = text[order], cell[order], goes[order]
    begins = np.flatnonzero(np.append(True, (goes[1:] != goes[:-1]) | (text[1:] != text[:-1])))
    copied = text[begins]
    counts = np.bincount(goes[begins], minlength=plan.shards)
    with write_file(plan.file("scatter", name, "vectors")) as temporary, temporary.open("wb") as file:
        shape = (len(copied), plan.width)
        npy.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for start in range(0, len(copied), STEP):
            file.write(vectors[copied[start : start + STEP]].data)
    write_arrays(
        plan,
        "scatter",
        name,
        starts=np.append(0, np.cumsum(counts)),
        number=copied + bounds(name, plan.distinct)[0],
        own=near[copied, 0],
        visits=np.append(begins, len(text)),
        cell=cell,
    )
    return {"copies": len(copied)}


def links(plan: Plan, name: str) -> dict[str, Any]:
    """The links in the cells of a shard.

    Returns:
        Their number, a pair as often as it is in a cell.
    """
    number, cells, vectors = _shard(plan, int(name))
    pairs = in_numbers(cells.pairs((vectors, vectors), plan.decision.threshold - plan.constant), number, number)
    return {"links": write_links(plan.file("links", name, "links"), pairs)}


def _shard(plan: Plan, shard: int) -> tuple[Ints, Cells, Dense]:
    """Numbers of the texts of a shard, its cells, and vectors."""
    places = [mapped(plan, "scatter", name, "starts")[shard : shard + 2].tolist() for name in plan.blocks]
    total = sum(end - begin for begin, end in places)
    number, own = np.empty(total, np.int64), np.empty(total, np.int32)
    counts, vectors, parts = np.empty(total, np.int64), np.empty((total, plan.width), np.float32), []
    start = 0
    for name, (begin, end) in zip(plan.blocks, places, strict=True):
        rows = slice(start, start + end - begin)
        for kind, array in (("number", number), ("own", own), ("vectors", vectors)):
            array[rows] = mapped(plan, "scatter", name, kind)[begin:end]
        visits = mapped(plan, "scatter", name, "visits")[begin : end + 1]
        counts[rows] = np.diff(visits)
        parts.append(mapped(plan, "scatter", name, "cell")[visits[0] : visits[-1]])
        start = rows.stop
    cell, visitor = np.concatenate(parts), np.repeat(np.arange(total), counts)
    cells = np.flatnonzero(mapped(plan, "centres", "all", "shard") == shard)
    member, order = np.argsort(own, kind="stable"), np.argsort(cell, kind="stable")
    starts, ends = (np.searchsorted(own[member], cells, side) for side in ("left", "right"))
    visits = np.append(np.searchsorted(cell[order], cells), len(cell))
    mine = np.concatenate([member[start:end] for start, end in zip(starts, ends, strict=True)])
    return number, Cells(mine, np.append(0, np.cumsum(ends - starts)), visitor[order], visits), vectors


def links_all(plan: Plan, name: str) -> dict[str, Any]:
    """The links of a block of dense vectors with itself and with all later blocks, without cells.

    Returns:
        Their number.
    """
    least = plan.decision.threshold - plan.constant
    left, numbers = block(plan, name), np.arange(*bounds(name, plan.distinct))

    def pairs() -> Iterator[Pairs]:
        whole = dense_self_pairs((left, left), least, most=len(left) ** 2)
        assert whole is not None
        yield from in_numbers([whole], numbers, numbers)
        for later in plan.blocks[int(name) + 1 :]:
            others = dense_pairs(left, block(plan, later), least, reduce=True)
            yield from in_numbers([others], numbers, np.arange(*bounds(later, plan.distinct)))

    return {"links": write_links(plan.file("links_all", name, "links"), pairs())}
