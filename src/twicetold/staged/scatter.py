"""`scatter`: the vectors of a block to the shards whose cells they visit: one file, sorted by shard.

Shape letters: b texts of the block, p visited cells, R copies of texts, one for each shard, V visits.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from twicetold.neighbours.cells import PROBES, nearest_centres
from twicetold.neighbours.dense_joining import Dense
from twicetold.staged.arrays import Pieces, write_arrays
from twicetold.staged.centres import centres_in
from twicetold.staged.encode import block
from twicetold.staged.plan import Plan, bounds

STEP = 1 << 14  # vectors that are copied at once


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Sort a block.

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
