"""Candidates: pairs of texts that may match, as each text's nearest ones by letters and words, and by vectors.

    c(a, b) = 0.7 ⟨letters_a, letters_b⟩ + 0.3 ⟨words_a, words_b⟩

The nearest by c come from one sparse product. A text asks by its heaviest terms only, those that make up most of its
squared length; terms that are in more texts than `COMMON` are not asked for, unless a text has no others. What is found
is ranked by the whole of c. The nearest by vectors are exact in small files, and those of an inverted file beyond.

Shape letters: N texts, P pairs, K nearest of a text, D dimensions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.matching.terms import Csr, Terms
from twicetold.neighbours.nearest import NOBODY, Index, row_dots

LETTERS = 0.7  # weight of letters beside words, as of the default of dedupe
NEAREST = 10  # of a text, by either way
COMMON = 300  # texts of a term that is asked for
ASKED = 0.7  # of a text's squared length
EXACT = 8_000  # texts whose vectors are all compared
PROBES = 5  # cells of the inverted file that a text looks into
LEAST = 0.15  # similarity by letters and words of a candidate by these
LEAST_VECTORS = 0.5  # cosine of a candidate by vectors
BLOCK = 1_000  # texts that ask at a time
SHARE = 0.4  # of the similarity of a text's nearest, below which nothing is ranked
Ends: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Pairs:
    """Pairs of N texts, each once, ordered.

    Args:
        count: N.
        left: (P,) the earlier text.
        right: (P,) the later one.
        lexical: (P,) similarity c.
        cosine: (P,) of vectors; None without them.
    """

    count: int
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    lexical: NDArray[np.float32]
    cosine: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.left)


def candidates(
    terms: Terms,
    vectors: NDArray[np.float32] | None = None,
    *,
    nearest: int = NEAREST,
    split: int | None = None,
    among: Callable[[Csr], Ends] | None = None,
) -> Pairs:
    """Return pairs of texts of one table, or across two; those that have neither similarity are left out.

    Args:
        terms: of N texts, those of the first table before those of the second.
        vectors: (N, D) of length 1.
        nearest: K.
        split: number of texts of the first table; None if there is one.
        among: a function from (N, T) rows as of `lexical_rows` to the pairs to take; None: the nearest texts.
    """
    both = lexical_rows(terms)
    left, right = nearest_pairs(both, vectors, nearest=nearest, split=split) if among is None else among(both)
    lexical = pair_dots(both, left, right)
    cosine = None if vectors is None else pair_dots(vectors, left, right)
    keep = lexical >= LEAST
    if cosine is not None:
        keep |= cosine >= LEAST_VECTORS
    return Pairs(both.shape[0], left[keep], right[keep], lexical[keep], None if cosine is None else cosine[keep])


def nearest_pairs(
    both: Csr, vectors: NDArray[np.float32] | None, *, nearest: int = NEAREST, split: int | None = None
) -> Ends:
    """Return numbers of the texts of each pair; arguments as of `candidates`, with (N, T) rows as of `lexical_rows`."""
    count = both.shape[0]
    found = [_by_terms(both, nearest, split)]
    if vectors is not None:
        found.append(_by_vectors(vectors, nearest, split))
    cells = np.sort(np.concatenate([np.minimum(a, b) * count + np.maximum(a, b) for a, b in found]))
    left, right = np.divmod(cells[np.diff(cells, prepend=-1) > 0], count)
    return left, right


def lexical_rows(terms: Terms) -> Csr:
    """Return (N, T) rows whose dot products are c."""
    scaled = [terms.letters * np.float32(LETTERS**0.5), terms.words * np.float32((1 - LETTERS) ** 0.5)]
    return sparse.csr_array(sparse.hstack(scaled, format="csr"))


def pair_dots(rows: Any, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return (P,) dot product of two of the rows, dense or CSR, for each pair."""
    return row_dots(rows, left, rows, right).astype(np.float32)


