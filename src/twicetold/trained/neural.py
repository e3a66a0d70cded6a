"""Modules of PyTorch in use: scores and search vectors in batches, without gradients.

Shape letters: N texts, P pairs, M texts that are asked for, D columns of the search vectors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from twicetold.encoding import SparseRows
from twicetold.features.rows import CsrRows
from twicetold.models.protocol import Comparing, Encoder, Searchable
from twicetold.neighbours.nearest import Matrix

BATCH = 1024  # texts or pairs encoded at once


@dataclass(frozen=True)
class Neural:
    """A family's module, with the members of a `ColumnEncoder`.

    Args:
        encoder: any family.
    """

    encoder: Encoder

    @property
    def searchable(self) -> bool:
        """True if it embeds each text alone."""
        return isinstance(self.encoder, Searchable)

    @property
    def score_is_dot_product(self) -> bool:
        """True if it scores by these vectors."""
        return isinstance(self.encoder, Searchable) and self.encoder.score_is_dot_product

    def search_matrices(self, rows: CsrRows, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """See `ReadTexts.search_matrices`, of rows of a corpus."""
        encoder = self.encoder
        if not isinstance(encoder, Searchable):
            raise TypeError(
                f"{type(encoder).__name__} scores pairs only, it has no vector per text: "
                "use it on labelled or graded pairs, or choose a family with search_vectors"
            )
        queries, documents = [], []
        # Texts of one length together: a batch of sequences is as wide as its longest.
        order = np.argsort(rows.indptr[texts + 1] - rows.indptr[texts], kind="stable")
        with self._evaluating() as device:
            for start in range(0, len(texts), BATCH):
                batch = rows.gather(texts[order[start : start + BATCH]]).to(device)
                query, document = encoder.search_vectors(self.encoder.encode(batch))
                queries.append(query)
                documents.append(query if document is query else document)
        same = all(q is d for q, d in zip(queries, documents, strict=True))
        back = np.argsort(order)
        left = _stack(queries)[back]
        return left, left if same else _stack(documents)[back]

    def score_pairs(self, rows: CsrRows, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P,) score of each pair, by the family's own `score`."""
        scores = []
        with self._evaluating() as device:
            for start in range(0, len(left), BATCH):
                sides = (rows.gather(side[start : start + BATCH]).to(device) for side in (left, right))
                scores.append(self.encoder.score(*(self.encoder.encode(side) for side in sides)).float().cpu())
        return torch.cat(scores).numpy()

    def pair_features(self, rows: CsrRows, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P, F) features of each pair; F = 0 of a family that has none."""
        encoder = self.encoder
        if not isinstance(encoder, Comparing):
            return np.empty((len(left), 0), np.float32)
        blocks = []
        with self._evaluating() as device:
            for start in range(0, len(left), BATCH):
                sides = (rows.gather(side[start : start + BATCH]).to(device) for side in (left, right))
                blocks.append(encoder.compared(*(self.encoder.encode(side) for side in sides)))
        return np.concatenate(blocks)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the weights by name."""
        return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in self.encoder.state_dict().items()}

    @contextmanager
    def _evaluating(self) -> Iterator[torch.device]:
        """Set evaluation mode without gradients, then restore the mode; yields the encoder's device."""
        training = self.encoder.training
        self.encoder.eval()
        try:
            with torch.inference_mode():
                yield next((t.device for t in self.encoder.state_dict().values()), torch.device("cpu"))
        finally:
            self.encoder.train(training)


def _stack(parts: list[Any]) -> Matrix:
    if len(parts) == 1:
        return matrix_of(parts[0])
    return (
        sp.vstack([matrix_of(p) for p in parts], format="csr")
        if isinstance(parts[0], SparseRows)
        else np.concatenate([matrix_of(p) for p in parts])
    )


def matrix_of(vectors: Tensor | SparseRows) -> Matrix:
    """Return vectors as an array or a SciPy matrix."""
    if isinstance(vectors, Tensor):
        return vectors.detach().float().cpu().numpy()
    parts = (vectors.values_or_ones().cpu().numpy(), vectors.indices.cpu().numpy(), vectors.offsets.cpu().numpy())
    return sp.csr_matrix(parts, shape=(len(vectors), vectors.width))
