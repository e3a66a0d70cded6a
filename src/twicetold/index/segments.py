"""A part of an index: some texts with ids, vectors and groups. Only groups change, and which texts were removed.

Small parts and sparse vectors are searched exactly. The rows of a large dense part are sorted by cells, an inverted
file (Jégou, Douze and Schmid 2011, "Product quantization for nearest neighbor search", without the quantisation):
k-means finds the centres, and a query is compared with the texts of the cells whose centres are most similar to it.
A cell is a slice of the memory-mapped vectors, so a search reads some cells and no more. faiss finds the centres; its
own file format is not used, because its reader trusts what it reads.

Ties are ranked by position. With sparse vectors a text that shares no term with the query is not found.

Shape letters: M texts of a part, Q queries, D dimensions, C cells, H hits, k neighbours, q and m rows of a block.
"""

import math
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy import sparse

from twicetold.dedupe.distinct import folded
from twicetold.errors import require
from twicetold.index.dense_search import nearest_rows
from twicetold.index.memberships import Memberships
from twicetold.neighbours.dense_joining import links_between
from twicetold.neighbours.nearest import BLOCK, PER_CENTRE, PROBES, ROUNDS, Matrix, largest, reached_by

CELLS_FROM = 100_000  # texts of a dense part: below, the exact search takes milliseconds
ROWS = 1 << 16  # dense rows that are compared at once
QUERIES = 1024  # queries whose cells are searched at once
SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string()), ("group", pa.int64())])
TEXTS = "texts.parquet"
DENSE = "vectors.npy"
SPARSE = "vectors.safetensors"
CELLS = "cells.safetensors"


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
        """The `k` most similar of each query, nearest first, of equal ones the lower row; sorted by query."""
        order = np.lexsort((self.row, -self.similarity, self.query))
        query = self.query[order]
        kept = order[np.arange(len(order)) - np.searchsorted(query, query) < k]
        return self.at(kept)

    def at(self, kept: NDArray[Any]) -> "Hits":
        """The hits of these numbers, or of this mask."""
        return Hits(self.query[kept], self.row[kept], self.similarity[kept])

    @classmethod
    def joined(cls, parts: Sequence["Hits"]) -> "Hits":
        """All hits of several parts."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.query for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.row for part in parts)]),
            np.concatenate([np.empty(0, np.float32), *(part.similarity for part in parts)]),
        )


@dataclass(frozen=True)
class Cells:
    """An inverted file of rows that are sorted by cell."""

    centres: NDArray[np.float32]
    """(C, D)."""
    starts: NDArray[np.int64]
    """(C + 1,) first row of each cell, and the number of rows."""


@dataclass(frozen=True)
class Segment:
    """A part of an index.

    Args:
        vectors: (M, D) of the texts as documents; dense float32, or CSR.
        table: (M,) `id`, `text` and `group`, the group that the text had when the part was made.
        alive: (M,) which texts have not been removed.
        members: (M,) groups of the texts.
        cells: of a large dense part.
        name: of its folder, None if it has not been saved.
        removed_file: the file in that folder that says which texts were removed, if it has been saved.
        groups_file: the file in that folder with the groups, if they differ from the table's and have been saved.
    """

    vectors: Matrix
    table: pa.Table
    alive: NDArray[np.bool_]
    members: Memberships
    cells: Cells | None = None
    name: str | None = None
    removed_file: str | None = None
    groups_file: str | None = None

    @classmethod
    def of(cls, vectors: Matrix, table: pa.Table, members: Memberships | None = None) -> "Segment":
        """A part that has not been saved, with cells if it is dense and large; None: groups are those of the table."""
        alive = np.ones(table.num_rows, bool)
        members = Memberships.of(table["group"].to_numpy()) if members is None else members
        if sparse.issparse(vectors) or table.num_rows < CELLS_FROM:
            return cls(vectors, table, alive, members)
        cells, order = cells_of(vectors)
        return cls(vectors[order], table.take(pa.array(order)), alive, members.at(order), cells)

    @classmethod
    def merged(cls, parts: Sequence["Segment"]) -> "Segment":
        """One part with the texts of several that have not been removed, in the same order."""
        members = Memberships.joined([part.members.at(part.alive) for part in parts])
        table = pa.concat_tables([part.table.filter(pa.array(part.alive)) for part in parts]).combine_chunks()
        table = table.set_column(2, "group", pa.array(members.group))
        stack = sparse.vstack if sparse.issparse(parts[0].vectors) else np.concatenate
        return cls.of(stack([part.vectors[part.alive] for part in parts]), table.cast(SCHEMA), members)

    @property
    def count(self) -> int:
        """Number of texts that have not been removed."""
        return int(np.count_nonzero(self.alive))

    @property
    def groups_differ(self) -> bool:
        """Whether groups are others than those of the table."""
        return not self.members.same_as(Memberships.of(self.table["group"].to_numpy()))

    @cached_property
    def folded(self) -> pa.ChunkedArray:
        """(M,) texts without case and needless white space: equal ones are the same text."""
        return folded(self.table["text"].cast(pa.large_string()))

    @cached_property
    def _columns(self) -> Any:
        """(D, M) of a sparse part, as rows of columns."""
        return self.vectors.T.tocsr()

    def without(self, rows: NDArray[np.int64]) -> "Segment":
        """The same with these rows removed."""
        alive = self.alive.copy()
        alive[rows] = False
        return self.changed(alive=alive, removed_file=None)

    def in_groups(self, members: Memberships) -> "Segment":
        """The same with other groups."""
        return self if members.same_as(self.members) else self.changed(members=members, groups_file=None)

    def changed(self, **changes: Any) -> "Segment":
        """A changed copy, which keeps what was made of texts and vectors."""
        changed = replace(self, **changes)
        changed.__dict__.update({name: self.__dict__[name] for name in ("folded", "_columns") if name in self.__dict__})
        return changed

    def search(self, queries: Matrix, k: int, *, exact: bool = False, before: NDArray[np.int64] | None = None) -> Hits:
        """The `k` most similar texts of each of the (Q, D) queries.

        Args:
            queries: (Q, D).
            k: at least 1.
            exact: compare with all texts, where there are cells.
            before: (Q,) only rows below this one are found, for an exact search. None: all rows.

        Raises:
            ValueError: if the vectors do not fit, or a similarity is not a number.
        """
        if queries.shape[1] != self.vectors.shape[1]:
            raise ValueError(f"expected vectors of {queries.shape[1]} columns, got {self.vectors.shape[1]}")
        if self.cells is None or exact or before is not None:
            return self._search_all(queries, k, before)
        step = range(0, queries.shape[0], QUERIES)
        found = [
            self._in_cells(self.cells, queries[at : at + QUERIES], at, lambda asked, rows: self._hits(asked, rows, k))
            for at in step
        ]
        return Hits.joined(found).nearest(k)

    def above(self, queries: Matrix, least: float, *, most: int, before: NDArray[np.int64] | None = None) -> Hits:
        """The texts whose dot products with the (Q, D) queries reach a number, in no order.

        Where there are cells, only those of the cells that a search visits are found, unless `before` is given.

        Args:
            queries: (Q, D).
            least: the dot product; of sparse vectors, texts that share no term are not found.
            most: of each query, about: the most similar ones, where there are very many.
            before: as in `search`.

        Raises:
            ValueError: if a similarity is not a number.
        """
        if self.cells is not None and before is None:
            step = range(0, queries.shape[0], QUERIES)
            return Hits.joined(
                [
                    self._in_cells(
                        self.cells, queries[at : at + QUERIES], at, lambda asked, rows: self._above(asked, rows, least)
                    )
                    for at in step
                ]
            )
        count = self.vectors.shape[0]
        width = count if sparse.issparse(self.vectors) else min(ROWS, count)
        step = range(0, queries.shape[0], max(1, BLOCK // max(1, width)))
        found = []
        for first in step:
            hits = Hits.joined([])
            for at in range(0, count, max(1, width)):
                part = self._above(queries[first : first + step.step], slice(at, min(at + width, count)), least)
                if before is not None:
                    part = part.at(part.row < before[first + part.query])
                hits = Hits.joined([hits, part])
                hits = hits if len(hits.query) <= BLOCK else hits.nearest(most)
            found.append(replace(hits, query=hits.query + first))
        return Hits.joined(found)

    def _search_all(self, queries: Matrix, k: int, before: NDArray[np.int64] | None) -> Hits:
        count = self.vectors.shape[0]
        if not sparse.issparse(self.vectors):
            return Hits(*nearest_rows(queries, self.vectors, k, alive=self.alive, before=before)).nearest(k)
        step = max(1, BLOCK // max(1, count))
        found = []
        for first in range(0, queries.shape[0], step):
            limit = None if before is None else before[first : first + step]
            hits = self._hits(queries[first : first + step], slice(0, count), k, limit).nearest(k)
            found.append(replace(hits, query=hits.query + first))
        return Hits.joined(found)

    def _in_cells(
        self, cells: Cells, queries: NDArray[np.float32], first: int, hits_of: Callable[[Matrix, slice], Hits]
    ) -> Hits:
        """What some queries, the first of which has this number, find in the cells that they visit."""
        visited = min(PROBES, len(cells.centres))
        near, _ = largest(_numbers(queries @ cells.centres.T), visited)
        order = np.argsort(near, axis=None, kind="stable")
        asking, cell = order // visited, near.ravel()[order]
        edges = np.flatnonzero(np.diff(cell, prepend=-1, append=-1))
        found = []
        for start, end in pairwise(edges):
            rows = slice(*(int(at) for at in cells.starts[cell[start] : cell[start] + 2]))
            if rows.start < rows.stop:
                hits = hits_of(queries[asking[start:end]], rows)
                found.append(replace(hits, query=asking[start:end][hits.query] + first))
        return Hits.joined(found)

    def _above(self, queries: Matrix, rows: slice, least: float) -> Hits:
        """Those of these rows whose dot products reach a number."""
        if sparse.issparse(self.vectors):
            near = (queries @ self._columns).tocoo()
            kept = (near.data >= least) & (near.data > 0)
            query, row, similarity = near.row[kept], near.col[kept], near.data[kept]
            _numbers(near.data)
        else:
            vectors = self.vectors[rows]
            for side in (queries, vectors):
                _numbers(np.einsum("nd,nd->n", side, side))
            query, row, similarity = links_between(np.ascontiguousarray(queries), vectors, least)
        hits = Hits(query.astype(np.int64), row.astype(np.int64) + rows.start, similarity.astype(np.float32))
        return hits.at(self.alive[hits.row])

    def _hits(self, queries: Matrix, rows: slice, k: int, before: NDArray[np.int64] | None = None) -> Hits:
        """At least the `k` most similar of these rows, and all that are as similar as the last of them; few others."""
        if sparse.issparse(self.vectors):
            scores = (queries @ self._columns).toarray().astype(np.float32, copy=False)
            scores[scores <= 0] = -np.inf
        else:
            scores = np.asarray(queries @ self.vectors[rows].T)
        alive = self.alive[rows]
        if not alive.all():
            scores[:, ~alive] = -np.inf
        if before is not None:
            scores[np.arange(rows.start, rows.stop) >= before[:, None]] = -np.inf
        least = reached_by(_numbers(scores), min(k, scores.shape[1]))
        query, row = np.nonzero((scores >= least[:, None]) & (scores > -np.inf))
        return Hits(query, row + rows.start, scores[query, row])

    def save(self, folder: Path) -> None:
        """Write the part to `folder`, without what may change: which texts were removed, and groups."""
        pq.write_table(self.table, folder / TEXTS, write_page_checksum=True)
        if sparse.issparse(self.vectors):
            arrays = {"data": self.vectors.data, "indices": self.vectors.indices, "indptr": self.vectors.indptr}
            shape = np.array(self.vectors.shape, np.int64)
            save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()} | {"shape": shape}, folder / SPARSE)
        else:
            np.save(folder / DENSE, self.vectors, allow_pickle=False)
        if self.cells is not None:
            save_file({"centres": self.cells.centres, "starts": self.cells.starts}, folder / CELLS)
        mode = (folder / TEXTS).stat().st_mode
        for file in folder.iterdir():  # safetensors lets nobody else read its files
            file.chmod(stat.S_IMODE(mode))

    @classmethod
    def load(cls, folder: Path, *, texts: int, removed_file: str | None, groups_file: str | None) -> "Segment":
        """Read what `save` wrote; dense vectors are memory-mapped.

        Args:
            folder: of the part.
            texts: how many there are.
            removed_file: name of the file that says which were removed, None if none was.
            groups_file: name of the file with the groups, None if they are those of the table.

        Raises:
            ValueError: if the files do not fit each other.
        """
        table = pq.ParquetFile(folder / TEXTS, memory_map=True, page_checksum_verification=True).read()
        require(table.schema.equals(SCHEMA), f"{TEXTS} has other columns: {table.schema.names}")
        require(table.num_rows == texts, f"{TEXTS} has {table.num_rows} rows, expected {texts}")
        require(not any(column.null_count for column in table.columns), f"a value is missing in {TEXTS}")
        vectors = _read_sparse(folder / SPARSE) if (folder / SPARSE).exists() else _read_dense(folder / DENSE)
        require(vectors.shape[0] == texts, f"there are {vectors.shape[0]} vectors, expected {texts}")
        cells = _read_cells(folder / CELLS, vectors) if (folder / CELLS).exists() else None
        alive = np.ones(texts, bool)
        if removed_file is not None:
            removed = np.load(folder / removed_file, allow_pickle=False)
            require(removed.dtype == np.int64 and removed.ndim == 1, f"{removed_file} has no row numbers")
            require(((removed >= 0) & (removed < texts)).all(), f"{removed_file} names rows that are not there")
            alive[removed] = False
        members = Memberships.of(table["group"].to_numpy())
        if groups_file is not None:
            array = np.load(folder / groups_file, allow_pickle=False)
            fit = array.dtype == np.int64 and array.shape == (texts, 3)
            require(fit, f"{groups_file} has not three numbers for each of {texts} texts")
            members = Memberships.from_array(array)
        return cls(vectors, table, alive, members, cells, folder.name, removed_file, groups_file)


def cells_of(vectors: NDArray[np.float32], *, seed: int = 0) -> tuple[Cells, NDArray[np.int64]]:
    """About √M cells of dense vectors, as `search.Index` has them, and the (M,) rows in their order."""
    import faiss  # slow to import, and small indexes do without

    count, dimensions = vectors.shape
    faiss.omp_set_num_threads(1)  # another order of sums would give other cells
    points = {"min_points_per_centroid": 1, "max_points_per_centroid": PER_CENTRE}
    kmeans = faiss.Kmeans(dimensions, round(math.sqrt(count)), niter=ROUNDS, seed=seed, spherical=True, **points)
    kmeans.train(np.ascontiguousarray(vectors, np.float32))
    centres = np.ascontiguousarray(kmeans.centroids, np.float32)
    step = max(1, BLOCK // len(centres))
    nearest = [np.argmax(vectors[at : at + step] @ centres.T, axis=1) for at in range(0, count, step)]
    cell = np.concatenate(nearest)
    order = np.argsort(cell, kind="stable")
    return Cells(centres, np.searchsorted(cell[order], np.arange(len(centres) + 1))), order


def _numbers(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores, none of which may be NaN."""
    require(not np.isnan(scores.max(initial=0)), "a similarity is not a number")
    return scores


