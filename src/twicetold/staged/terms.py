"""`terms`: what takes the place of cells for sparse vectors: ranges of terms, from the rarest on.

As in `neighbours.joining`, the most frequent terms of a row are its common part, as long as they have at most norm
0.8 t / B; B is the largest norm. Any two rows with ⟨x, y⟩ >= t share a term in the rare parts of both, so the rarest
term that they share is in both. A row goes to each range in which it has a rare term, and the pair is met in the range
r of the rarest shared term. There are no shared terms in rarer ranges, so with the entries x_r in the range and x_> in
more frequent ones,

    ⟨x, y⟩ <= ⟨x_r, y_r⟩ + |x_>| |y_>|

leaves few pairs, which are compared in full. Nothing is approximate.

Shape letters: n rows, D terms, e entries of rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.joining import COMMON, require_sparse
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.encode import block
from twicetold.staged.plan import Plan

ROUNDING = 1e-5  # of float32 sums


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Count terms and choose ranges.

    Returns:
        Copies of rows that ranges will get, at most.

    Raises:
        ValueError: if the threshold is not above 0, or `require_sparse` does.
    """
    least = plan.known.least - plan.known.constant
    if least <= ROUNDING:
        raise ValueError(f"expected a threshold above a similarity of 0 for sparse vectors, got {least:.3g}: raise it")
    frequency, longest = np.zeros(plan.width, np.int64), 1e-12
    for each in plan.blocks:
        rows = block(plan, each)
        frequency += np.bincount(rows.indices, minlength=plan.width)
        longest = max(longest, float(_squares(rows).max(initial=0.0)))
    require_sparse(frequency, plan.distinct)
    bound = COMMON * (least - ROUNDING) / longest**0.5
    counts = np.zeros(plan.width, np.int64)
    for each in plan.blocks:
        rows = block(plan, each)
        counts += np.bincount(rows.indices[~in_common_part(rows, frequency, bound)], minlength=plan.width)
    content = {
        "frequency": frequency,
        "range": ranges_of(frequency, counts, plan.shards),
        "bound": np.array([bound]),
    }
    write_arrays(plan.file("terms", name, "terms"), content)
    return {"copies": int(counts.sum()), "pairs": float((counts.astype(np.float64) ** 2).sum() / 2)}


def ranges_of(frequency: Ints, counts: Ints, ranges: int) -> Ints:
    """(D,) range of each term, from the rarest on, with about as many rows and products in each.

    Args:
        frequency: (D,) of terms.
        counts: (D,) of them in rare parts.
        ranges: how many.
    """
    order = np.lexsort((np.arange(len(frequency)), -frequency))[::-1]  # that of common parts, also of equal frequencies
    rows = np.cumsum(counts[order].astype(np.float64))
    pairs = np.cumsum(counts[order].astype(np.float64) ** 2)
    share = (rows / max(1.0, rows[-1]) + pairs / max(1.0, pairs[-1])) / 2
    found = np.empty(len(order), np.int64)
    found[order] = np.minimum(np.floor(share * ranges * (1 - 1e-12)), ranges - 1).astype(np.int64)
    return found


def in_common_part(rows: Any, frequency: Ints, bound: float) -> NDArray[np.bool_]:
    """(e,) whether each entry of (n, D) CSR rows is one of the most frequent, of norm `bound` at most."""
    number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -frequency[rows.indices], number))
    total = np.cumsum(rows.data[order].astype(np.float64) ** 2)
    before = np.append(0.0, total)[rows.indptr[:-1]]
    found = np.empty(len(order), bool)
    found[order] = total - before[number] <= bound**2
    return found


def terms_in(plan: Plan) -> tuple[Ints, Ints, float]:
    """(D,) frequency and range of each term, and the norm of a common part."""
    found = Arrays(plan.file("terms", "all", "terms"))
    return found.read("frequency"), found.read("range"), float(found.read("bound")[0])


def _squares(rows: Any) -> Floats:
    return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
