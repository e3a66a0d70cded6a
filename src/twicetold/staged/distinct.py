"""`distinct`: which rows are the first of their text; those are numbered, and known by their numbers from here on."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays
from twicetold.staged.bits import Bits
from twicetold.staged.plan import BLOCK, Plan, numbered
from twicetold.staged.read import GROUP


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Mark them.

    Returns:
        Their number; and of each block of distinct texts the first row, the one after the last, and a digest of which
        rows between these it has.
    """
    copies = [Arrays(plan.file("exact", bucket, "copies")).read("row") for bucket in numbered(plan.buckets)]
    firsts = Bits.all_but(plan.rows, np.concatenate(copies))
    firsts.write(plan.file("distinct", name, "bits"))
    return {"distinct": len(firsts), "blocks": list(_blocks(firsts))}


def _blocks(firsts: Bits) -> Iterator[list[Any]]:
    for start in range(0, len(firsts), BLOCK):
        rows = firsts.numbers(np.arange(start, min(start + BLOCK, len(firsts))))
        yield [int(rows[0]), int(rows[-1]) + 1, hashlib.sha256((rows - rows[0]).tobytes()).hexdigest()[:16]]


def firsts_of(plan: Plan) -> Bits:
    """The rows that are the first of their text."""
    return Bits.read(plan.file("distinct", "all", "bits"))


def texts_of_rows(plan: Plan, rows: Ints) -> list[str]:
    """Texts of some rows, which ascend."""
    found: list[str] = []
    ends = np.searchsorted(rows, plan.offsets)
    for number in np.flatnonzero(np.diff(ends)).tolist():
        inside = rows[ends[number] : ends[number + 1]] - plan.offsets[number]
        with pq.ParquetFile(plan.file("read", plan.names[number], "parquet")) as file:
            groups = np.unique(inside // GROUP)
            for start in range(0, len(groups), 8):
                some = groups[start : start + 8]
                here = inside[np.isin(inside // GROUP, some)]
                place = np.searchsorted(some, here // GROUP) * GROUP + here % GROUP
                texts = file.read_row_groups(some.tolist())["text"]
                found += pc.take(texts, place).to_pylist()
    return found
