"""All pairs of sparse vectors with a dot product from a threshold on, by prefix filtering.

Bayardo, Ma and Srikant 2007, "Scaling up all pairs similarity search". Columns are ordered from the most to the least
frequent one. The first entries of a row, as long as they have at most norm t / 2B, are its common part c, the others
its rare part r; B is the largest norm of a row. Two rows that share columns in the common part of either alone have a
dot product of at most t / 2. So the rare parts of any two rows x and y with ⟨x, y⟩ >= t share a column, and

    ⟨x, y⟩ <= ⟨r_x, r_y⟩ + B max(|c_x|, |c_y|)

Products of rare parts are few, and only pairs whose bound reaches t are compared in full. Nothing is approximate.

Shape letters: n rows, D columns, L pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.grouping import Floats, Ints, row_dots
from twicetold.neighbours.parallel import in_threads

WORK = 10_000_000  # products of entries that a block may need (some hundred MB)
WORTH, SHARE = 0.5, 0.4  # products for each pair of rows, and of all products; with more, comparing all rows costs less
COMMON = 0.5  # share of the threshold that the common part may add
ROUNDING = 1e-5  # of float32 sums


def pairs_above(rows: Any, threshold: float, *, most: int) -> tuple[Ints, Ints, Floats] | None:
    """The pairs i < j with ⟨row_i, row_j⟩ >= threshold, and their dot products.

    Args:
        rows: (n, D) CSR.
        threshold: above 0.
        most: of these pairs.

    Returns:
        The earlier rows, the later ones and the dot products, each (L,); None if there are more than `most` pairs, or
        if so many columns are shared that comparing all rows costs less.
    """
    count = rows.shape[0]
    longest = float(np.sqrt(max(_squares(rows).max(initial=0.0), 1e-12)))
    rare, common = _parts(rows, COMMON * threshold / longest)
    work = rare.astype(bool).astype(np.float64) @ np.bincount(rare.indices, minlength=rare.shape[1])
    every = float((np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.float64) ** 2).sum())
    if work.sum() > WORTH * count**2 + SHARE * every:
        return None
    block = np.floor(np.cumsum(work) / WORK).astype(np.int64)
    starts = np.append(np.flatnonzero(np.append(True, np.diff(block) > 0)), count)

    def compare(number: int) -> tuple[Ints, Ints, Floats]:
        start, stop = int(starts[number]), int(starts[number + 1])
        near = (rare[start:stop] @ rare[start:].T).tocoo()
        left, right = near.row + start, near.col + start
        bound = near.data + longest * np.maximum(common[left], common[right])
        keep = (right > left) & (bound >= threshold - ROUNDING)
        left, right = left[keep].astype(np.int64), right[keep].astype(np.int64)
        dots = row_dots(rows, left, rows, right)
        found = dots >= threshold
        return left[found], right[found], dots[found]

    parts, total = [], 0
    for part in in_threads(compare, len(starts) - 1):
        total += len(part[0])
        if total > most:
            return None
        parts.append(part)
    left, right, dots = (np.concatenate(side) for side in zip(*parts, strict=True))
    return left, right, dots


def _parts(rows: Any, bound: float) -> tuple[Any, Floats]:
    """The rare parts as CSR, and the (n,) norms of the common parts."""
    number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    frequency = np.bincount(rows.indices, minlength=rows.shape[1])
    order = np.lexsort((rows.indices, -frequency[rows.indices], number))
    square = rows.data[order].astype(np.float64) ** 2
    total = np.cumsum(square)
    before = np.append(0.0, total)[rows.indptr[:-1]]
    is_common: NDArray[np.bool_] = total - before[number] <= bound**2
    shape, kept = rows.shape, order[~is_common]
    rare = sparse.csr_matrix((rows.data[kept], (number[~is_common], rows.indices[kept])), shape=shape)
    return rare, np.sqrt(np.bincount(number[is_common], weights=square[is_common], minlength=shape[0]))


def _squares(rows: Any) -> Floats:
    return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
