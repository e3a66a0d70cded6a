"""The lexical and the static families in use, by NumPy and SciPy alone.

A family of `twicetold.models` is a module of PyTorch, which trains it. Where a text's vector is its feature row, or a
sum of rows of a table, nothing else of PyTorch is needed to use it, so a model folder of one of `FAMILIES` is read as
one of the classes below, whose constructor takes the same settings. Scores are those of the family up to the rounding
of 32 bits (tests/contracts/test_columns.py).

    v = Σ_c x_c E[c]        x: the feature row, E: the table

Shape letters: N texts, K entries of the feature rows, V columns, D dimensions, L entries of a text, n texts of a piece.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.rows import CsrRows
from twicetold.neighbours.nearest import Matrix
from twicetold.neighbours.parallel import in_parallel, serial_products

PIECE = 1 << 17  # numbers that are gathered from the table at once, which stay in cache
FEW = 512  # texts that are not worth a thread
SHORTEST = 1e-12  # length of a vector that is divided by it, as in PyTorch
Floats = NDArray[np.float32]


class ColumnEncoder(ABC):
    """Base of the encoders below."""

    searchable = score_is_dot_product = True
    shapes: Mapping[str, tuple[int, ...]] = {}
    """Of the weights, by the names that they have in the family."""

    def load(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Take the weights, which have these `shapes`."""
        assert set(weights) == set(self.shapes)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the weights."""
        return {}

    def search_matrices(self, rows: CsrRows, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """See `ReadTexts.search_matrices`, of rows of a corpus."""
        if np.array_equal(texts, np.arange(len(rows))):
            return self.vectors(rows)
        taken = rows.to_scipy()[texts]
        values = None if rows.values is None else taken.data
        return self.vectors(CsrRows(taken.indptr, taken.indices, values, rows.width))

    def score_pairs(self, rows: CsrRows, left: NDArray[np.int64], right: NDArray[np.int64]) -> Floats:
        """Raise TypeError: scores are dot products of the vectors."""
        raise TypeError("the scores are dot products of `search_matrices`")

    def pair_features(self, rows: CsrRows, left: NDArray[np.int64], right: NDArray[np.int64]) -> Floats:
        """Return (P, 0): there are none."""
        return np.empty((len(left), 0), np.float32)

    @abstractmethod
    def vectors(self, rows: CsrRows) -> tuple[Matrix, Matrix]:
        """Return (N, D) as queries and as documents; the same object twice where the roles do not differ."""


class CosineOfRows(ColumnEncoder):
    """`tfidf`, `binary_count`: the cosine of feature rows.

    Args:
        width: V.
    """

    def __init__(self, *, width: int) -> None:
        self.width = width

    def vectors(self, rows: CsrRows) -> tuple[Matrix, Matrix]:
        """Return (N, V) rows of length 1; an empty row stays empty."""
        matrix = rows.to_scipy()
        lengths = np.diff(matrix.indptr)
        squares = np.bincount(np.repeat(np.arange(len(rows)), lengths), np.square(matrix.data), len(rows))
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        data = (matrix.data * np.repeat(scale, lengths)).astype(np.float32)
        unit = sp.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        return unit, unit


class Bm25(ColumnEncoder):
    """`bm25`: the sum of counts times impacts, in both directions.

    Args:
        width: twice the number of words.
    """

    def __init__(self, *, width: int) -> None:
        self.width = width

    def vectors(self, rows: CsrRows) -> tuple[Matrix, Matrix]:
        """Return (N, V) [counts | impacts] and half of [impacts | counts]."""
        matrix = rows.to_scipy()
        return matrix, self._swapped(matrix)

    def _swapped(self, matrix: Any) -> Any:
        columns = (matrix.indices + self.width // 2) % self.width
        swapped = sp.csr_matrix((matrix.data / 2, columns, matrix.indptr), shape=matrix.shape)
        swapped.sort_indices()
        return swapped


class Table(ColumnEncoder):
    """Base of the sums of rows of a table, compared by cosine; a text without a known column has the vector 0."""

    table: NDArray[Any]
    """(V, D)."""
    but: int | None = None
    """A column that is left out."""

    def vectors(self, rows: CsrRows) -> tuple[Matrix, Matrix]:
        """Return (N, D) sums of length 1."""
        summed = self.sums(rows)
        length = np.sqrt(np.einsum("nd,nd->n", summed, summed))
        summed /= np.maximum(length, np.float32(SHORTEST))[:, None]
        return summed, summed

    def sums(self, rows: CsrRows) -> Floats:
        """Return (N, D) the sum of each text: texts with as many entries are a stack of matrix products."""
        lengths = np.diff(rows.indptr)
        order = np.argsort(lengths, kind="stable")
        found = np.zeros((len(rows), self.table.shape[1]), np.float32)
        pieces: list[NDArray[np.int64]] = []
        edges = np.flatnonzero(np.diff(lengths[order], prepend=-1, append=-1))
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            numbers = int(lengths[order[start]]) * found.shape[1]
            step = max(1, PIECE // numbers) if numbers else len(rows)
            pieces += [order[at : min(at + step, stop)] for at in range(start, stop, step) if numbers]

        def add(piece: int) -> None:
            texts = pieces[piece]
            count = lengths[texts[0]]
            entries = rows.indptr[texts][:, None] + np.arange(count)  # (n, L)
            columns = rows.indices[entries]
            weights = np.ones(entries.shape, np.float32) if rows.values is None else rows.values[entries]
            if self.but is not None:
                weights = np.where(columns == self.but, np.float32(0), weights)
            vectors = self.table.take(columns, axis=0)  # (n, L, D)
            found[texts] = np.matmul(weights[:, None], vectors)[:, 0]  # (n, 1, L) @ (n, L, D)

        if len(rows) < FEW:
            with serial_products():
                for piece in range(len(pieces)):
                    add(piece)
        else:
            for _ in in_parallel(add, len(pieces)):
                pass
        return found


class StaticTable(Table):
    """`static`. The settings of its training are not used."""

    def __init__(self, *, width: int, embedding: int, init_std: float, input_dropout: float) -> None:
        self.shapes = {"weight": (width, embedding)}

    def load(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Take the table."""
        self.table = weights["weight"].astype(np.float32, copy=False)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the table."""
        return {"weight": self.table}


class PretrainedTable(Table):
    """`pretrained_static`: the table as it was given, or what training made of it.

    Args:
        width: V.
        embedding: D.
        init: how it began; `pretrained` of one that is not trained.
        trained: what training changed; the table holds the change.
        rank: of the change.
        input_dropout: not used.
        vectors: (V, D or more) that are used as they are; None where a trained model is loaded.

    Raises:
        ValueError: if the vectors do not fit, or a setting has another value than the above.
    """

    but = UNKNOWN_TOKEN

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        init: str,
        trained: str,
        rank: int,
        input_dropout: float,
        vectors: NDArray[np.float32] | None = None,
    ) -> None:
        further: dict[str, dict[str, tuple[int, ...]]] = {
            "table": {},
            "low_rank": {"change": (width, rank), "directions": (rank, embedding)},
            "token_weights": {"log_weight": (width,)},
        }
        if trained not in further:
            raise ValueError(f"expected table, low_rank or token_weights as encoder.trained, got {trained!r:.80}")
        self.shapes = {"table": (width, embedding), **further[trained]}
        if vectors is None:
            return
        if (init, trained) != ("pretrained", "table") or len(vectors) != width or vectors.shape[1] < embedding:
            raise ValueError(
                f"expected vectors of {width} columns with {embedding} dimensions or more, that are used as they are; "
                f"got {vectors.shape}, encoder.init={init!r:.80}, encoder.trained={trained!r:.80}"
            )
        self.table = np.ascontiguousarray(vectors[:, :embedding], np.float32)

    def load(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Take the table, and change it as it was trained."""
        values = {name: value.astype(np.float32, copy=False) for name, value in weights.items()}
        self.table = values["table"]
        if "change" in values:
            with serial_products():
                self.table = self.table + values["change"] @ values["directions"]
        elif "log_weight" in values:
            self.table = self.table * np.exp(values["log_weight"])[:, None]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the table.

        Raises:
            TypeError: if training changed it in another form.
        """
        if len(self.shapes) > 1:
            raise TypeError(f"expected a table alone, the model has {', '.join(self.shapes)}: copy its folder")
        return {"table": self.table}


FAMILIES: Mapping[str, type[ColumnEncoder]] = {
    "twicetold.models.tfidf.TfIdfCosine": CosineOfRows,
    "twicetold.models.binary_count.BinaryCountCosine": CosineOfRows,
    "twicetold.models.bm25.SymmetricBm25": Bm25,
    "twicetold.models.static.Static": StaticTable,
    "twicetold.models.pretrained_static.PretrainedStatic": PretrainedTable,
}
"""By the `_target_` of a recipe, which names the module that is trained."""
