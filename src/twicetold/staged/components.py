"""`components`: connected components of all links, and the bins of components that are grouped together.

Links are read chunk by chunk. What is held is the component of each text that has a link, some 100 bytes a text, and
one chunk: texts without links and the number of links cost nothing.

Shape letters: K texts with links, L links of a chunk.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.links import read_links
from twicetold.staged.plan import Plan, numbered

OF_LINK = 150  # bytes that grouping holds for a link


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find components.

    Returns:
        Numbers of bins, of components and of links, each link once for each time that it was met; and of the largest
        component the first text, the texts and the links.
    """
    node, root = np.empty(0, np.int64), np.empty(0, np.int64)
    for links in _all(plan):
        node, root = joined(node, root, links["left"], links["right"])
    first, place, texts = np.unique(root, return_inverse=True, return_counts=True)
    counts = np.zeros(len(first), np.int64)
    for links in _all(plan):
        counts += np.bincount(place[np.searchsorted(node, links["left"])], minlength=len(first))
    held = np.cumsum(texts * (4 * plan.width if not plan.sparse else 400) + counts * OF_LINK)
    bins = held // max(1, plan.settings.memory // 2)
    bins = np.unique(bins, return_inverse=True)[1].astype(np.int64)
    write_arrays(plan.file("components", name, "nodes"), {"node": node, "bin": bins[place]})
    largest = int(texts.argmax()) if len(texts) else None
    return {
        "bins": int(bins.max(initial=-1)) + 1,
        "components": len(first),
        "met": int(counts.sum()),
        "largest": None if largest is None else [int(each[largest]) for each in (first, texts, counts)],
    }


def joined(node: Ints, root: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Texts with links, ascending, and the first text of the component of each, after further links."""
    names = np.unique(np.concatenate([node, left, right]))
    one, other = (np.searchsorted(names, np.concatenate(side)) for side in ((node, left), (root, right)))
    codes = components(len(names), one, other)
    return names, names[np.unique(codes, return_index=True)[1]][codes]


def files_of_links(plan: Plan) -> list[tuple[str, Path]]:
    """Names and paths of the files of links that were found."""
    if plan.sparse:
        stage, names = "links_terms", numbered(plan.shards)
    elif plan.cells:
        stage, names = "links", numbered(plan.shards)
    else:
        stage, names = "links_all", plan.blocks
    return [(name, plan.file(stage, name, "links")) for name in names]


def bins_in(plan: Plan) -> tuple[Ints, Ints]:
    """(K,) texts with links, ascending, and the bin of each."""
    found = Arrays(plan.file("components", "all", "nodes"))
    return found.read("node"), found.read("bin")


def _all(plan: Plan) -> Iterator[NDArray[Any]]:
    for _, path in files_of_links(plan):
        yield from read_links(path)
