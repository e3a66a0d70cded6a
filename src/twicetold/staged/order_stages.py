"""Stages of texts: `sort` each block of distinct texts by normal form, and `order`, blocks of all in that order.

A block of the order is cut out of what surely lies around it: every `EVERY`-th key of each sorted block says so.

Shape letters: n texts of a block.
"""

from bisect import bisect_left
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.neighbours.grouping import Ints
from twicetold.normal_form import normal_form
from twicetold.staged.arrays import mapped
from twicetold.staged.filed import mapped_batch, write_batch
from twicetold.staged.plan import Plan, numbered
from twicetold.staged.row_stages import firsts_of, texts_of_rows

EVERY = 256
TEXT = pa.large_string()


def sort(plan: Plan, name: str) -> dict[str, Any]:
    """Sort a block of distinct texts, of equal ones the one that sorts last."""
    number = np.arange(*plan.bounds(name))
    rows = firsts_of(plan).numbers(number)
    for bucket in numbered(plan.buckets):
        copied, last = (mapped(plan, "exact", bucket, kind) for kind in ("copied", "last"))
        place = np.minimum(np.searchsorted(copied, rows), max(len(copied) - 1, 0))
        changed = np.flatnonzero(copied[place] == rows) if len(copied) else np.empty(0, np.int64)
        rows[changed] = last[place[changed]]
    ascending = np.argsort(rows)
    texts = pa.array(texts_of_rows(plan, rows[ascending]), TEXT).take(pa.array(np.argsort(ascending)))
    keys = pa.array(normal_form(texts.to_pylist()), TEXT)
    order = pc.sort_indices(keys)
    write_batch(
        plan, "sort", name, {"key": keys.take(order), "text": texts.take(order), "number": pa.array(number).take(order)}
    )
    return {"texts": len(number)}


def order(plan: Plan, name: str) -> dict[str, Any]:
    """Write a block of all texts in alphabetical order, with their numbers."""
    start, stop = plan.bounds(name)
    runs = [mapped_batch(plan.file("sort", each, "arrow")) for each in plan.blocks]
    marks = sorted(key for run in runs for key in run["key"].take(pa.array(np.arange(0, len(run), EVERY))).to_pylist())
    upper = -(-stop // EVERY) + len(runs)
    first = [_before(run, marks[start // EVERY]) for run in runs]  # at most EVERY texts for each mark before it
    last = [_before(run, marks[upper]) for run in runs] if upper < len(marks) else [*map(len, runs)]
    some = pa.Table.from_batches([run.slice(a, b - a) for run, a, b in zip(runs, first, last, strict=True)])
    some = some.take(pc.sort_indices(some["key"]).slice(start - sum(first), stop - start))
    write_batch(plan, "order", name, {kind: some[kind].combine_chunks() for kind in ("text", "number")})
    return {"texts": stop - start}


def _before(run: pa.RecordBatch, key: str) -> int:
    """Return how many texts of a sorted block come before a key."""
    keys = run["key"]
    return bisect_left(range(len(keys)), key, key=lambda place: keys[place].as_py())


def ordered_texts(plan: Plan, name: str) -> list[str]:
    """Return the texts of a block in alphabetical order."""
    texts: list[str] = mapped_batch(plan.file("order", name, "arrow"))["text"].to_pylist()
    return texts


def order_of(plan: Plan) -> Ints:
    """Return (N,) number of each text in alphabetical order."""
    return np.concatenate(
        [mapped_batch(plan.file("order", name, "arrow"))["number"].to_numpy() for name in plan.blocks]
    )
