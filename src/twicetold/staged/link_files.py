"""Files of links.

Shape letters: L links of a chunk.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold.neighbours.dense_join import Pairs
from twicetold.neighbours.grouping import Ints

LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("dot", "<f8")])
CHUNK = 1 << 20  # links that are read at once


def in_numbers(found: Iterable[Pairs], left: Ints, right: Ints) -> Iterator[Pairs]:
    """Links between rows as those between the texts of these numbers, the lower one first; none of a text to itself."""
    for one, other, dot in found:
        low, high = np.minimum(left[one], right[other]), np.maximum(left[one], right[other])
        apart = low < high
        yield low[apart], high[apart], dot[apart]


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
