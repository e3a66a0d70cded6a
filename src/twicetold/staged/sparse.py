"""Stages of sparse vectors: `terms` by which they meet, `scatter_terms` to ranges of these, and `links_terms`.

Ranges of terms, the rarest first, take the place of cells. As in `neighbours.sparse_join`, the most frequent terms of a
row are its common part, as long as they have at most norm 0.8 t / B; B is the largest norm. Any two rows with ⟨x, y⟩ >=
t share a term in the rare parts of both, so the rarest term that they share is in both. A row goes to each range in
which it has a rare term, and the pair is met in the range r of the rarest shared term. There are no shared terms in
rarer ranges, so with the entries x_r in the range and x_> in more frequent ones,

    ⟨x, y⟩ <= ⟨x_r, y_r⟩ + |x_>| |y_>|

leaves few pairs, which are compared in full. Nothing is approximate.

Shape letters: n rows, D terms, e entries of rows.
"""

from typing import Any

import numpy as np
from scipy import sparse

from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.sparse_join import COMMON, ROUNDING, by_parts, common_entries, only, squared_norms
from twicetold.staged.arrays import Arrays, in_numbers, write_arrays, write_links
from twicetold.staged.plan import Plan, bounds
from twicetold.staged.vectors import block

FULL, FEWEST_FULL = 0.5, 16  # share of rows that have a term, and number of such terms, of vectors that are half dense


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
        longest = max(longest, float(squared_norms(rows).max(initial=0.0)))
    require_sparse(frequency, plan.distinct)
    bound = COMMON * (least - ROUNDING) / longest**0.5
    counts = np.zeros(plan.width, np.int64)
    for each in plan.blocks:
        rows = block(plan, each)
        counts += np.bincount(rows.indices[~common_entries(rows, frequency, bound)], minlength=plan.width)
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


def terms_in(plan: Plan) -> tuple[Ints, Ints, float]:
    """(D,) frequency and range of each term, and the norm of a common part."""
    arrays = Arrays(plan.file("terms", "all", "terms"))
    return arrays.read("frequency"), arrays.read("range"), float(arrays.read("bound")[0])


def scatter_terms(plan: Plan, name: str) -> dict[str, Any]:
    """The sparse vectors of a block to the ranges in which they have rare terms: one file, by range.

    Returns:
        Number of copies of rows, one for each range.
    """
    rows = block(plan, name)
    frequency, of_term, bound = terms_in(plan)
    rare = ~common_entries(rows, frequency, bound)
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
        Their number.
    """
    number, rows = _rows(plan, int(name))
    of_entry = terms_in(plan)[1][rows.indices]
    norm = np.sqrt(squared_norms(only(rows, of_entry > int(name))))

    def of_frequent_terms(left: Ints, right: Ints) -> Floats:
        return np.asarray(norm[left] * norm[right])

    least = plan.known.least - plan.known.constant
    pairs = by_parts(rows, only(rows, of_entry == int(name)), least, [of_frequent_terms])
    return {"links": write_links(plan.file("links_terms", name, "links"), in_numbers(pairs, number, number))}


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
