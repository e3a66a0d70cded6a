"""All pairs of dense vectors with a dot product from a threshold on, by products of fewer columns.

Vectors are turned so that their first r columns hold as much of their length as possible (principal axes without
centring). With the head h of a turned vector and the norm ρ of the rest, the Cauchy-Schwarz inequality says

    ⟨x, y⟩ <= ⟨h_x, h_y⟩ + ρ_x ρ_y = ⟨(h_x, ρ_x), (h_y, ρ_y)⟩

so one product of r + 1 columns leaves few pairs, and these are compared in full. Nothing is approximate. How many
columns cost least is estimated on some of the rows.

Which pairs are found, and their dot products to the last bit, depend on the two rows and the threshold alone: not on
the turn, the library that multiplies, or how rows come in blocks.

Shape letters: n rows, d dimensions, r columns of a head, L pairs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import local
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.grouping import Floats, Ints, Vectors, row_dots
from twicetold.neighbours.parallel import in_threads, serial_products

TILE = (512, 1024)  # rows of a product, which stays in a processor's cache (2 MB)
ROUNDING = 1e-4  # of float32 products and turns, of the product of the longest vectors; ample
HEADS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # columns that are tried
CHECK = 30  # columns of a product that cost as much as one column of a pair that is compared in full
SAMPLE, TURNED_BY = 1000, 8192  # rows whose pairs say how many columns cost least, and rows that say how to turn
TURNED = 65_536  # rows that are turned at a time
WORTH = 8  # rows for each column: with fewer, finding the axes (d³) costs more than the products that they spare
Dense: TypeAlias = NDArray[np.float32]
Found: TypeAlias = tuple[Ints, Ints, Floats]
"""Rows of the one side, rows of the other, and dot products, each (L,)."""
_held = local()


@dataclass(frozen=True)
class Turn:
    """How vectors are turned and cut.

    Args:
        axes: (d, d) orthonormal, those with most of the length of vectors first; None: vectors stay as they are.
        kept: r; d if nothing is cut off.
    """

    axes: Dense | None
    kept: int

    @classmethod
    def of(cls, vectors: Vectors, threshold: float, alike: Sequence[tuple[Ints, Ints]] | None = None) -> "Turn":
        """The turn and the number of columns that cost least.

        Args:
            vectors: (n, d) as queries and as documents.
            threshold: of dot products.
            alike: queries and documents whose pairs stand for those that will be compared; None: some of all.
        """
        queries, documents = vectors
        count, width = documents.shape
        if count < WORTH * width:
            return cls(None, width)
        some = documents[spread(count, TURNED_BY)].astype(np.float64)
        if queries is not documents:
            some = np.concatenate([some, queries[spread(count, TURNED_BY)].astype(np.float64)])
        axes = np.ascontiguousarray(np.linalg.eigh(some.T @ some)[1][:, ::-1], np.float32)
        sets = [(spread(count, SAMPLE),) * 2] if alike is None else alike
        sides = [(queries[one] @ axes, documents[other] @ axes, one[:, None] != other) for one, other in sets]
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
        """(n, r + 1) heads and norms of the rest, or the vectors themselves."""
        if self.axes is None or self.kept == len(self.axes):
            return np.ascontiguousarray(vectors, np.float32)
        found = np.empty((len(vectors), self.kept + 1), np.float32)
        for start in range(0, len(vectors), TURNED):
            part = slice(start, start + TURNED)
            found[part] = _cut(vectors[part] @ self.axes, self.kept)
        return found


def links_between(
    queries: Dense, candidates: Dense, threshold: float, *, reduced: tuple[Dense, Dense] | None = None
) -> Found:
    """The pairs of a query and a candidate with a dot product of at least the threshold.

    Args:
        queries: (n, d).
        candidates: (m, d).
        threshold: of ⟨query, candidate⟩, `grouping.row_dots`.
        reduced: both by the same `Turn`, which changes the time that this takes and nothing else.

    Returns:
        Rows of the queries, rows of the candidates and dot products, in no order.
    """
    left, right = nearly_above(*(reduced or (queries, candidates)), threshold)
    return compared(queries, left, candidates, right, threshold)


def pairs_above(
    vectors: Vectors, threshold: float, *, most: int, check: Callable[[Ints, Ints], Found] | None = None
) -> Found | None:
    """The pairs i < j with ⟨query_i, document_j⟩ >= threshold.

    Args:
        vectors: (n, d) as queries and as documents, whose dot products are the same for both orders of a pair.
        threshold: of dot products.
        most: of these pairs.
        check: from such pairs to those that are returned, where the vectors are bounds of others; None: all are.

    Returns:
        The earlier rows, the later ones and the dot products; None if there are more than `most` pairs.
    """
    queries, documents = vectors
    turn = Turn.of(vectors, threshold)
    heads = turn.reduced(documents)
    asked = heads if queries is documents else turn.reduced(queries)
    step = TILE[0]

    def compare(number: int) -> Found:
        start = number * step
        left, right = nearly_above(asked[start : start + step], heads[start:], threshold)
        later = right > left
        found = compared(queries, left[later] + start, documents, right[later] + start, threshold)
        return found if check is None else check(found[0], found[1])

    with serial_products():
        return gathered(in_threads(compare, -(-len(heads) // step)), most)


def gathered(parts: Iterable[Found], most: int) -> Found | None:
    """Pairs of several parts; None as soon as there are more than `most`."""
    held, total = [], 0
    for part in parts:
        total += len(part[0])
        if total > most:
            return None
        held.append(part)
    left, right, dots = (np.concatenate(side) for side in zip(*held, strict=True))
    return left, right, dots


def nearly_above(queries: Dense, candidates: Dense, threshold: float) -> tuple[Ints, Ints]:
    """Pairs of rows whose product reaches the threshold, or nearly so."""
    longest = _longest(queries) * _longest(candidates)
    least = np.float32(threshold - ROUNDING * max(longest, abs(threshold)))
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    high, wide = TILE
    for top in range(0, len(queries), high):
        rows = queries[top : top + high]
        for start in range(0, len(candidates), wide):
            columns = candidates[start : start + wide]
            out = _buffer()[: len(rows) * len(columns)].reshape(len(rows), len(columns))
            place = true_places(np.matmul(rows, columns.T, out=out) >= least)
            if len(place):
                row, column = np.divmod(place, len(columns))
                found.append((row + top, column + start))
    left, right = (np.concatenate(side) for side in zip(*found, strict=True))
    return left, right


def compared(queries: Dense, left: Ints, documents: Dense, right: Ints, threshold: float) -> Found:
    """Those of some pairs of rows whose dot product, in full, reaches the threshold."""
    dots = row_dots(queries, left, documents, right)
    keep = dots >= threshold
    return left[keep], right[keep], dots[keep]


def true_places(mask: NDArray[np.bool_]) -> Ints:
    """Where a mask with few true values is true; eight values are looked at together."""
    flat = mask.ravel()
    eights = len(flat) // 8 * 8
    place = (8 * np.flatnonzero(flat[:eights].view(np.uint64))[:, None] + np.arange(8)).ravel()
    if eights < len(flat):
        place = np.append(place, np.arange(eights, len(flat)))
    return np.asarray(place[flat[place]])


def _cut(turned: Dense, kept: int) -> Dense:
    rest = np.sqrt(np.einsum("nd,nd->n", turned[:, kept:], turned[:, kept:]))
    return np.concatenate([turned[:, :kept], rest[:, None]], axis=1)


def spread(count: int, most: int) -> Ints:
    """At most so many rows, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _longest(vectors: Dense) -> float:
    return float(np.sqrt(np.einsum("nd,nd->n", vectors, vectors).max(initial=0.0)))


def _buffer() -> Dense:
    """Memory of this thread for a product: with fresh memory a product of NumPy or PyTorch takes half as long again."""
    if not hasattr(_held, "product"):
        _held.product = np.empty(TILE[0] * TILE[1], np.float32)
    found: Dense = _held.product
    return found
