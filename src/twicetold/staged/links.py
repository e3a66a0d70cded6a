"""`links`: the links in the cells of a shard, and files of links.

Shape letters: R texts of the shard, V visits.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold.staged.arrays import Arrays
from twicetold.staged.cells import Pairs, links_between
from twicetold.staged.centres import centres_in
from twicetold.staged.plan import Plan

LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("dot", "<f8")])
CHUNK = 1 << 20  # links that are read at once


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find the links of a shard.

    Returns:
        Their number, each pair once for each cell in which it was met; and how many pairs were compared.
    """
    shard = int(name)
    number, own, visits, cell, vectors = _shard(plan, shard)
    of_cell = centres_in(plan)[1]
    counts = np.diff(visits)
    order = np.argsort(cell, kind="stable")
    text = np.repeat(np.arange(len(number)), counts)[order]
    ends = np.searchsorted(cell[order], np.arange(len(of_cell) + 1))
    compared = 0

    def found() -> Iterator[Pairs]:
        nonlocal compared
        for each in np.flatnonzero(of_cell == shard).tolist():
            here = text[ends[each] : ends[each + 1]]
            inside = own[here] == each
            members, guests = here[inside], here[~inside]
            compared += len(members) * (len(members) - 1) // 2 + len(members) * len(guests)
            mine, its = vectors[members], number[members]
            yield from links_between(mine, its, mine, its, plan.known.least - plan.known.constant, same=True)
            theirs = vectors[guests]
            yield from links_between(theirs, number[guests], mine, its, plan.known.least - plan.known.constant)

    links = write_links(plan.file("links", name, "links"), found())
    return {"links": links, "compared": compared}


def _shard(plan: Plan, shard: int) -> tuple[NDArray[Any], ...]:
    """Numbers, own cells, first visits, visited cells and vectors of the texts of a shard."""
    files = [Arrays(plan.file("scatter", block, "rows")) for block in plan.blocks]
    total = sum(int(file.starts[shard + 1] - file.starts[shard]) for file in files)
    number, own = np.empty(total, np.int64), np.empty(total, np.int32)
    counts, vectors, cells = np.empty(total, np.int64), np.empty((total, plan.width), np.float32), []
    start = 0
    for file in files:
        begin, end = (int(place) for place in file.starts[shard : shard + 2])
        stop = start + end - begin
        number[start:stop], own[start:stop] = file.read("number", begin, end), file.read("own", begin, end)
        visits = file.read("visits", begin, end + 1)
        counts[start:stop] = np.diff(visits)
        cells.append(file.read("cell", int(visits[0]), int(visits[-1])))
        vectors[start:stop] = file.read("vectors", begin, end)
        start = stop
    return number, own, np.append(0, np.cumsum(counts)), np.concatenate(cells), vectors


def write_links(path: Path, found: Iterable[Pairs]) -> int:
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
