"""Candidates: pairs of texts that may match, as each text's nearest ones by letters and words, and by vectors.

    c(a, b) = 0.7 ⟨letters_a, letters_b⟩ + 0.3 ⟨words_a, words_b⟩

The nearest by c come from one sparse product. A text asks by its heaviest terms only, those that make up most of its
squared length; terms that are in more texts than `COMMON` are not asked for, unless a text has no others. What is found
is ranked by the whole of c. The nearest by vectors are exact in small files, and those of an inverted file beyond.

Shape letters: N texts, P pairs, K nearest of a text, D dimensions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.matching.terms import Csr, Terms
from twicetold.neighbours.nearest import NOBODY, Index, row_dots

LETTERS = 0.7  # weight of letters beside words, as of the default of dedupe
NEAREST = 12  # of a text, by either way
COMMON = 1_000  # texts of a term that is asked for
ASKED = 0.8  # of a text's squared length
EXACT = 8_000  # texts whose vectors are all compared
LEAST = 0.1  # similarity by letters and words of a candidate by these
LEAST_VECTORS = 0.4  # cosine of a candidate by vectors
BLOCK = 1_000  # texts that ask at a time
SHARE = 0.25  # of the similarity of a text's nearest, below which nothing is ranked


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
    terms: Terms, vectors: NDArray[np.float32] | None = None, *, nearest: int = NEAREST, split: int | None = None
) -> Pairs:
    """Pairs of texts of one table, or across two.

    Args:
        terms: of N texts, those of the first table before those of the second.
        vectors: (N, D) of length 1.
        nearest: K.
        split: number of texts of the first table; None if there is one.
    """
    both = lexical_rows(terms)
    count = both.shape[0]
    found = [_by_terms(both, nearest, split)]
    if vectors is not None:
        found.append(_by_vectors(vectors, nearest, split))
    cells = np.unique(np.concatenate([np.minimum(a, b) * count + np.maximum(a, b) for a, b in found]))
    left, right = np.divmod(cells, count)
    return described(both, vectors, left, right)


def described(
    both: Csr, vectors: NDArray[np.float32] | None, left: NDArray[np.int64], right: NDArray[np.int64]
) -> Pairs:
    """Pairs with their similarities, those left out that have neither."""
    lexical = _dots(both, left, right)
    cosine = None if vectors is None else _dots(vectors, left, right)
    keep = lexical >= LEAST
    if cosine is not None:
        keep |= cosine >= LEAST_VECTORS
    return Pairs(both.shape[0], left[keep], right[keep], lexical[keep], None if cosine is None else cosine[keep])


def lexical_rows(terms: Terms) -> Csr:
    """(N, T) rows whose dot products are c."""
    scaled = [terms.letters * np.float32(LETTERS**0.5), terms.words * np.float32((1 - LETTERS) ** 0.5)]
    return sparse.csr_array(sparse.hstack(scaled, format="csr"))


def _dots(rows: Any, left: NDArray[np.int64], right: NDArray[np.int64], block: int = 100_000) -> NDArray[np.float32]:
    parts = [row_dots(rows, left[at : at + block], rows, right[at : at + block]) for at in range(0, len(left), block)]
    return np.concatenate([*parts, np.empty(0, np.float32)])


def _by_terms(both: Csr, nearest: int, split: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Texts that ask, and those they find."""
    asking, base = _heaviest(both), both if split is None else both[split:]
    offset, stop = (0, both.shape[0]) if split is None else (split, split)
    columns = base.T.tocsr()
    rows, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, stop, BLOCK):
        product = (asking[start : min(start + BLOCK, stop)] @ columns).tocoo()
        row, column = product.row.astype(np.int64) + start, product.col.astype(np.int64) + offset
        chosen = _largest(row - start, column, product.data, nearest, itself=row == column)
        rows.append(row[chosen])
        found.append(column[chosen])
    if split is not None:  # the second table asks as well
        columns = both[:split].T.tocsr()
        for start in range(split, both.shape[0], BLOCK):
            product = (asking[start : start + BLOCK] @ columns).tocoo()
            row, column = product.row.astype(np.int64) + start, product.col.astype(np.int64)
            chosen = _largest(row - start, column, product.data, nearest, itself=row == column)
            rows.append(row[chosen])
            found.append(column[chosen])
    return np.concatenate(rows), np.concatenate(found)


def _largest(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    value: NDArray[np.float32],
    nearest: int,
    *,
    itself: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Positions of the largest values of each row, ties to the lower column."""
    value = np.where(itself, np.float32(0), value)
    best = np.zeros(int(row.max()) + 1 if len(row) else 0, np.float32)
    np.maximum.at(best, row, value)
    keep = np.flatnonzero((value > SHARE * best[row]) & ~itself)
    order = keep[np.lexsort((column[keep], -value[keep], row[keep]))]
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    return order[place < nearest]


def _heaviest(both: Csr) -> Csr:
    """Of each row the heaviest entries that are not common, up to `ASKED` of its squared length."""
    texts = np.bincount(both.indices, minlength=both.shape[1])[both.indices]
    row = np.repeat(np.arange(both.shape[0]), np.diff(both.indptr))
    square = both.data**2
    common = texts > COMMON
    order = np.lexsort((both.indices, -square, common, row))
    before = np.cumsum(square[order]) - square[order]
    first = before[np.minimum(both.indptr[:-1], max(len(before) - 1, 0))] if len(before) else before
    within = before - first[row[order]]
    rank = np.arange(len(order)) - both.indptr[:-1][row[order]]
    keep = np.zeros(len(order), bool)
    keep[order] = (within < ASKED) & (~common[order] | (rank < 3))
    kept = np.flatnonzero(keep)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=both.shape[0]))])
    return sparse.csr_array((both.data[kept], both.indices[kept], indptr), shape=both.shape)


def _by_vectors(
    vectors: NDArray[np.float32], nearest: int, split: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Texts that ask, and those they find."""
    sides = [(0, len(vectors), 0, len(vectors))] if split is None else []
    if split is not None:
        sides = [(0, split, split, len(vectors)), (split, len(vectors), 0, split)]
    rows, found = [], []
    for start, stop, first, last in sides:
        index = Index(vectors[first:last], approximate=last - first > EXACT)
        near = index.search(vectors[start:stop], k=min(nearest + (split is None), last - first)).index
        row = np.repeat(np.arange(start, stop), near.shape[1])
        column = near.ravel()
        keep = column != NOBODY
        row, column = row[keep], column[keep] + first
        rows.append(row[row != column])
        found.append(column[row != column])
    return np.concatenate(rows), np.concatenate(found)
