"""Exact search for the rows with the largest products with each query, by tiles.

A tile is the products of a block of queries with a block of rows. The bound of a query is a product that at least k
rows reach; of the next tile only the products that reach it are looked at, which are few: about k / r of each row of
the tile after r rows. So with tiles that stay in a processor's cache the search takes little more time than the
products themselves. The shape of a tile decides on the last bits of products.

Shape letters: Q queries, M rows, k neighbours, b queries and w rows of a tile, H hits.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import local
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.errors import require
from twicetold.neighbours.parallel import in_parallel

TILE = 1 << 19  # products of a tile that stays in a processor's cache (2 MB)
OFTEN = 4  # hits for each neighbour after which bounds are raised
COLUMNS, BLOCKS = 64, 4  # of a block of which the largest is taken; least number of blocks for each neighbour
LOWEST = np.finfo(np.float32).min  # what is below it, -inf, is not found
_held = local()
Products: TypeAlias = Callable[[slice, slice], NDArray[np.float32]]
"""From b queries and w texts to their (b, w) products, -inf of texts that are not to be found."""


@dataclass(frozen=True)
class Hits:
    """Texts that were found for queries, one row for each pair of query and text."""

    query: NDArray[np.int64]
    """(H,) number of the query."""
    row: NDArray[np.int64]
    """(H,) number of the text."""
    similarity: NDArray[np.float32]
    """(H,)."""

    def nearest(self, k: int) -> "Hits":
        """Return the `k` most similar of each query, nearest first, of equal ones the lower row; sorted by query."""
        order = np.lexsort((self.row, -self.similarity, self.query))
        return self.at(order[rank_in_runs(self.query[order]) < k])

    def at(self, kept: NDArray[Any] | slice) -> "Hits":
        """Return the hits of these numbers, of this mask or of this slice."""
        return Hits(self.query[kept], self.row[kept], self.similarity[kept])

    def moved(self, *, query: int = 0, row: int = 0) -> "Hits":
        """Return the same with numbers of queries and texts from others on."""
        return Hits(self.query + query, self.row + row, self.similarity)

    @classmethod
    def joined(cls, parts: Sequence["Hits"]) -> "Hits":
        """Return all hits of several parts."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.query for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.row for part in parts)]),
            np.concatenate([np.empty(0, np.float32), *(part.similarity for part in parts)]),
        )


def nearest_rows(products: Products, shape: tuple[int, int], k: int, *, tile: tuple[int, int]) -> Hits:
    """Find the `k` rows with the largest products with each query, largest first, of equal ones the first; by query.

    Args:
        products: of queries and rows.
        shape: Q and M.
        k: at least 1.
        tile: queries and rows whose products are held at a time.

    Raises:
        ValueError: if a product is not a number.
    """
    (count, total), (high, wide) = shape, tile
    blocks = math.ceil(count / high)

    def search(block: int) -> Hits:
        rows = slice(block * high, min((block + 1) * high, count))
        columns = (slice(start, min(start + wide, total)) for start in range(0, total, wide))
        return _nearest_of((products(rows, some) for some in columns), k).moved(query=rows.start)

    return Hits.joined([search(0)] if blocks == 1 else list(in_parallel(search, blocks)))


def _nearest_of(tiles: Iterator[NDArray[np.float32]], k: int) -> Hits:
    """Return the `k` largest of each of b rows that come in tiles of some columns."""
    hits, start, fresh = Hits.joined([]), 0, 0
    bound: NDArray[np.float32] = np.full((1, 1), LOWEST)
    for scores in tiles:
        count, width = scores.shape
        require(not np.isnan(scores.max(initial=0)), "a similarity is not a number")
        if fresh > OFTEN * k * count:
            hits, fresh = hits.nearest(k), 0
            bound = np.maximum(bound, _least(hits, k, count))
        if start == 0 and k <= width:
            bound = np.maximum(bound, reached_by(scores, k)[:, None])
        query, column = np.divmod(true_places(scores >= bound), width)
        hits = Hits.joined([hits, Hits(query, column + start, scores[query, column])])
        start, fresh = start + width, fresh + len(query)
    return hits.nearest(k)


def _least(hits: Hits, k: int, count: int) -> NDArray[np.float32]:
    """Return (b, 1) the smallest product of each query that has k of them; no bound where there are fewer."""
    least = np.full((count, 1), LOWEST, np.float32)
    last = rank_in_runs(hits.query) == k - 1
    least[hits.query[last], 0] = hits.similarity[last]
    return least


def rank_in_runs(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (H,) place of each code among the equal ones before and after it; equal codes follow each other."""
    return np.arange(len(codes)) - np.searchsorted(codes, codes)


def reached_by(scores: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Return (b,) a number that at least k scores of each row reach, and not many more.

    Where there are many columns it is the k-th largest of the largest scores of blocks of columns, which takes a
    quarter of the time of the k-th largest score.
    """
    width = min(COLUMNS, scores.shape[1] // (BLOCKS * k))
    if width > 1:
        whole = scores.shape[1] // width * width
        scores = scores[:, :whole].reshape(len(scores), -1, width).max(axis=2)
    at = scores.shape[1] - k
    bound: NDArray[np.float32] = np.partition(scores, at, axis=1)[:, at]
    return bound


def true_places(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return indices of the true values of a mask with few; eight values are looked at together."""
    flat = mask.ravel()
    eights = len(flat) // 8 * 8
    place = (8 * np.flatnonzero(flat[:eights].view(np.uint64))[:, None] + np.arange(8)).ravel()
    if eights < len(flat):
        place = np.append(place, np.arange(eights, len(flat)))
    return np.asarray(place[flat[place]])


def tile_products(queries: NDArray[np.float32], texts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (b, w) dot products of a tile, in memory of this thread that the next call uses again.

    With fresh memory a product of NumPy or PyTorch takes half as long again.
    """
    shape = len(queries), len(texts)
    if getattr(_held, "products", np.empty(0)).size < math.prod(shape):
        _held.products = np.empty(max(TILE, math.prod(shape)), np.float32)
    out: NDArray[np.float32] = _held.products[: math.prod(shape)].reshape(shape)
    return np.matmul(queries, texts.T, out=out)