def _read_dense(file: Path) -> NDArray[np.float32]:
    vectors: NDArray[np.float32] = np.load(file, mmap_mode="r", allow_pickle=False)
    require(vectors.dtype == np.float32 and vectors.ndim == 2, f"{file.name} has no rows of 32-bit numbers")
    return vectors


def _read_sparse(file: Path) -> Any:
    arrays = load_file(file)
    wanted = {"data", "indices", "indptr", "shape"}
    require(set(arrays) == wanted, f"{file.name} has other arrays: {sorted(arrays)}")
    kinds = {name: array.dtype.kind for name, array in arrays.items()}
    require(kinds == {"data": "f", "indices": "i", "indptr": "i", "shape": "i"}, f"{file.name} has other numbers")
    require(all(array.ndim == 1 for array in arrays.values()) and len(arrays["shape"]) == 2, f"{file.name} is no CSR")
    shape = tuple(int(size) for size in arrays["shape"])
    vectors = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    vectors.check_format(full_check=True)  # SciPy's products read outside an array that is wrong
    return vectors


def _read_cells(file: Path, vectors: Matrix) -> Cells:
    arrays = load_file(file)
    require(set(arrays) == {"centres", "starts"}, f"{file.name} has other arrays: {sorted(arrays)}")
    centres, starts = arrays["centres"], arrays["starts"]
    fit = centres.dtype == np.float32 and centres.ndim == 2 and centres.shape[1] == vectors.shape[1]
    fit = fit and starts.dtype == np.int64 and starts.shape == (len(centres) + 1,) and len(centres) > 0
    fit = fit and starts[0] == 0 and starts[-1] == vectors.shape[0] and bool((np.diff(starts) >= 0).all())
    require(fit and not sparse.issparse(vectors), f"the cells of {file.name} are not those of the vectors")
    return Cells(centres, starts)
