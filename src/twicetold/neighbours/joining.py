"""All pairs of sparse vectors with a dot product from a threshold on, by prefix filtering.

Bayardo, Ma and Srikant 2007, "Scaling up all pairs similarity search". Columns are ordered from the most to the least
frequent one. The first entries of a row, as long as they have at most norm 0.8 t / B, are its common part c, the others
its rare part r; B is the largest norm of a row. Two rows that share columns in the common part of either alone have a
dot product of at most 0.8 t. So the rare parts of any two rows x and y with ⟨x, y⟩ >= t share a column, and

    ⟨x, y⟩ <= ⟨r_x, r_y⟩ + B max(|c_x|, |c_y|)

A second bound looks at both rows (as L2AP, Anastasiu and Karypis 2014): before the end of the longer common part, x and
y add at most the product of their norms there. Products of rare parts are few, and only pairs whose bounds reach t are
compared in full. Nothing is approximate.

Shape letters: n rows, D columns, L pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.dense_joining import Found, gathered
from twicetold.neighbours.grouping import Floats, Ints, row_dots
from twicetold.neighbours.parallel import in_threads

WORK = 10_000_000  # products of entries that a block may need (some hundred MB)
WORTH, SHARE = 0.5, 0.4  # products for each pair of rows, and of all products; with more, comparing all rows costs less
COMMON = 0.8  # share of the threshold that the common part may add
FULL, FEWEST_FULL = 0.5, 16  # share of rows that have a term, and number of such terms, of vectors that are half dense
ROUNDING = 1e-5  # of float32 sums
STRIPES = 8  # parts of the rows whose columns are indexed anew
EDGES = 32  # places up to which norms of rows are known


def pairs_above(rows: Any, threshold: float, *, most: int) -> Found | None:
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
    rare, prefixes = _parts(rows, COMMON * threshold / longest)
    common = prefixes.common
    work = rare.astype(bool).astype(np.float64) @ np.bincount(rare.indices, minlength=rare.shape[1])
    every = float((np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.float64) ** 2).sum())
    if work.sum() > WORTH * count**2 + SHARE * every:
        return None
    block = np.floor(np.cumsum(work) / WORK).astype(np.int64)
    starts = np.append(np.flatnonzero(np.append(True, np.diff(block) > 0)), count)

    least = threshold - longest * float(common.max(initial=0.0)) - ROUNDING

    def compare(number: int, first: int, columns: Any) -> Found:
        start, stop = int(starts[number]), int(starts[number + 1])
        near = rare[start:stop] @ columns
        some = np.flatnonzero(near.data >= least)  # most products are too small whatever the common parts are
        left = np.searchsorted(near.indptr, some, side="right") - 1 + start
        right = near.indices[some].astype(np.int64) + first
        bound = near.data[some] + longest * np.maximum(common[left], common[right])
        keep = (right > left) & (bound >= threshold - ROUNDING)
        left, right, bound = left[keep], right[keep], near.data[some][keep]
        keep = bound + prefixes.most(left, right) >= threshold - ROUNDING
        left, right = left[keep], right[keep]
        dots = row_dots(rows, left, rows, right)
        found = dots >= threshold
        return left[found], right[found], dots[found]

    def parts() -> Iterator[Found]:
        for numbers in np.array_split(np.arange(len(starts) - 1), min(STRIPES, len(starts) - 1)):
            first = int(starts[numbers[0]])
            columns = rare[first:].T.tocsr()  # made once for several blocks: it takes as long as one of them
            yield from in_threads(lambda at: compare(int(numbers[at]), first, columns), len(numbers))  # noqa: B023

    return gathered(parts(), most)


@dataclass(frozen=True)
class _Prefixes:
    """Of the n rows, up to which column a row is common, and the norms of its first entries.

    Args:
        common: (n,) norms of the common parts.
        edge: (n,) the first of K places in the order of columns that is not before the end of the common part.
        norm: (n, K) of the entries before each of these places.
    """

    common: Floats
    edge: Ints
    norm: Floats

    def most(self, left: Ints, right: Ints) -> Floats:
        """(L,) what the columns before the rare part of either row add at most to the dot product."""
        edge = np.maximum(self.edge[left], self.edge[right])
        return np.asarray(self.norm[left, edge] * self.norm[right, edge])


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


def _parts(rows: Any, bound: float) -> tuple[Any, _Prefixes]:
    """The rare parts as CSR, and what is known of the common ones."""
    count, width = rows.shape
    number = np.repeat(np.arange(count), np.diff(rows.indptr))
    frequency = np.bincount(rows.indices, minlength=width)
    rank = np.empty(width, np.int64)
    rank[np.lexsort((np.arange(width), -frequency))] = np.arange(width)
    order = np.lexsort((rank[rows.indices], number))
    place, square = rank[rows.indices[order]], rows.data[order].astype(np.float64) ** 2
    total = np.cumsum(square)
    before = np.append(0.0, total)[rows.indptr[:-1]]
    is_common: NDArray[np.bool_] = total - before[number] <= bound**2
    shape, kept = rows.shape, order[~is_common]
    rare = sparse.csr_matrix((rows.data[kept], (number[~is_common], rows.indices[kept])), shape=shape)
    common = np.sqrt(np.bincount(number[is_common], weights=square[is_common], minlength=count))
    end = np.full(count, width)  # of the common part
    np.minimum.at(end, number[~is_common], place[~is_common])
    edges = np.unique(np.append(np.quantile(end, np.linspace(0, 1, EDGES), method="higher"), width).astype(np.int64))
    at = number * (len(edges) + 1) + np.searchsorted(edges, place, side="right")
    squares = np.bincount(at, weights=square, minlength=count * (len(edges) + 1)).reshape(count, -1)
    return rare, _Prefixes(common, np.searchsorted(edges, end), np.sqrt(np.cumsum(squares[:, :-1], axis=1)))


def _squares(rows: Any) -> Floats:
    return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
