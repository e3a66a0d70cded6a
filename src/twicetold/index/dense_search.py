"""The rows of a dense matrix with the largest products with each query, by tiles that stay in a processor's cache.

The bound of a query is a product that at least k rows were found to reach. Of the next tile only the products that
reach it are looked at, which are few: about k / r of each row of the tile after r rows. So the search takes little more
time than the products themselves. It is exact.

Shape letters: Q queries, M rows, D columns, H hits, k neighbours.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.errors import require
from twicetold.neighbours.dense_joining import Dense, true_places
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import reached_by
from twicetold.neighbours.parallel import in_parallel

HIGH, PRODUCTS = 512, 1 << 19  # queries and products of a tile (2 MB)
OFTEN = 4  # hits for each neighbour after which bounds are raised
Products: TypeAlias = tuple[Ints, Ints, NDArray[np.float32]]
"""(H,) queries, rows and products."""


def nearest_rows(queries: Dense, vectors: Dense, k: int, *, alive: NDArray[np.bool_], before: Ints | None) -> Products:
    """At least the `k` rows with the largest products with each query, and all that are as large as the last of them.

    Args:
        queries: (Q, D).
        vectors: (M, D).
        k: at least 1.
        alive: (M,) rows that may be found.
        before: (Q,) only rows below this one are found; None: all.

    Returns:
        (H,) queries, rows and products.

    Raises:
        ValueError: if a product is not a number.
    """
    blocks = math.ceil(len(queries) / HIGH)

    def search(block: int) -> Products:
        part = slice(block * HIGH, (block + 1) * HIGH)
        limit = None if before is None else before[part]
        query, row, product = _of_block(np.ascontiguousarray(queries[part]), vectors, k, alive, limit)
        return query + part.start, row, product

    found = [search(0)] if blocks == 1 else list(in_parallel(search, blocks))
    return _joined(found)


def _of_block(queries: Dense, vectors: Dense, k: int, alive: NDArray[np.bool_], before: Ints | None) -> Products:
    count = len(queries)
    wide = max(1, PRODUCTS // count)
    bound = np.full(count, -np.inf, np.float32)
    buffer = np.empty(count * min(wide, len(vectors)), np.float32)
    all_alive = bool(alive.all())
    found: list[Products] = []
    fresh = 0  # hits since bounds were raised
    for start in range(0, len(vectors), wide):
        rows = vectors[start : start + wide]
        near = np.matmul(queries, rows.T, out=buffer[: count * len(rows)].reshape(count, len(rows)))
        require(not np.isnan(near.max(initial=0)), "a similarity is not a number")
        if not all_alive:
            near[:, ~alive[start : start + wide]] = -np.inf
        if before is not None:
            near[np.arange(start, start + len(rows)) >= before[:, None]] = -np.inf
        if start == 0 and k <= len(rows):
            bound = reached_by(near, k)
        query, row = np.divmod(true_places((near >= bound[:, None]) & (near > -np.inf)), len(rows))
        found.append((query, row + start, near[query, row]))
        fresh += len(query)
        if fresh > OFTEN * k * count and start + wide < len(vectors):
            found = [_largest(found, k)]
            bound, fresh = np.maximum(bound, _least(found[0], k, count)), 0
    return _joined(found)


def _largest(found: Sequence[Products], k: int) -> Products:
    """The `k` largest of each query, of equal ones those of the first rows; sorted."""
    query, row, product = _joined(found)
    order = np.lexsort((row, -product, query))
    query = query[order]
    kept = np.arange(len(order)) - np.searchsorted(query, query) < k
    return query[kept], row[order][kept], product[order][kept]


def _least(found: Products, k: int, count: int) -> NDArray[np.float32]:
    """(Q,) the smallest product of each query that has k of them; no bound where there are fewer."""
    query, _, product = found
    least = np.full(count, -np.inf, np.float32)
    ends = np.searchsorted(query, np.arange(count), side="right")
    full = np.bincount(query, minlength=count) >= k
    least[full] = product[ends[full] - 1]
    return least


def _joined(parts: Sequence[Products]) -> Products:
    return (
        np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)]),
        np.concatenate([np.empty(0, np.float32), *(part[2] for part in parts)]),
    )
