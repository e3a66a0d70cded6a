"""A part of an index: some texts with ids, vectors and groups. Only groups change: a removed text has none.

Vectors are memory-mapped, texts are read when they are asked for. A search compares with all texts.

Ties are ranked by position. With sparse vectors a text that shares no term with the query is not found.

Shape letters: M texts of a part, Q queries, D dimensions, k neighbours.
"""

import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy import sparse

from twicetold.dedupe.distinct import folded
from twicetold.errors import require
from twicetold.index.texts import SCHEMA, TEXTS, Texts
from twicetold.neighbours.dense_join import Dense, dense_pairs
from twicetold.neighbours.exact_search import TILE, Hits, nearest_rows, tile_products
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import BLOCK, Matrix

HIGH = 512  # queries of a tile
ROWS = 1 << 16  # dense rows that are compared at once
REMOVED = -2  # group of a text that was removed
DENSE = "vectors.npy"
SPARSE = "vectors.safetensors"


@dataclass(frozen=True)
class Segment:
    """A part of an index.

    Args:
        vectors: (M, D) of the texts as documents; dense float32, or CSR.
        texts: (M,) ids, texts and groups as they were when the part was made.
        groups: (M,) of the texts; `REMOVED` of one that was removed.
        name: of its folder, None if it has not been saved.
        groups_file: the file in that folder with the groups, if they differ from the texts' and have been saved.
    """

    vectors: Matrix
    texts: Texts
    groups: Ints
    name: str | None = None
    groups_file: str | None = None

    @classmethod
    def of(cls, vectors: Matrix, ids: Any, texts: Any, groups: Ints) -> "Segment":
        """Return a part that has not been saved, of (M,) texts in this order."""
        return cls(vectors, Texts(pa.table([ids, texts, groups], schema=SCHEMA)), groups)

    @classmethod
    def merged(cls, parts: Sequence["Segment"]) -> "Segment":
        """Return one part with the texts of several that have not been removed, in the same order."""
        table = pa.concat_tables([part.texts.table.filter(pa.array(part.alive)) for part in parts]).combine_chunks()
        stack = sparse.vstack if sparse.issparse(parts[0].vectors) else np.concatenate
        vectors, groups = stack([part.vectors[part.alive] for part in parts]), [p.groups[p.alive] for p in parts]
        return cls.of(vectors, table["id"], table["text"], np.concatenate(groups))

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """(M,) which texts have not been removed."""
        return np.not_equal(self.groups, REMOVED)

    @property
    def count(self) -> int:
        """Number of texts that have not been removed."""
        return int(np.count_nonzero(self.alive))

    @property
    def groups_differ(self) -> bool:
        """True if groups have changed since the part was made."""
        return not np.array_equal(self.groups, self.texts.column("group").to_numpy())

    @cached_property
    def folded(self) -> pa.ChunkedArray:
        """(M,) texts without case and needless white space: equal ones are the same text."""
        return folded(self.texts.column("text"))

    @cached_property
    def _columns(self) -> Any:
        """(D, M) of a sparse part, as rows of columns."""
        return self.vectors.T.tocsr()

    def in_groups(self, groups: Ints) -> "Segment":
        """Return the same with other groups."""
        return self if np.array_equal(groups, self.groups) else self.changed(groups=groups, groups_file=None)

    def changed(self, **changes: Any) -> "Segment":
        """Return a changed copy, which keeps what was made of texts and vectors."""
        changed = replace(self, **changes)
        changed.__dict__.update({name: self.__dict__[name] for name in ("folded", "_columns") if name in self.__dict__})
        return changed

    def search(self, queries: Matrix, k: int) -> Hits:
        """Return the `k` most similar of all texts for each of the (Q, D) queries.

        Args:
            queries: (Q, D).
            k: at least 1.

        Raises:
            ValueError: if a similarity is not a number.
        """
        shape = queries.shape[0], len(self)

        def products(rows: slice, columns: slice) -> NDArray[np.float32]:
            scores: NDArray[np.float32]
            if sparse.issparse(self.vectors):
                scores = (queries[rows] @ self._columns).toarray().astype(np.float32, copy=False)
                scores[scores <= 0] = -np.inf
            else:
                scores = tile_products(np.ascontiguousarray(queries[rows]), self.vectors[columns])
            alive = self.alive[columns]
            if not alive.all():
                scores[:, ~alive] = -np.inf
            return scores

        high = min(HIGH, max(1, shape[0]))
        tile = high, max(1, TILE // high)
        if sparse.issparse(self.vectors):
            tile = max(1, BLOCK // max(1, len(self))), max(1, len(self))
        return nearest_rows(products, shape, k, tile=tile)

    def above(self, queries: Matrix, least: float, *, most: int, before: NDArray[np.int64] | None = None) -> Hits:
        """Return all texts whose dot products with the (Q, D) queries reach a number, in no order.

        Args:
            queries: (Q, D).
            least: the dot product; of sparse vectors, texts that share no term are not found.
            most: of each query, about: the most similar ones, where there are very many.
            before: (Q,) only rows below this one are found. None: all rows.

        Raises:
            ValueError: if a similarity is not a number.
        """
        wide = max(1, len(self) if sparse.issparse(self.vectors) else min(ROWS, len(self)))
        high, found = max(1, BLOCK // wide), []
        for first in range(0, queries.shape[0], high):
            hits = Hits.joined([])
            for start in range(0, len(self), wide):
                part = self._above(queries[first : first + high], slice(start, start + wide), least)
                part = part if before is None else part.at(part.row < before[first + part.query])
                hits = Hits.joined([hits, part.at(self.alive[part.row])])
                hits = hits if len(hits.query) <= BLOCK else hits.nearest(most)
            found.append(hits.moved(query=first))
        return Hits.joined(found)

    def _above(self, queries: Matrix, rows: slice, least: float) -> Hits:
        """Return those of these rows whose dot products reach a number; of sparse vectors, of all rows."""
        if sparse.issparse(self.vectors):
            near = (queries @ self._columns).tocoo()
            _require_numbers(near.data)
            kept = (near.data >= least) & (near.data > 0)
            query, row, similarity = near.row[kept], near.col[kept], near.data[kept]
        else:
            vectors = self.vectors[rows]
            for side in (queries, vectors):
                _require_numbers(np.einsum("nd,nd->n", side, side))
            query, row, similarity = dense_pairs(np.ascontiguousarray(queries), vectors, least)
        return Hits(query.astype(np.int64), row.astype(np.int64) + rows.start, similarity.astype(np.float32))

    def save(self, folder: Path) -> None:
        """Write the part to `folder`, with the groups when it was made."""
        self.texts.save(folder)
        if sparse.issparse(self.vectors):
            arrays = {"data": self.vectors.data, "indices": self.vectors.indices, "indptr": self.vectors.indptr}
            shape = np.array(self.vectors.shape, np.int64)
            save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()} | {"shape": shape}, folder / SPARSE)
        else:
            np.save(folder / DENSE, self.vectors, allow_pickle=False)
        mode = (folder / TEXTS).stat().st_mode
        for file in folder.iterdir():  # safetensors lets nobody else read its files
            file.chmod(stat.S_IMODE(mode))

    @classmethod
    def load(cls, folder: Path, *, texts: int, groups_file: str | None) -> "Segment":
        """Read what `save` wrote; dense vectors are memory-mapped, texts are read later.

        Args:
            folder: of the part.
            texts: how many there are.
            groups_file: name of the file with the groups, None if they are those of the texts.

        Raises:
            ValueError: if the files do not fit each other.
        """
        rows = Texts(folder)
        require(len(rows) == texts, f"{TEXTS} has {len(rows)} rows, expected {texts}")
        vectors = _read_sparse(folder / SPARSE) if (folder / SPARSE).exists() else _read_dense(folder / DENSE)
        require(vectors.shape[0] == texts, f"there are {vectors.shape[0]} vectors, expected {texts}")
        groups = rows.column("group").to_numpy() if groups_file is None else _read_groups(folder / groups_file, texts)
        return cls(vectors, rows, groups, folder.name, groups_file)


def _require_numbers(scores: NDArray[np.float32]) -> None:
    require(not np.isnan(scores.max(initial=0)), "a similarity is not a number")


def _read_groups(file: Path, texts: int) -> Ints:
    groups: Ints = np.load(file, allow_pickle=False)
    fit = groups.dtype == np.int64 and groups.shape == (texts,)
    require(fit, f"{file.name} has not a number for each of {texts} texts")
    return groups


def _read_dense(file: Path) -> Dense:
    vectors: Dense = np.load(file, mmap_mode="r", allow_pickle=False)
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
