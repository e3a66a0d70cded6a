"""`number`: numbers of groups, by the first text of each, and the rows of representatives.

Holds what is said of each text that has a link, some 100 bytes a text.
"""

from typing import Any

import numpy as np

from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.bits import Bits
from twicetold.staged.distinct import firsts_of
from twicetold.staged.plan import Plan, numbered


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Number groups.

    Returns:
        Number of all groups; of those of two or more rows, of rows in these, and of rows of the largest one.
    """
    files = [Arrays(plan.file("group", bin, "groups")) for bin in numbered(plan.bins)]
    kinds = (("node", np.int64), ("first", np.int64), ("representative", np.int64), ("probability", np.float64))
    node, first, representative, probability = (
        np.concatenate([np.empty(0, kind), *(file.read(each) for file in files)]) for each, kind in kinds
    )
    order = np.argsort(node)
    node, first, representative, probability = (each[order] for each in (node, first, representative, probability))
    groups = Bits.all_but(plan.distinct, node[node != first])
    groups.write(plan.file("number", name, "bits"))
    firsts = firsts_of(plan)
    content = {
        "node": node,
        "group": groups.ranks(first),
        "row": firsts.numbers(representative),
        "probability": probability,
    }
    write_arrays(plan.file("number", name, "groups"), content)
    sizes = _sizes(plan, firsts, node, first)
    larger = sizes[sizes > 1]
    return {
        "all": len(groups),
        "groups": len(larger),
        "grouped": int(larger.sum()),
        "largest": int(sizes.max(initial=1)),
    }


def _sizes(plan: Plan, firsts: Bits, node: Ints, first: Ints) -> Ints:
    """Rows of each group that has a link or a copy."""
    copies = [Arrays(plan.file("exact", bucket, "copies")).read("first") for bucket in numbered(plan.buckets)]
    copied, times = np.unique(firsts.ranks(np.concatenate(copies)), return_counts=True)
    text = np.union1d(node, copied)
    rows = np.ones(len(text), np.int64)
    rows[np.searchsorted(text, copied)] += times
    group = text.copy()
    group[np.searchsorted(text, node)] = first
    return np.bincount(np.unique(group, return_inverse=True)[1], weights=rows).astype(np.int64)
