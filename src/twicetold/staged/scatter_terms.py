"""`scatter_terms`: the sparse vectors of a block to the ranges in which they have rare terms: one file, by range."""

from typing import Any

import numpy as np

from twicetold.staged.arrays import write_arrays
from twicetold.staged.encode import block
from twicetold.staged.plan import Plan, bounds
from twicetold.staged.terms import in_common_part, terms_in


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Sort a block.

    Returns:
        Number of copies of rows, one for each range.
    """
    rows = block(plan, name)
    frequency, of_term, bound = terms_in(plan)
    rare = ~in_common_part(rows, frequency, bound)
    number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[rare]
    goes, text = np.divmod(np.unique(of_term[rows.indices[rare]] * rows.shape[0] + number), rows.shape[0])
    copied = rows[text]
    content = {
        "starts": np.append(0, np.cumsum(np.bincount(goes, minlength=plan.shards))),
        "number": text + bounds(name, plan.distinct)[0],
        "entries": copied.indptr.astype(np.int64),
        "indices": copied.indices.astype(np.int32),
        "data": copied.data,
    }
    write_arrays(plan.file("scatter_terms", name, "rows"), content)
    return {"copies": len(text)}
