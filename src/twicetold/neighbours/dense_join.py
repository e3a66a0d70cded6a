"""All pairs of dense vectors with a dot product of at least a threshold, by products of fewer columns.

Vectors are rotated so that their first r columns hold as much of their length as possible (principal axes without
centring). With the head h of a rotated vector and the norm ρ of the rest, the Cauchy-Schwarz inequality says

    ⟨x, y⟩ <= ⟨h_x, h_y⟩ + ρ_x ρ_y = ⟨(h_x, ρ_x), (h_y, ρ_y)⟩

so one product of r + 1 columns leaves few pairs, and these are compared in full. Nothing is approximate. How many
columns cost least is estimated on some of the rows.

Which pairs are found, and their dot products to the last bit, depend on the two rows and the threshold alone: not on
the rotation, the library that multiplies, or how rows come in blocks. Of very many vectors only those in cells near
each other are compared (`neighbours.cells`), so some pairs are missed.

Shape letters: n rows, d dimensions, r columns of a head, L pairs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.cells import PROBES, Cells, cells_for, centres_of, in_cells, sampled
from twicetold.neighbours.cells import Dense as Dense
from twicetold.neighbours.exact_search import tile_products, true_places
from twicetold.neighbours.grouping import Floats, Ints, Vectors
from twicetold.neighbours.nearest import row_dots
from twicetold.neighbours.parallel import in_threads, serial_products

TILE = (512, 1024)  # rows of a product, which stays in a processor's cache (2 MB)
ROUNDING = 1e-4  # of float32 products and rotations, of the product of the longest vectors; ample
HEADS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # columns that are tried
CHECK = 30  # columns of a product that cost as much as one column of a pair that is compared in full
SAMPLE, ROTATED_BY = 1000, 8192  # rows whose pairs say how many columns cost least, and rows that say how to rotate
ROTATED = 65_536  # rows that are rotated at a time
SAMPLED, SETS = 200, 20  # the same of each side of a cell, and number of such cells
WORTH = 8  # rows for each column: with fewer, finding the axes (d³) costs more than the products that they spare
Pairs: TypeAlias = tuple[Ints, Ints, Floats]
"""Rows of the one side, rows of the other, and dot products, each (L,)."""
Some: TypeAlias = slice | Ints


@dataclass(frozen=True)
class Rotation:
    """Rotation and cut of vectors.

    Args:
        axes: (d, d) orthonormal, those with most of the length of vectors first; None: vectors stay as they are.
        kept: r; d if nothing is cut off.
    """

    axes: Dense | None
    kept: int

    @classmethod
    def of(cls, vectors: Vectors, threshold: float, samples: Sequence[tuple[Ints, Ints]] | None = None) -> "Rotation":
        """Return the rotation and the number of columns that cost least.

        Args:
            vectors: (n, d) as queries and as documents.
            threshold: of dot products.
            samples: queries and documents whose pairs stand for those that will be compared; None: some of all.
        """
        queries, documents = vectors
        count, width = documents.shape
        if count < WORTH * width:
            return cls(None, width)
        some = documents[spread(count, ROTATED_BY)].astype(np.float64)
        if queries is not documents:
            some = np.concatenate([some, queries[spread(len(queries), ROTATED_BY)].astype(np.float64)])
        axes = np.ascontiguousarray(np.linalg.eigh(some.T @ some)[1][:, ::-1], np.float32)
        if samples is None:
            samples = [(spread(len(queries), SAMPLE), spread(count, SAMPLE))]
        sides = [(queries[one] @ axes, documents[other] @ axes, one[:, None] != other) for one, other in samples]
        cost = {width: float(width)}
        for kept in (head for head in HEADS if head < width):
            passed = pairs = 0
            for one, other, apart in sides:
                bound = _cut(one, kept) @ _cut(other, kept).T
                passed += int(((bound >= threshold) & apart).sum())
                pairs += int(apart.sum())
            cost[kept] = kept + 1 + CHECK * width * passed / max(1, pairs)
        return cls(axes, min(cost, key=lambda kept: cost[kept]))

    def reduced(self, vectors: Dense) -> Dense:
        """Return (n, r + 1) heads and norms of the rest, or the vectors themselves."""
        if self.axes is None or self.kept == len(self.axes):
            return np.ascontiguousarray(vectors, np.float32)
        cut = np.empty((len(vectors), self.kept + 1), np.float32)
        for start in range(0, len(vectors), ROTATED):
            part = slice(start, start + ROTATED)
            cut[part] = _cut(vectors[part] @ self.axes, self.kept)
        return cut


def dense_pairs(queries: Dense, documents: Dense, threshold: float, *, reduce: bool = False) -> Pairs:
    """Return the pairs of a query and a document with a dot product of at least the threshold, in no order.

    Args:
        queries: (n, d).
        documents: (m, d).
        threshold: of ⟨query, document⟩, `nearest.row_dots`.
        reduce: rotate and cut both first, which pays for many queries, and changes the time alone.

    Returns:
        Rows of the queries, rows of the documents and dot products.
    """
    rotation = Rotation.of((queries, documents), threshold) if reduce else Rotation(None, 0)
    left, right = _nearly_above(rotation.reduced(queries), rotation.reduced(documents), threshold)
    return verified(queries, left, documents, right, threshold)


def dense_self_pairs(
    vectors: Vectors, threshold: float, *, most: int, verify: Callable[[Ints, Ints], Pairs] | None = None
) -> Pairs | None:
    """Return the pairs i < j with ⟨query_i, document_j⟩ >= threshold.

    Args:
        vectors: (n, d) as queries and as documents, whose dot products are the same for both orders of a pair.
        threshold: of dot products.
        most: of these pairs.
        verify: from such pairs to those that are returned, where the vectors are bounds of others; None: all are.

    Returns:
        The earlier rows, the later ones and the dot products; None if there are more than `most` pairs.
    """
    count, step = len(vectors[1]), TILE[0]
    blocks = [(slice(start, start + step), slice(start, count)) for start in range(0, count, step)]
    return gathered(pairs_of_blocks(vectors, threshold, blocks, ordered=True, verify=verify), most)


def most_self_pairs(vectors: Vectors, threshold: float, *, most: int) -> Pairs | None:
    """Find most pairs i < j with ⟨query_i, document_j⟩ >= threshold, each once, by cells; as `dense_self_pairs`."""
    queries, documents = vectors
    count = len(documents)
    centres = centres_of(documents[sampled(count)], cells_for(count))
    own, asked = in_cells(queries, documents, centres, PROBES)
    cells = Cells.of(np.arange(len(centres)), own, np.repeat(np.arange(len(asked)), asked.shape[1]), asked.ravel())
    found = gathered(pairs_in_cells(cells, vectors, threshold), 2 * most)
    pairs = None if found is None else once(count, *found)
    return None if pairs is None or len(pairs[0]) > most else pairs


def pairs_in_cells(cells: Cells, vectors: Vectors, threshold: float) -> Iterator[Pairs]:
    """Return the pairs of a visitor and a member of each cell with ⟨query, document⟩ >= threshold, cell by cell.

    Args:
        cells: of the vectors.
        vectors: (n, d) as queries and as documents.
        threshold: of dot products.
    """
    blocks = cells.blocks()
    filled = [block for block in blocks if len(block[1])]
    some = [filled[place] for place in spread(len(filled), SETS)]
    samples = [(one[spread(len(one), SAMPLED)], own[spread(len(own), SAMPLED)]) for one, own in some]
    return pairs_of_blocks(vectors, threshold, blocks, ordered=False, samples=samples)


def once(count: int, left: Ints, right: Ints, dots: NDArray[Any]) -> Pairs:
    """Return each pair once, whichever of its texts found the other."""
    keys, first = np.unique(np.minimum(left, right) * count + np.maximum(left, right), return_index=True)
    return keys // count, keys % count, dots[first]


def pairs_of_blocks(
    vectors: Vectors,
    threshold: float,
    blocks: Sequence[tuple[Some, Some]],
    *,
    ordered: bool,
    samples: Sequence[tuple[Ints, Ints]] | None = None,
    verify: Callable[[Ints, Ints], Pairs] | None = None,
) -> Iterator[Pairs]:
    """Yield the pairs of each block of queries and documents with a dot product of at least the threshold.

    Args:
        vectors: (n, d) as queries and as documents.
        threshold: of dot products.
        blocks: queries and documents that are compared with each other.
        ordered: only pairs i < j; else all of two different rows.
        samples: as of `Rotation.of`.
        verify: as of `dense_self_pairs`.
    """
    queries, documents = vectors
    rotation = Rotation.of(vectors, threshold, samples)
    heads = rotation.reduced(documents)
    asked = heads if queries is documents else rotation.reduced(queries)
    everyone = np.arange(len(heads))

    def compare(number: int) -> Pairs:
        rows, columns = blocks[number]
        left, right = _nearly_above(asked[rows], heads[columns], threshold)
        left, right = everyone[rows][left], everyone[columns][right]
        kept = left < right if ordered else left != right
        pairs = verified(queries, left[kept], documents, right[kept], threshold)
        return pairs if verify is None else verify(pairs[0], pairs[1])

    with serial_products():
        yield from in_threads(compare, len(blocks))


def gathered(parts: Iterable[Pairs], most: int) -> Pairs | None:
    """Return pairs of several parts; None as soon as there are more than `most`."""
    held, total = [], 0
    for part in parts:
        total += len(part[0])
        if total > most:
            return None
        held.append(part)
    left, right, dots = (np.concatenate(side) for side in zip(*held, strict=True))
    return left, right, dots


def verified(queries: Any, left: Ints, documents: Any, right: Ints, threshold: float) -> Pairs:
    """Return those of some pairs of rows, dense or CSR, whose dot product, in full, reaches the threshold."""
    dots = row_dots(queries, left, documents, right)
    keep = dots >= threshold
    return left[keep], right[keep], dots[keep]


def spread(count: int, most: int) -> Ints:
    """Choose at most so many rows, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _nearly_above(queries: Dense, documents: Dense, threshold: float) -> tuple[Ints, Ints]:
    """Return pairs of rows whose product reaches the threshold, or nearly so."""
    longest = _longest(queries) * _longest(documents)
    least = np.float32(threshold - ROUNDING * max(longest, abs(threshold)))
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    high, wide = TILE
    for top in range(0, len(queries), high):
        rows = queries[top : top + high]
        for start in range(0, len(documents), wide):
            columns = documents[start : start + wide]
            place = true_places(tile_products(rows, columns) >= least)
            if len(place):
                row, column = np.divmod(place, len(columns))
                parts.append((row + top, column + start))
    left, right = (np.concatenate(side) for side in zip(*parts, strict=True))
    return left, right


def _cut(rotated: Dense, kept: int) -> Dense:
    rest = np.sqrt(np.einsum("nd,nd->n", rotated[:, kept:], rotated[:, kept:]))
    return np.concatenate([rotated[:, :kept], rest[:, None]], axis=1)


def _longest(vectors: Dense) -> float:
    return float(np.sqrt(np.einsum("nd,nd->n", vectors, vectors).max(initial=0.0)))
