"""`links_terms`: the links between rows that share a rare term of a range; see `terms`.

Shape letters: k rows of the range, D terms.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from twicetold.neighbours.dense_joining import Found
from twicetold.neighbours.grouping import Ints, row_dots
from twicetold.staged.arrays import Arrays
from twicetold.staged.links import in_numbers, write_links
from twicetold.staged.plan import Plan
from twicetold.staged.terms import ROUNDING, terms_in

WORK = 10_000_000  # products of entries that a block may need (some hundred MB)


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find the links of a range.

    Returns:
        Their number, and how many pairs shared a term of the range.
    """
    number, rows = _rows(plan, int(name))
    least = plan.known.least - plan.known.constant
    of_entry = terms_in(plan)[1][rows.indices]
    inside = _only(rows, of_entry == int(name))
    rest = _only(rows, of_entry > int(name))
    norm = np.sqrt(np.asarray(rest.multiply(rest).sum(axis=1), np.float64).ravel())
    compared = 0

    def found() -> Iterator[Found]:
        nonlocal compared
        for start, stop in _blocks(inside):
            near = (inside[start:stop] @ inside[start:].T).tocoo()
            left, right = near.row + start, near.col + start
            later = right > left
            compared += int(later.sum())
            keep = later & (near.data + norm[left] * norm[right] >= least - ROUNDING)
            left, right = left[keep].astype(np.int64), right[keep].astype(np.int64)
            dots = row_dots(rows, left, rows, right)
            there = dots >= least
            yield from in_numbers([(left[there], right[there], dots[there])], number, number)

    links = write_links(plan.file("links_terms", name, "links"), found())
    return {"links": links, "compared": compared}


def _rows(plan: Plan, shard: int) -> tuple[Ints, Any]:
    """Numbers and (k, D) CSR vectors of the texts of a range."""
    numbers, parts = [np.empty(0, np.int64)], []
    for name in plan.blocks:
        file = Arrays(plan.file("scatter_terms", name, "rows"))
        begin, end = (int(place) for place in file.starts[shard : shard + 2])
        entries = file.read("entries", begin, end + 1)
        here = (int(entries[0]), int(entries[-1]))
        content = (file.read("data", *here), file.read("indices", *here), entries - entries[0])
        numbers.append(file.read("number", begin, end))
        parts.append(sparse.csr_matrix(content, (end - begin, plan.width)))
    return np.concatenate(numbers), sparse.vstack(parts, format="csr")


def _only(rows: Any, kept: Any) -> Any:
    """CSR rows with some of their entries."""
    before = np.append(0, np.cumsum(kept))
    return sparse.csr_matrix((rows.data[kept], rows.indices[kept], before[rows.indptr]), rows.shape)


def _blocks(rows: Any) -> Iterator[tuple[int, int]]:
    """First and last row of blocks that need about equal numbers of products."""
    work = rows.astype(bool).astype(np.float64) @ np.bincount(rows.indices, minlength=rows.shape[1])
    block = np.floor(np.cumsum(work) / WORK).astype(np.int64)
    starts = np.append(np.flatnonzero(np.append(True, np.diff(block) > 0))[: len(block)], len(block))
    yield from zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
