"""Stages of candidates: `centres` of cells, `visits` of texts to these, `near` by vectors, and `candidates` of a block.

A shard is a part of the space of vectors that one task looks at: cells next to each other, so that the cells that a
text visits are in few shards. Cells are halved at the median of their first principal component until there are as
many shards as asked for. Shards do not change what is found, cells do.

Shape letters: C cells, V visits of texts of a block to cells.
"""

from typing import Any

import numpy as np

from twicetold.matching.candidates import NEAREST, PROBES, keys_of, near_by_terms
from twicetold.neighbours.cells import Cells, Dense, cells_for, centres_of, nearest_centres, sampled
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.nearest import NOBODY, nearest_in
from twicetold.staged.arrays import mapped, write_arrays
from twicetold.staged.filed import asking_rows, vectors_in_files, vocabulary_of
from twicetold.staged.plan import Plan, numbered
from twicetold.staged.term_stages import frequency_of, posted, posting_of

HIT = ("query", "row", "similarity")


def centres(plan: Plan, name: str) -> dict[str, Any]:
    """Return cells of dense vectors by k-means of a sample, once, in one process; and which shard has which cells.

    Returns:
        Number of cells.
    """
    vectors = vectors_in_files(plan)[sampled(plan.distinct)]
    centres = centres_of(vectors, cells_for(plan.distinct))
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
    near = nearest_centres(vectors_in_files(plan)[slice(*plan.bounds(name))], centre, PROBES)
    cell = near.ravel()
    order = np.argsort(shard[cell], kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(shard[cell], minlength=plan.shards)))
    text, rank = np.divmod(order, near.shape[1])
    write_arrays(
        plan,
        "visits",
        name,
        starts=starts,
        text=text.astype(np.int32),
        cell=cell[order],
        own=near[:, 0],
        first=rank == 0,
    )
    return {"visits": len(cell)}


def near(plan: Plan, name: str) -> dict[str, Any]:
    """Find the nearest of each text among the cells of a shard that it visits.

    Returns:
        Their number.
    """
    shard, k = int(name), NEAREST + 1  # a text itself is among them
    number, own, visitor, cell, first = _visits(plan, shard)
    vectors = vectors_in_files(plan)[number]
    cells = np.flatnonzero(mapped(plan, "centres", "all", "shard") == shard)
    visits = (Cells.of(cells, own, visitor[some], cell[some]) for some in (first, ~first))
    found = nearest_in(visits, vectors, vectors, k)  # tiles of a cell begin with its first visitor
    query, rank = np.nonzero(found.index != NOBODY)
    row, similarity = number[found.index[query, rank]], found.similarity[query, rank]
    write_arrays(plan, "near", name, query=number[query], row=row, similarity=similarity)
    return {"near": len(query)}


def _visits(plan: Plan, shard: int) -> tuple[Ints, Ints, Ints, Ints, Any]:
    """Return numbers of the texts of a shard and their own cells; visitors among these, their cells, and if first."""
    columns: list[list[Any]] = [[], [], [], [], []]
    total = 0
    for name in plan.blocks:
        some = slice(*mapped(plan, "visits", name, "starts")[shard : shard + 2])
        texts, its = np.unique(mapped(plan, "visits", name, "text")[some], return_inverse=True)
        cell, first = (mapped(plan, "visits", name, kind)[some] for kind in ("cell", "first"))
        of_block = (
            texts + plan.bounds(name)[0],
            mapped(plan, "visits", name, "own")[texts],
            its + total,
            cell,
            first,
        )
        for column, each in zip(columns, of_block, strict=True):
            column.append(each)
        total += len(texts)
    number, own, visitor, cell, first = map(np.concatenate, columns)
    return number.astype(np.int64), own, visitor, cell, first


def candidates(plan: Plan, name: str) -> dict[str, Any]:
    """Return keys of the texts of a block and the nearest of each, by terms and by vectors.

    Returns:
        Their number.
    """
    start, stop = plan.bounds(name)
    frequency = frequency_of(vocabulary_of(plan))
    asking = asking_rows(plan, name, len(frequency))
    postings = (posting_of(plan, each, len(frequency)) for each in posted(plan))
    keys = [keys_of(*near_by_terms(asking, start, postings, frequency, nearest=NEAREST), plan.distinct)]
    if plan.width:
        hits = []
        for shard in numbered(plan.shards):
            columns = [mapped(plan, "near", shard, kind) for kind in HIT]
            some = slice(*np.searchsorted(columns[0], (start, stop)))
            hits.append(Hits(*(np.array(column[some]) for column in columns)))
        nearest = Hits.joined(hits).nearest(NEAREST + 1)
        other = nearest.query != nearest.row
        keys.append(keys_of(nearest.query[other], nearest.row[other], plan.distinct))
    key = np.unique(np.concatenate(keys))
    write_arrays(plan, "candidates", name, key=key)
    return {"pairs": len(key)}
