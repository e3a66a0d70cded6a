"""`links`: the links in the cells of a shard, and files of links.

Shape letters: L links of a chunk.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold.neighbours.cells import Cells, links_in
from twicetold.neighbours.dense_joining import Dense, Found
from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays
from twicetold.staged.centres import centres_in
from twicetold.staged.plan import Plan

LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("dot", "<f8")])
CHUNK = 1 << 20  # links that are read at once


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find the links of a shard.

    Returns:
        Their number, a pair as often as it was met; and how many pairs were compared.
    """
    number, cells, vectors = _shard(plan, int(name))
    least = plan.known.least - plan.known.constant
    found = in_numbers(links_in(cells, (vectors, vectors), least), number, number)
    compared = int((np.diff(cells.start) * np.diff(cells.visit)).sum())
    return {"links": write_links(plan.file("links", name, "links"), found), "compared": compared}


def in_numbers(found: Iterable[Found], left: Ints, right: Ints) -> Iterator[Found]:
    """Links between rows as those between the texts of these numbers, the lower one first; none of a text to itself."""
    for one, other, dot in found:
        low, high = np.minimum(left[one], right[other]), np.maximum(left[one], right[other])
        apart = low < high
        yield low[apart], high[apart], dot[apart]


def _shard(plan: Plan, shard: int) -> tuple[Ints, Cells, Dense]:
    """Numbers of the texts of a shard, its cells, and vectors."""
    files = [Arrays(plan.file("scatter", block, "rows")) for block in plan.blocks]
    total = sum(int(file.starts[shard + 1] - file.starts[shard]) for file in files)
    number, own = np.empty(total, np.int64), np.empty(total, np.int32)
    counts, vectors, parts = np.empty(total, np.int64), np.empty((total, plan.width), np.float32), []
    start = 0
    for file in files:
        begin, end = (int(place) for place in file.starts[shard : shard + 2])
        here = slice(start, start + end - begin)
        number[here], own[here] = file.read("number", begin, end), file.read("own", begin, end)
        visits = file.read("visits", begin, end + 1)
        counts[here] = np.diff(visits)
        parts.append(file.read("cell", int(visits[0]), int(visits[-1])))
        vectors[here] = file.read("vectors", begin, end)
        start = here.stop
    cell, visitor = np.concatenate(parts), np.repeat(np.arange(total), counts)
    cells = np.flatnonzero(centres_in(plan)[1] == shard)
    member, order = np.argsort(own, kind="stable"), np.argsort(cell, kind="stable")
    starts, ends = (np.searchsorted(own[member], cells, side) for side in ("left", "right"))
    visits = np.append(np.searchsorted(cell[order], cells), len(cell))
    mine = np.concatenate([member[start:end] for start, end in zip(starts, ends, strict=True)])
    return number, Cells(mine, np.append(0, np.cumsum(ends - starts)), visitor[order], visits), vectors


def write_links(path: Path, found: Iterable[Found]) -> int:
    """Write links to a file as they are found.

    Returns:
        Their number.
    """
    total = 0
    with write_file(path) as temporary, temporary.open("wb") as file:
        for left, right, dot in found:
            links = np.empty(len(left), LINK)
            links["left"], links["right"], links["dot"] = left, right, dot
            links.tofile(file)
            total += len(links)
    return total


def read_links(path: Path, start: int = 0, stop: int | None = None) -> Iterator[NDArray[Any]]:
    """Links of a file, chunk by chunk."""
    stop = path.stat().st_size // LINK.itemsize if stop is None else stop
    for begin in range(start, stop, CHUNK):
        yield np.fromfile(path, LINK, min(CHUNK, stop - begin), offset=begin * LINK.itemsize)
