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

from twicetold.neighbours.cells import PROBES, Cells, centres_of, nearest_centres, sampled
from twicetold.neighbours.dense_join import Dense, Pairs, dense_pairs, dense_self_pairs
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.staged.arrays import Arrays, Pieces, in_numbers, write_arrays, write_links
from twicetold.staged.plan import Plan, bounds
from twicetold.staged.vectors import block, vectors_of

STEP = 1 << 14  # vectors that are copied at once


def centres(plan: Plan, name: str) -> dict[str, Any]:
    """Cells of dense vectors by k-means of a sample, once, in one process; and which shard has which cells.

    Returns:
        Number of cells.
    """
    vectors = vectors_of(plan, sampled(plan.distinct))
    centres = centres_of(vectors, plan.cells)
    weights = np.bincount(nearest_centres(vectors, centres, 1)[:, 0], minlength=len(centres)).astype(np.float64)
    shard = shards_of(centres, weights, plan.shards)
    write_arrays(plan.file("centres", name, "centres"), {"centres": centres, "shard": shard})
    return {"cells": len(centres)}


def centres_in(plan: Plan) -> tuple[Dense, Ints]:
    """(C, D) centres, and the (C,) shard of each cell."""
    arrays = Arrays(plan.file("centres", "all", "centres"))
    return arrays.read("centres"), arrays.read("shard")


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
    """The vectors of a block to the shards whose cells they visit: one file, sorted by shard.

    Returns:
        R.
    """
    vectors = block(plan, name)
    centres, shard = centres_in(plan)
    near = nearest_centres(vectors, centres, PROBES)
    text = np.repeat(np.arange(len(near)), near.shape[1])
    cell = near.ravel()
    order = np.lexsort((text, shard[cell]))
    text, cell = text[order], cell[order]
    goes = shard[cell]
    begins = np.flatnonzero(np.append(True, (goes[1:] != goes[:-1]) | (text[1:] != text[:-1])))
    copied = text[begins]
    counts = np.bincount(goes[begins], minlength=plan.shards)
    content = {
        "starts": np.append(0, np.cumsum(counts)),
        "number": copied + bounds(name, plan.distinct)[0],
        "own": near[copied, 0],
        "visits": np.append(begins, len(text)),
        "cell": cell,
        "vectors": Pieces((len(copied), plan.width), np.float32, _pieces(vectors, copied)),
    }
    write_arrays(plan.file("scatter", name, "rows"), content)
    return {"copies": len(copied)}


def _pieces(vectors: Dense, rows: Any) -> Iterator[Dense]:
    for start in range(0, len(rows), STEP):
        yield vectors[rows[start : start + STEP]]


def links(plan: Plan, name: str) -> dict[str, Any]:
    """The links in the cells of a shard.

    Returns:
        Their number, a pair as often as it is in a cell.
    """
    number, cells, vectors = _shard(plan, int(name))
    pairs = in_numbers(cells.pairs((vectors, vectors), plan.link.threshold - plan.constant), number, number)
    return {"links": write_links(plan.file("links", name, "links"), pairs)}


def _shard(plan: Plan, shard: int) -> tuple[Ints, Cells, Dense]:
    """Numbers of the texts of a shard, its cells, and vectors."""
    files = [Arrays(plan.file("scatter", block, "rows")) for block in plan.blocks]
    total = sum(int(file.starts[shard + 1] - file.starts[shard]) for file in files)
    number, own = np.empty(total, np.int64), np.empty(total, np.int32)
    counts, vectors, parts = np.empty(total, np.int64), np.empty((total, plan.width), np.float32), []
    start = 0
    for file in files:
        begin, end = (int(place) for place in file.starts[shard : shard + 2])
        rows = slice(start, start + end - begin)
        number[rows], own[rows] = file.read("number", begin, end), file.read("own", begin, end)
        visits = file.read("visits", begin, end + 1)
        counts[rows] = np.diff(visits)
        parts.append(file.read("cell", int(visits[0]), int(visits[-1])))
        vectors[rows] = file.read("vectors", begin, end)
        start = rows.stop
    cell, visitor = np.concatenate(parts), np.repeat(np.arange(total), counts)
    cells = np.flatnonzero(centres_in(plan)[1] == shard)
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
    least = plan.link.threshold - plan.constant
    left, numbers = block(plan, name), np.arange(*bounds(name, plan.distinct))

    def pairs() -> Iterator[Pairs]:
        whole = dense_self_pairs((left, left), least, most=len(left) ** 2)
        assert whole is not None
        yield from in_numbers([whole], numbers, numbers)
        for later in plan.blocks[int(name) + 1 :]:
            others = dense_pairs(left, block(plan, later), least, reduce=True)
            yield from in_numbers([others], numbers, np.arange(*bounds(later, plan.distinct)))

    return {"links": write_links(plan.file("links_all", name, "links"), pairs())}
