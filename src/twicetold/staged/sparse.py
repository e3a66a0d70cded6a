"""Stages of sparse vectors: `terms` by which they meet, `scatter_terms` to ranges of these, and `links_terms`.

Ranges of terms, from the rarest on, take the place of cells. As in `neighbours.joining`, the most frequent terms of a
row are its common part, as long as they have at most norm 0.8 t / B; B is the largest norm. Any two rows with ⟨x, y⟩ >=
t share a term in the rare parts of both, so the rarest term that they share is in both. A row goes to each range in
which it has a rare term, and the pair is met in the range r of the rarest shared term. There are no shared terms in
rarer ranges, so with the entries x_r in the range and x_> in more frequent ones,

    ⟨x, y⟩ <= ⟨x_r, y_r⟩ + |x_>| |y_>|

leaves few pairs, which are compared in full. Nothing is approximate.

Shape letters: n rows, D terms, e entries of rows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.dense_joining import Found
from twicetold.neighbours.grouping import Floats, Ints, row_dots
from twicetold.neighbours.joining import COMMON
from twicetold.staged.arrays import Arrays, in_numbers, write_arrays, write_links
from twicetold.staged.plan import Plan, bounds
from twicetold.staged.vectors import block

ROUNDING = 1e-5  # of float32 sums
FULL, FEWEST_FULL = 0.5, 16  # share of rows that have a term, and number of such terms, of vectors that are half dense
WORK = 10_000_000  # products of entries that a block may need (some hundred MB)


def terms(plan: Plan, name: str) -> dict[str, Any]:
    """Ranges of terms, the rarest first, which replace cells for sparse vectors.

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


def require_sparse(frequency: Ints, texts: int) -> None:
    """Check that no terms are in most texts, as the numbers of dense vectors are.

    Args:
        frequency: (D,) texts with each term.
        texts: how many there are.

    Raises:
        ValueError: if some are.
    """
    if int((frequency > FULL * texts).sum()) >= FEWEST_FULL:
        raise ValueError(
            "this model has dense vectors beside sparse ones, so most texts share a term and no index of terms helps: "
            "give a model of one kind, dense such as static or lexical such as tfidf_letters"
        )


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
    range_of_term = np.empty(len(order), np.int64)
    range_of_term[order] = np.minimum(np.floor(share * ranges * (1 - 1e-12)), ranges - 1).astype(np.int64)
    return range_of_term


def in_common_part(rows: Any, frequency: Ints, bound: float) -> NDArray[np.bool_]:
    """(e,) whether each entry of (n, D) CSR rows is one of the most frequent, of norm `bound` at most."""
    number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -frequency[rows.indices], number))
    total = np.cumsum(rows.data[order].astype(np.float64) ** 2)
    before = np.append(0.0, total)[rows.indptr[:-1]]
    common = np.empty(len(order), bool)
    common[order] = total - before[number] <= bound**2
    return common


def terms_in(plan: Plan) -> tuple[Ints, Ints, float]:
    """(D,) frequency and range of each term, and the norm of a common part."""
    arrays = Arrays(plan.file("terms", "all", "terms"))
    return arrays.read("frequency"), arrays.read("range"), float(arrays.read("bound")[0])


def _squares(rows: Any) -> Floats:
    return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()


def scatter_terms(plan: Plan, name: str) -> dict[str, Any]:
    """The sparse vectors of a block to the ranges in which they have rare terms: one file, by range.

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


def links_terms(plan: Plan, name: str) -> dict[str, Any]:
    """The links between rows that share a rare term of a range; see `terms`.

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

    def pairs() -> Iterator[Found]:
        nonlocal compared
        for start, stop in _blocks(inside):
            near = (inside[start:stop] @ inside[start:].T).tocoo()
            left, right = near.row + start, near.col + start
            later = right > left
            compared += int(later.sum())
            keep = later & (near.data + norm[left] * norm[right] >= least - ROUNDING)
            left, right = left[keep].astype(np.int64), right[keep].astype(np.int64)
            dots = row_dots(rows, left, rows, right)
            reaches = dots >= least
            yield from in_numbers([(left[reaches], right[reaches], dots[reaches])], number, number)

    links = write_links(plan.file("links_terms", name, "links"), pairs())
    return {"links": links, "compared": compared}


def _rows(plan: Plan, shard: int) -> tuple[Ints, Any]:
    """Numbers and (k, D) CSR vectors of the texts of a range."""
    numbers, parts = [np.empty(0, np.int64)], []
    for name in plan.blocks:
        file = Arrays(plan.file("scatter_terms", name, "rows"))
        begin, end = (int(place) for place in file.starts[shard : shard + 2])
        entries = file.read("entries", begin, end + 1)
        entries_of_rows = (int(entries[0]), int(entries[-1]))
        content = (file.read("data", *entries_of_rows), file.read("indices", *entries_of_rows), entries - entries[0])
        numbers.append(file.read("number", begin, end))
        parts.append(sparse.csr_matrix(content, (end - begin, plan.width)))
    return np.concatenate(numbers), sparse.vstack(parts, format="csr")


def _only(rows: Any, mask: Any) -> Any:
    """CSR rows with some of their entries."""
    before = np.append(0, np.cumsum(mask))
    return sparse.csr_matrix((rows.data[mask], rows.indices[mask], before[rows.indptr]), rows.shape)


def _blocks(rows: Any) -> Iterator[tuple[int, int]]:
    """First and last row of blocks that need about equal numbers of products."""
    work = rows.astype(bool).astype(np.float64) @ np.bincount(rows.indices, minlength=rows.shape[1])
    block = np.floor(np.cumsum(work) / WORK).astype(np.int64)
    starts = np.append(np.flatnonzero(np.append(True, np.diff(block) > 0))[: len(block)], len(block))
    yield from zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