def descending_in(group: NDArray[np.int64], value: NDArray[np.float32]) -> NDArray[np.int64]:
    """Order by group, then by value, the largest first; ties as they come.

    One sort of integers, several times faster than `np.lexsort`: the bits of a float are ordered as its absolute value.

    Args:
        group: numbers from 0 to 2³¹.
        value: float32, none NaN.

    Examples:
        >>> import numpy as np
        >>> from twicetold.matching.candidates import descending_in
        >>> descending_in(np.array([1, 0, 1, 1]), np.array([-1, 5, 2, 2], np.float32)).tolist()
        [1, 2, 3, 0]
    """
    bits = (value + np.float32(0)).view(np.int32).astype(np.int64)  # + 0: -0 is 0
    ascending = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    return np.argsort((group << 32) - ascending, kind="stable")


def _sides(count: int, split: int | None) -> list[tuple[slice, slice]]:
    """Return indices of queries and of their neighbours."""
    if split is None:
        return [(slice(0, count), slice(0, count))]
    return [(slice(0, split), slice(split, count)), (slice(split, count), slice(0, split))]


def _by_terms(both: Csr, nearest: int, split: int | None) -> Ends:
    """Return indices of queries and of their neighbours."""
    asking, rows, found = _heaviest(both), [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for asks, base in _sides(both.shape[0], split):
        columns = both[base].T.tocsr()
        for start in range(asks.start, asks.stop, BLOCK):
            product = asking[start : min(start + BLOCK, asks.stop)] @ columns
            row = np.repeat(np.arange(start, start + product.shape[0]), np.diff(product.indptr))
            column = product.indices.astype(np.int64) + base.start
            chosen = _largest(product.indptr, row, column, product.data, nearest)
            rows.append(row[chosen])
            found.append(column[chosen])
    return np.concatenate(rows), np.concatenate(found)


def _largest(
    indptr: NDArray[np.integer],
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    value: NDArray[np.float32],
    nearest: int,
) -> NDArray[np.int64]:
    """Return positions of the largest values of each row but itself, ties to the lower column."""
    value = np.where(row == column, np.float32(0), value)
    filled = np.flatnonzero(np.diff(indptr))
    best = np.zeros(len(indptr) - 1, np.float32)
    if len(filled):
        best[filled] = np.maximum.reduceat(value, indptr[filled])
    keep = np.flatnonzero((value > 0) & (value >= SHARE * np.repeat(best, np.diff(indptr))))
    keep = keep[np.argsort(column[keep], kind="stable")] if len(keep) else keep
    order = keep[descending_in(row[keep], value[keep])]
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    return order[place < nearest]


def _heaviest(both: Csr) -> Csr:
    """Return the heaviest entries of each row that are not common, up to `ASKED` of its squared length."""
    texts = np.bincount(both.indices, minlength=both.shape[1])[both.indices]
    row = np.repeat(np.arange(both.shape[0]), np.diff(both.indptr))
    square = both.data**2
    common = texts > COMMON
    order = descending_in(2 * row + common, square)  # columns of a row ascend, and ties stay in their order
    before = np.cumsum(square[order]) - square[order]
    first = before[np.minimum(both.indptr[:-1], max(len(before) - 1, 0))] if len(before) else before
    within = before - first[row[order]]
    rank = np.arange(len(order)) - both.indptr[:-1][row[order]]
    keep = np.zeros(len(order), bool)
    keep[order] = (within < ASKED) & (~common[order] | (rank < 3))
    kept = np.flatnonzero(keep)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=both.shape[0]))])
    return sparse.csr_array((both.data[kept], both.indices[kept], indptr), shape=both.shape)


def _by_vectors(vectors: NDArray[np.float32], nearest: int, split: int | None) -> Ends:
    """Return indices of queries and of their neighbours."""
    rows, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for asks, base in _sides(len(vectors), split):
        size = base.stop - base.start
        if not size:
            continue
        index = Index(vectors[base], approximate=size > EXACT, probes=PROBES)
        near = index.search(vectors[asks], k=min(nearest + (split is None), size)).index
        row, column = np.repeat(np.arange(asks.start, asks.stop), near.shape[1]), near.ravel()
        keep = (column != NOBODY) & (row != column + base.start)
        rows.append(row[keep])
        found.append(column[keep] + base.start)
    return np.concatenate(rows), np.concatenate(found)
