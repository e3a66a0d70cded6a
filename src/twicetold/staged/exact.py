"""`exact`: rows whose folded texts have equal hashes, of a range of hashes over all parts."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.plan import Plan


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find the rows of a bucket that are copies of an earlier one.

    Returns:
        Their number.
    """
    rows, high, low = (np.concatenate(each) for each in zip(*_slices(plan, int(name)), strict=True))
    order = np.lexsort((rows, low, high))
    rows, high, low = rows[order], high[order], low[order]
    is_first = np.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1]))[: len(rows)]
    first = rows[is_first][np.cumsum(is_first) - 1]
    copies = np.flatnonzero(~is_first)
    copies = copies[np.argsort(rows[copies])]
    write_arrays(plan.file("exact", name, "copies"), {"row": rows[copies], "first": first[copies]})
    return {"copies": len(copies)}


def _slices(plan: Plan, bucket: int) -> Iterator[tuple[Ints, Any, Any]]:
    step = -(-(2**64) // plan.buckets)
    least, most = bucket * step, min((bucket + 1) * step, 2**64) - 1
    for part, offset in zip(plan.names, plan.offsets[:-1], strict=True):
        found = Arrays(plan.file("read", part, "keys"))
        high = found.mapped("high")
        start = int(np.searchsorted(high, np.uint64(least)))
        stop = int(np.searchsorted(high, np.uint64(most), side="right"))
        yield tuple(  # type: ignore[misc]
            found.read(each, start, stop) + (offset if each == "row" else 0) for each in ("row", "high", "low")
        )


def copies_in(plan: Plan, start: int, stop: int) -> tuple[Ints, Ints]:
    """The rows from `start` to `stop` that are copies, ascending, and the first row of the same text for each."""
    parts = []
    for bucket in range(plan.buckets):
        found = Arrays(plan.file("exact", f"{bucket:06}", "copies"))
        rows = found.mapped("row")
        begin, end = (int(place) for place in np.searchsorted(rows, (start, stop)))
        parts.append((found.read("row", begin, end), found.read("first", begin, end)))
    row, first = (np.concatenate(side) for side in zip(*parts, strict=True))
    order = np.argsort(row)
    return row[order], first[order]
