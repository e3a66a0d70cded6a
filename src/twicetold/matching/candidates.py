"""Candidates: pairs of texts that may match, as each text's nearest ones by letters and words, and by vectors.

    c(a, b) = 0.7 ⟨letters_a, letters_b⟩ + 0.3 ⟨words_a, words_b⟩

The nearest by c come from one sparse product. A text asks by its heaviest terms only, those that make up most of its
squared length; terms that are in more texts than `COMMON` are not asked for, unless a text has few others. The texts
that have one of these terms are `MOST` at most, so that the work grows as the number of texts, whatever they are like;
a text that would look among more leaves out its lightest terms. What is found is ranked by the terms that were
asked for. The nearest by vectors are exact in small files, and in cells beyond.

Shape letters: N texts, P pairs, K nearest of a text, D dimensions.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.matching.terms import Csr, Terms, narrow
from twicetold.neighbours.nearest import Index, row_dots

LETTERS = 0.7  # weight of letters beside words, as of the default of dedupe
NEAREST = 10  # of a text, by either way
COMMON = 300  # texts of a term that is asked for
ASKED = 0.7  # of a text's squared length
EXACTLY = 2.0**32  # parts of a squared length, so that its sum is the same beside any other rows
MOST = 20_000  # texts of all terms that a text asks for (in ordinary files of 10,000 texts at most 17,184)
EXACT = 8_000  # texts whose vectors are all compared
PROBES = 6  # cells that a text looks into
LEAST = 0.15  # similarity by letters and words of a candidate by these
LEAST_VECTORS = 0.5  # cosine of a candidate by vectors
SCORED = 65_536  # pairs that a model scores at a time
BLOCK = 1_000  # texts that ask at a time
READ = 1 << 13  # texts whose terms are looked at at a time
POSTED = 1 << 18  # texts whose terms are held by term
LOOKED = 1 << 20  # texts that are looked among at a time: more is slower, as it does not stay in cache
SHARE = 0.4  # of the similarity of a text's nearest, below which nothing is ranked


Keys: TypeAlias = NDArray[np.int64]
"""One number for both texts of each pair, as `Pairs.key`."""


class Ends(NamedTuple):
    """Numbers of the texts of each pair.

    Attributes:
        left: (P,) one text.
        right: (P,) the other.
        unfinished: number of texts that were compared with fewer others than they ask for, because of `MOST`.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    unfinished: int = 0


