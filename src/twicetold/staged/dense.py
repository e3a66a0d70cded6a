"""Stages of dense vectors: `centres` of cells, `visits` of texts to these, and `links`.

A shard is a part of the space of vectors that one task looks at: cells next to each other, so that the cells that a
text visits are in few shards. Cells are halved at the median of their first principal component until there are as
many shards as asked for. Shards do not change what is found, cells do. Few texts, or with `exact` all, go by
`links_all`, without cells.

Shape letters: C cells, V visits of texts of a block to cells.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from twicetold.neighbours.cells import PROBES, Cells, centres_of, nearest_centres, sampled
from twicetold.neighbours.dense_join import Dense, Pairs, dense_pairs, dense_self_pairs, pairs_in_cells
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.staged.arrays import block, in_numbers, mapped, of_texts, write_arrays, write_links
from twicetold.staged.plan import Plan, bounds


def centres(plan: Plan, name: str) -> dict[str, Any]:
    """Return cells of dense vectors by k-means of a sample, once, in one process; and which shard has which cells.

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
    """Return (C,) shard of each cell, of about equal weights."""
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


def visits(plan: Plan, name: str) -> dict[str, Any]:
    """Return the cells that the texts of a block visit, by shard, and the own cell of each text.

    Returns:
        V.
    """
    centre, shard = (np.array(mapped(plan, "centres", "all", kind)) for kind in ("centre", "shard"))
    near = nearest_centres(block(plan, name), centre, PROBES)
    cell = near.ravel()
    order = np.argsort(shard[cell], kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(shard[cell], minlength=plan.shards)))
    text = (order // near.shape[1]).astype(np.int32)
    write_arrays(plan, "visits", name, starts=starts, text=text, cell=cell[order], own=near[:, 0])
    return {"visits": len(cell)}


def links(plan: Plan, name: str) -> dict[str, Any]:
    """Return the links in the cells of a shard.

    Returns:
        Their number, a pair as often as it is in a cell.
    """
    number, cells, vectors = _shard(plan, int(name))
    least = plan.decision.threshold - plan.constant
    pairs = in_numbers(pairs_in_cells(cells, (vectors, vectors), least), number, number)
    return {"links": write_links(plan.file("links", name, "links"), pairs)}


def _shard(plan: Plan, shard: int) -> tuple[Ints, Cells, Dense]:
    """Return numbers of the texts of a shard, its cells, and vectors."""
    numbers, own, visitor, cell = [], [], [], []
    total = 0
    for name in plan.blocks:
        visits = slice(*mapped(plan, "visits", name, "starts")[shard : shard + 2])
        texts, its = np.unique(mapped(plan, "visits", name, "text")[visits], return_inverse=True)
        numbers.append(texts.astype(np.int64) + bounds(name, plan.distinct)[0])
        own.append(mapped(plan, "visits", name, "own")[texts])
        visitor.append(its + total)
        cell.append(mapped(plan, "visits", name, "cell")[visits])
        total += len(texts)
    cells = np.flatnonzero(mapped(plan, "centres", "all", "shard") == shard)
    of_shard = Cells.of(cells, *map(np.concatenate, (own, visitor, cell)))
    number = np.concatenate(numbers)
    return number, of_shard, of_texts(plan, "vectors", number)


def links_all(plan: Plan, name: str) -> dict[str, Any]:
    """Yield the links of a block of dense vectors with itself and with all later blocks, without cells.

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
