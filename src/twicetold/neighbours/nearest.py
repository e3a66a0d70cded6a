"""Search for the texts most similar to each query: exact, or with an approximate index.

    similarity(q, t) = ⟨query_q, text_t⟩

The exact search is that of `exact_search`. In the approximate one a query is compared with the texts of the cells whose
centres are most similar to it (`cells`).

Ties are ranked by position. With sparse vectors a text that shares no term with the query is not found, as in a search
engine, so a query may have fewer than k neighbours.

Shape letters: M texts, Q queries, d dimensions, k neighbours, b rows of a block, P pairs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.exact_search import LOWEST, Hits, nearest_rows, rank_in_runs
from twicetold.neighbours.parallel import serial_products

if TYPE_CHECKING:  # most searches are exact
    from twicetold.neighbours.cells import Cells, Dense

BLOCK = 16_000_000  # similarities held at a time by each thread (64 MB)
GATHERED = 1 << 22  # numbers of vectors that are gathered at a time for each side of pairs (16 MB)
FULL, FEWEST_FULL = 0.5, 16  # share of rows that have a column, and number of such columns, for a dense product
NOBODY = -1  # index of a missing neighbour, where a query has fewer than k
Matrix: TypeAlias = Any
"""A dense (n, d) float32 array, or a SciPy CSR matrix of that shape."""
Rows: TypeAlias = slice | NDArray[np.int64]
Apart: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class NearestTexts:
    """The k most similar texts of each query, nearest first."""

    index: NDArray[np.int64]
    """(Q, k), `NOBODY` where there are fewer."""
    similarity: NDArray[np.float32]
    """(Q, k), 0 for a missing neighbour."""

    @classmethod
    def of(cls, hits: Hits, shape: tuple[int, int]) -> "NearestTexts":
        """Build from at most k hits of each query, as `Hits.nearest` gives them.

        Args:
            hits: of Q queries.
            shape: Q and k.
        """
        index, similarity = np.full(shape, NOBODY, np.int64), np.zeros(shape, np.float32)
        place = hits.query, rank_in_runs(hits.query)
        index[place], similarity[place] = hits.row, hits.similarity
        return cls(index, similarity)

    def keeping(self, keep: NDArray[np.bool_], *, k: int) -> "NearestTexts":
        """Return the first `k` neighbours of each row that are kept, in the same order.

        Args:
            keep: (Q, K) of these K neighbours.
            k: at most K.
        """
        order = np.argsort(~keep, axis=1, kind="stable")[:, :k]
        index = np.where(np.take_along_axis(keep, order, axis=1), np.take_along_axis(self.index, order, axis=1), NOBODY)
        similarity = np.where(index == NOBODY, 0, np.take_along_axis(self.similarity, order, axis=1))
        return NearestTexts(index, similarity)


class Index:
    """An index of texts.

    Args:
        texts: (M, d) vectors.
        approximate: search in cells, for dense vectors only.
        probes: cells that are searched for a query, out of about √M; None: `cells.PROBES`.

    Raises:
        ValueError: if `approximate` is used with sparse vectors.
    """

    def __init__(self, texts: Matrix, *, approximate: bool = False, probes: int | None = None) -> None:
        if approximate and sparse.issparse(texts):
            raise ValueError("an approximate index needs dense vectors: search sparse ones exactly")
        self.texts = texts
        self._centres: Dense | None = None
        if approximate:
            from twicetold.neighbours.cells import PROBES, cells_for, centres_of, sampled

            self._probes = probes or PROBES
            self._centres = centres_of(texts[sampled(len(self))], cells_for(len(self)))

    def __len__(self) -> int:
        return int(self.texts.shape[0])

    def search(self, queries: Matrix, *, k: int, apart: Apart | None = None) -> NearestTexts:
        """Return the `k` most similar texts of each of the (Q, d) queries.

        In cells, queries that are `texts` take less time; with others, last bits depend on what is asked together.

        Args:
            queries: (Q, d) vectors.
            k: number of neighbours.
            apart: (Q,) code of each query and (M,) code of each text: texts of a query's own code are not found.

        Raises:
            ValueError: if `apart` is used with an approximate index, which cannot leave texts out, or a similarity is
                not a number.
        """
        count = queries.shape[0]
        if self._centres is not None:
            if apart is not None:
                raise ValueError("an approximate index finds texts of every code: leave some out in an exact search")
            return self._in_cells(self._centres, queries, k)
        similar = similarities(queries, self.texts)

        def products(rows: slice, _: slice) -> NDArray[np.float32]:
            scores = similar(rows)
            if apart is not None:
                scores[apart[0][rows, None] == apart[1]] = -np.inf
            return scores

        tile = (
            max(1, BLOCK // len(self)),
            len(self),
        )  # published figures rest on the last bits of products of whole rows
        with serial_products():
            hits = nearest_rows(products, (count, len(self)), min(k, len(self)), tile=tile)
        return NearestTexts.of(hits, (count, k))

    def _in_cells(self, centres: "Dense", queries: "Dense", k: int) -> NearestTexts:
        """Return the nearest texts in the cells that each query visits, those of the first one before the others."""
        from twicetold.neighbours.cells import Cells, in_cells

        own, visited = in_cells(queries, self.texts, centres, self._probes)
        visits = (
            Cells.of(np.arange(len(centres)), own, np.repeat(np.arange(len(queries)), some.shape[1]), some.ravel())
            for some in (visited[:, :1], visited[:, 1:])
        )
        return nearest_in(visits, queries, self.texts, k)


def nearest_in(visits: "Iterable[Cells]", queries: "Dense", texts: "Dense", k: int) -> NearestTexts:
    """Return the `k` most similar texts of each query in the cells that it visits.

    Args:
        visits: of the (Q, d) queries to cells of the texts; the nearest are best in the first of them.
        queries: (Q, d) vectors.
        texts: (M, d) vectors.
        k: number of neighbours.
    """
    index, similarity = np.full((len(queries), k), NOBODY), np.full((len(queries), k), LOWEST)
    for cells in visits:
        for hits in cells.hits(queries, texts, k, least=similarity[:, -1]):
            rows = np.unique(hits.query)
            before = Hits(np.repeat(rows, k), index[rows].ravel(), similarity[rows].ravel())
            nearest = Hits.joined([before.at(before.row != NOBODY), hits]).nearest(k)
            place = nearest.query, rank_in_runs(nearest.query)
            index[place], similarity[place] = nearest.row, nearest.similarity
    return NearestTexts(index, np.where(index == NOBODY, 0, similarity))


def similarities(queries: Matrix, texts: Matrix) -> Callable[[Rows], NDArray[np.float32]]:
    """Map the rows of b queries to (b, M) similarities; with sparse vectors, -inf where no term is shared."""
    product = products(queries, texts)
    if not sparse.issparse(queries):
        return product

    def masked(rows: Rows) -> NDArray[np.float32]:
        scores = product(rows)
        scores[scores <= 0] = -np.inf
        return scores

    return masked


def products(queries: Matrix, texts: Matrix) -> Callable[[Rows], NDArray[np.float32]]:
    """Map the rows of b queries to their (b, M) dot products."""
    if not sparse.issparse(queries):
        asked, columns = (np.asarray(side, np.float32) for side in (queries, texts))
        return lambda rows: asked[rows] @ columns.T
    left, right = queries.tocsr(), texts.tocsr()
    often = [np.bincount(side.indices, minlength=side.shape[1]) > FULL * side.shape[0] for side in (left, right)]
    full, dense = np.flatnonzero(often[0] & often[1]), None  # as of dense vectors beside lexical ones
    if len(full) >= FEWEST_FULL:
        rest = np.setdiff1d(np.arange(left.shape[1]), full)
        dense = tuple(side[:, full].toarray().astype(np.float32) for side in (left, right))
        left, right = left[:, rest], right[:, rest]
    right = right.T.tocsr()

    def sparsely(rows: Rows) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = (left[rows] @ right).toarray().astype(np.float32, copy=False)
        if dense is not None:
            scores += dense[0][rows] @ dense[1].T
        return scores

    return sparsely


def row_dots(
    left: Matrix, left_rows: NDArray[np.int64], right: Matrix, right_rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return (P,) dot product of each pair of rows, dense or CSR; a block of rows is gathered at a time."""
    dots = np.empty(len(left_rows), np.float64)
    for start, stop in _blocks(left, left_rows, right, right_rows):
        one, other = left[left_rows[start:stop]], right[right_rows[start:stop]]
        if isinstance(one, np.ndarray):
            dots[start:stop] = np.einsum("pd,pd->p", one, other)
        else:
            dots[start:stop] = np.asarray(one.multiply(other).sum(axis=1)).ravel()
    return dots


def _blocks(
    left: Matrix, left_rows: NDArray[np.int64], right: Matrix, right_rows: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Return blocks of pairs whose rows have at most `GATHERED` numbers on either side, or that are one pair."""
    if not hasattr(left, "indptr"):
        step = max(1, GATHERED // left.shape[1])
        return [(start, min(start + step, len(left_rows))) for start in range(0, len(left_rows), step)]
    entries = np.maximum(np.diff(left.indptr)[left_rows], np.diff(right.indptr)[right_rows])
    block = np.cumsum(entries, dtype=np.int64) // GATHERED  # of the mean of two rows, one may be as long as all others
    edges = np.flatnonzero(np.diff(block, prepend=-1, append=np.iinfo(np.int64).max))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