@dataclass(frozen=True)
class Pairs:
    """Pairs of N texts, each once, ordered.

    Args:
        count: N.
        left: (P,) the earlier text.
        right: (P,) the later one.
        lexical: (P,) similarity c.
        cosine: (P,) of vectors; None without them.
        unfinished: as of `Ends`.
        score: (P,) by a trained model; None without one.
    """

    count: int
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    lexical: NDArray[np.float32]
    cosine: NDArray[np.float32] | None
    unfinished: int = 0
    score: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.left)

    @property
    def key(self) -> NDArray[np.int64]:
        """(P,) one number for both texts of each."""
        return self.left * self.count + self.right

    @cached_property
    def by_text(self) -> list[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """(P,) positions in the order of the left texts, and (N + 1,) where each text's begin; so of the right ones."""
        return [
            (
                np.argsort(side, kind="stable").astype(np.int32),
                np.append(0, np.cumsum(np.bincount(side, minlength=self.count))),
            )
            for side in (self.left, self.right)
        ]

    def where(self, kept: slice | NDArray[np.bool_ | np.integer]) -> "Pairs":
        """Return some of the pairs, by a mask, a slice or their positions."""
        names = ("left", "right", "lexical", "cosine", "score")
        columns: dict[str, Any] = {name: column for name in names if (column := getattr(self, name)) is not None}
        return replace(self, **{name: column[kept] for name, column in columns.items()})


class ScoredTexts(Protocol):
    """Texts, known by their numbers, whose pairs a model scores; see `trained.reading.ReadTexts`."""

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return (P,) of pairs."""


def scores_of(model: ScoredTexts, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (P,) scores of pairs, `SCORED` at a time."""
    scores = np.empty(len(left), np.float64)
    for start in range(0, len(left), SCORED):
        part = slice(start, start + SCORED)
        scores[part] = model.score(left[part], right[part])
    return scores


def candidates(
    terms: Terms,
    vectors: NDArray[np.float32] | None = None,
    *,
    nearest: int = NEAREST,
    split: int | None = None,
    among: Callable[[Csr], Ends] | None = None,
    near: Keys | None = None,
) -> Pairs:
    """Return pairs of texts of one table, or across two; those that have neither similarity are left out.

    Args:
        terms: of N texts, those of the first table before those of the second.
        vectors: (N, D) of length 1.
        nearest: K.
        split: number of texts of the first table; None if there is one.
        among: a function from (N, T) rows as of `lexical_rows` to the pairs to take; None: the nearest texts.
        near: the nearest by vectors, as of `near_by_vectors`; None: they are searched for.
    """
    both = lexical_rows(terms.letters, terms.words)
    ends = nearest_pairs(both, vectors, nearest=nearest, split=split, near=near) if among is None else among(both)
    left, right, unfinished = ends
    cosine = None if vectors is None else pair_dots(vectors, left, right)
    pairs = Pairs(both.shape[0], left, right, pair_dots(both, left, right), cosine, unfinished)
    del both, ends, left, right  # a copy of the pairs takes as much memory
    return like_enough(pairs)


def like_enough(pairs: Pairs) -> Pairs:
    """Return those of the pairs that have either similarity."""
    keep = pairs.lexical >= LEAST
    if pairs.cosine is not None:
        keep |= pairs.cosine >= LEAST_VECTORS
    return pairs.where(keep)


def nearest_pairs(
    both: Csr,
    vectors: NDArray[np.float32] | None,
    *,
    nearest: int = NEAREST,
    split: int | None = None,
    near: Keys | None = None,
) -> Ends:
    """Return the pairs, each once; arguments as of `candidates`, with (N, T) rows as of `lexical_rows`."""
    if near is None and vectors is not None:
        near = near_by_vectors(vectors, nearest=nearest, split=split)
    found, unfinished = _by_terms(both, nearest, split)
    found = found if near is None else np.append(found, near)
    left, right = np.divmod(np.unique(found), both.shape[0])
    return Ends(left, right, unfinished)


def lexical_rows(letters: Csr, words: Csr) -> Csr:
    """Return (N, T) rows whose dot products are c, of rows as of `Terms`."""
    size, indptr = letters.nnz + words.nnz, letters.indptr.astype(np.int64) + words.indptr
    data, indices = np.empty(size, np.float32), np.empty(size, np.int32)
    for start in range(0, letters.shape[0], READ):  # a second copy would be large
        some = slice(start, start + READ)
        scaled = [letters[some] * np.float32(LETTERS**0.5), words[some] * np.float32((1 - LETTERS) ** 0.5)]
        rows, place = sparse.hstack(scaled, format="csr"), slice(*indptr[[start, start + scaled[0].shape[0]]])
        data[place], indices[place] = rows.data, rows.indices
    return narrow(data, indices, indptr, (letters.shape[0], letters.shape[1] + words.shape[1]))


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


def _by_terms(both: Csr, nearest: int, split: int | None) -> tuple[Keys, int]:
    """Return keys of queries and their neighbours, and the number of unfinished texts as of `Ends`."""
    frequency, found = np.bincount(both.indices, minlength=both.shape[1]), [np.empty(0, np.int64)]
    blocks = [heaviest(both[start : start + READ], frequency) for start in range(0, max(both.shape[0], 1), READ)]
    asking = sparse.csr_array(sparse.vstack([rows for rows, _ in blocks], format="csr"))
    asked = np.bincount(asking.indices, minlength=both.shape[1]) > 0
    for asks, base in _sides(both.shape[0], split):
        starts = range(base.start, base.stop, POSTED)
        columns = ((start, of_terms(both, slice(start, min(start + POSTED, base.stop)), asked)) for start in starts)
        ends = near_by_terms(asking[asks], asks.start, columns, frequency, nearest=nearest)
        found.append(keys_of(*ends, both.shape[0]))
    return np.unique(np.concatenate(found)), sum(cut for _, cut in blocks)


def near_by_terms(
    asking: Csr, first: int, bases: Iterable[tuple[int, Csr]], frequency: NDArray[np.int64], *, nearest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return texts that ask and the nearest of each.

    Args:
        asking: (n, T) entries of rows as of `lexical_rows`, by which these texts ask.
        first: number of the first of these texts.
        bases: blocks of texts, with the number of each one's first text and (T, b) what terms they have.
        frequency: (T,) number of texts that have a term.
        nearest: of a text.
    """
    ends = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    blocks = 0
    for base, columns in bases:
        blocks += 1
        for start in range(0, asking.shape[0], BLOCK):
            some = asking[start : start + BLOCK]
            looked = np.append(0, np.cumsum(frequency[some.indices]))[some.indptr[1:]] // LOOKED
            edges = np.flatnonzero(np.diff(looked, prepend=-1, append=np.iinfo(np.int64).max))
            for begin, end in pairwise(edges.tolist()):
                product = some[begin:end] @ columns
                own = np.repeat(np.arange(begin, end, dtype=np.int32) + (first + start - base), np.diff(product.indptr))
                product.data[product.indices == own] = 0
                chosen = _largest(product, nearest)
                row, near = (side[chosen].astype(np.int64) + base for side in (own, product.indices))
                ends.append((row, near, product.data[chosen]))
    row, near, value = map(np.concatenate, zip(*ends, strict=True))
    if blocks < 2:
        return row, near
    order = np.argsort(near, kind="stable")
    order = order[descending_in(row[order], value[order])]
    row, near, value = row[order], near[order], value[order]
    starts = np.searchsorted(row, row)
    kept = (np.arange(len(row)) - starts < nearest) & (value >= np.float32(SHARE) * value[starts])
    return row[kept], near[kept]


def of_terms(both: Csr, base: slice, asked: NDArray[np.bool_]) -> Csr:
    """Return (T, b) which texts of a block have the terms that any text asks for."""
    blocks = []
    for start in range(base.start, base.stop, READ):
        rows = both[start : min(start + READ, base.stop)]
        kept = asked[rows.indices]
        indptr = np.append(0, np.cumsum(kept))[rows.indptr]
        blocks.append(narrow(rows.data[kept], rows.indices[kept], indptr, rows.shape))
    return sparse.csr_array(sparse.vstack(blocks, format="csr")).T.tocsr()


def keys_of(one: NDArray[np.int64], other: NDArray[np.int64], count: int) -> Keys:
    """Return one number for both texts of each pair."""
    return np.minimum(one, other) * count + np.maximum(one, other)


def _largest(product: Csr, nearest: int) -> NDArray[np.int64]:
    """Positions of the largest values of each row that are above 0, ties to the lower column."""
    size, least = np.diff(product.indptr), np.zeros(product.shape[0], np.float32)
    filled, many = np.flatnonzero(size), np.flatnonzero(size > nearest)
    if len(filled):
        least[filled] = SHARE * np.maximum.reduceat(product.data, product.indptr[filled])
    values = (
        product.data[start:end] for start, end in zip(product.indptr[many], product.indptr[many + 1], strict=True)
    )
    last = [np.partition(value, -nearest)[-nearest] for value in values]
    least[many] = np.maximum(least[many], np.array(last, np.float32))
    keep = np.flatnonzero((product.data > 0) & (product.data >= np.repeat(least, size)))
    key = product.indices[keep] - (product.data[keep].view(np.int32).astype(np.int64) << 32)
    ends = np.searchsorted(keep, product.indptr).tolist()
    parts = [
        start + np.argpartition(key[start:end], nearest - 1)[:nearest] if end - start > nearest else range(start, end)
        for start, end in pairwise(ends)
    ]
    return keep[np.fromiter(chain.from_iterable(parts), np.int64)]


def heaviest(both: Csr, frequency: NDArray[np.int64]) -> tuple[Csr, int]:
    """Take the heaviest entries of each row that are not common, up to `ASKED` of its squared length and `MOST` texts.

    Args:
        both: some rows.
        frequency: (T,) number of texts that have a term.

    Returns:
        The entries, and the number of rows that have fewer than that because of `MOST`.
    """
    texts = frequency[both.indices]
    row = np.repeat(np.arange(both.shape[0]), np.diff(both.indptr))
    square = both.data**2
    common = texts > COMMON
    order = descending_in(2 * row + common, square)  # columns of a row ascend, and ties stay in their order
    rank = np.arange(len(order)) - both.indptr[:-1][row[order]]
    heavier = _before((square[order] * EXACTLY).astype(np.int64), both.indptr)
    asked = (heavier < ASKED * EXACTLY) & (~common[order] | (rank < 3))
    texts = np.where(asked, texts[order], 0)
    cut = asked & (_before(texts, both.indptr) + texts > MOST)
    kept = np.sort(order[asked & ~cut])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=both.shape[0]))])
    asking = narrow(both.data[kept], both.indices[kept], indptr, both.shape)
    return asking, len(np.unique(row[order[cut]]))


def _before(value: NDArray[np.int64], indptr: NDArray[np.integer]) -> NDArray[np.int64]:
    """Sum of the values before each one in its row."""
    before = np.append(0, np.cumsum(value))
    return np.asarray(before[:-1] - np.repeat(before[indptr[:-1]], np.diff(indptr)))


def near_by_vectors(vectors: NDArray[np.float32], *, nearest: int = NEAREST, split: int | None = None) -> Keys:
    """Return keys of texts and the nearest by vectors; arguments as of `candidates`."""
    found = [np.empty(0, np.int64)]
    for asks, base in _sides(len(vectors), split):
        size = base.stop - base.start
        if not size:
            continue
        index = Index(vectors[base], approximate=size > EXACT, probes=PROBES)
        asking = index.texts if split is None else vectors[asks]
        near = index.search(asking, k=min(nearest + (split is None), size)).index
        for start in range(0, len(near), READ):
            column = near[start : start + READ]
            row = np.arange(asks.start + start, asks.start + start + len(column))[:, None]
            row, column = np.broadcast_to(row, column.shape), column + base.start
            keep = (column >= base.start) & (row != column)
            found.append(keys_of(row[keep], column[keep], len(vectors)))
    return np.unique(np.concatenate(found))
