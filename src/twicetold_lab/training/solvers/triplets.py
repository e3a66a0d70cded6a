"""The triplet problem in coordinates: the anchors within the margin (Λ), and their gradient (K).

Tang and Aw, FILM, arXiv:2010.05523, equations 4 to 13. Texts are rows v of V (n, r), a metric is M = P S Pᵀ, embeddings
are Y = V P √S, so that sim(y, y') = vᵀ M v'. For anchor i with triplets 𝒯_i:

    z_i = Σ_{(i,j,k) ∈ 𝒯_i} (sim(y_i, y_k) − sim(y_i, y_j)) / (|𝒯_i| + 1),   λ_i = 1 if z_i + m > 0, else 0
    Σ_i max(0, z_i + m) = tr(M K) + m tr Λ,   K = −Vᵀ C T Λ V,   T = diag(1 / (|𝒯_i| + 1))

with C[j, i] += 1, C[k, i] −= 1 for each triplet: a sparse matrix. M is symmetric, so only the symmetric
part of K matters, which is computed here. The margin is outside the sum over triplets, as in equation 10; equations 4
to 7 have it inside, which is another loss.

With cosines, sim also depends on the lengths of Vᵀ M v. K is then the derivative of Σ_i λ_i z_i with respect to M:
the entries of C are divided by the lengths |y_i| |y_j|, and its diagonal gets −½ sim / |y|² of each text of a sim.

Shape letters: n texts, T triplets, A anchors, r rank, d embedding dimensions.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ROWS = 16_384  # of V at a time
Similarity = Literal["dot", "cosine"]
Indices: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.floating]


@dataclass(frozen=True)
class Pull:
    """Loss and gradient of the anchors within the margin."""

    matrix: NDArray[np.float64]
    """(r, r) −K, symmetric: a descent direction of M."""
    loss: float
    """Σ_i max(0, z_i + m)."""
    active: int
    """tr Λ, number of anchors within the margin."""


class RowTriplets:
    """Triplets (i, j, k) of rows of V.

    Args:
        anchor: (T,) i.
        positive: (T,) j; may be i itself, whose cosine with itself is 1.
        negative: (T,) k.
        similarity: of embeddings.
    """

    def __init__(self, *, anchor: Indices, positive: Indices, negative: Indices, similarity: Similarity) -> None:
        self.anchor, self.positive, self.negative = anchor, positive, negative
        self.similarity = similarity
        _, self.owner, counts = np.unique(anchor, return_inverse=True, return_counts=True)
        self.share = 1 / (counts + 1)
        """(A,) diagonal of T."""

    def pull(self, coordinates: Floats, embedding: Floats, *, margin: float) -> Pull:
        """Return loss and −K at a metric.

        Args:
            coordinates: (n, r) V.
            embedding: (n, d) Y.
            margin: m.
        """
        inverse = np.ones(len(embedding)) if self.similarity == "dot" else _inverse_length(embedding)
        to_positive = _row_dots(embedding, inverse, self.anchor, self.positive)
        to_negative = _row_dots(embedding, inverse, self.anchor, self.negative)
        excess = self.share * np.bincount(self.owner, to_negative - to_positive, len(self.share)) + margin  # z_i + m
        weight = (self.share * (excess > 0))[self.owner]
        within = np.flatnonzero(weight)
        matrix = self._weighted(within, weight[within], to_positive[within], to_negative[within], inverse)
        pulled = _quadratic(coordinates, matrix)
        return Pull((pulled + pulled.T) / 2, float(np.maximum(excess, 0).sum()), int((excess > 0).sum()))

    def _weighted(
        self, chosen: Indices, weight: Floats, to_positive: Floats, to_negative: Floats, inverse: Floats
    ) -> sp.csr_matrix:
        """Return (n, n) the transpose of C T Λ, and for cosines with lengths and diagonal."""
        i, j, k = self.anchor[chosen], self.positive[chosen], self.negative[chosen]
        rows, columns = [i, i], [j, k]
        values = [weight * inverse[i] * inverse[j], -weight * inverse[i] * inverse[k]]
        if self.similarity == "cosine":
            rows, columns = [*rows, i, j, k], [*columns, i, j, k]
            values += [weight * (to_negative - to_positive) / 2 * inverse[i] ** 2]
            values += [-weight * to_positive / 2 * inverse[j] ** 2, weight * to_negative / 2 * inverse[k] ** 2]
        size = len(inverse)
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sp.coo_matrix(entries, shape=(size, size)).tocsr()


def _quadratic(coordinates: Floats, matrix: sp.csr_matrix) -> NDArray[np.float64]:
    """Return (r, r) Vᵀ W V, over the non-empty rows of W."""
    rank = coordinates.shape[1]
    total = np.zeros((rank, rank))
    used = np.flatnonzero(np.diff(matrix.indptr))
    weights = matrix.astype(coordinates.dtype)
    for start in range(0, len(used), ROWS):
        rows = used[start : start + ROWS]
        total += coordinates[rows].T @ (weights[rows] @ coordinates)
    return total


def _row_dots(embedding: Floats, scale: Floats, left: Indices, right: Indices) -> NDArray[np.float64]:
    dots = np.empty(len(left))
    for start in range(0, len(left), ROWS):
        rows = slice(start, start + ROWS)
        dots[rows] = np.einsum("td,td->t", embedding[left[rows]], embedding[right[rows]])
    dots *= scale[left]
    dots *= scale[right]
    return dots


def _inverse_length(embedding: Floats) -> NDArray[np.float64]:
    """Return (n,) 1 / |y|, and 0 for a zero embedding."""
    length = np.sqrt(np.einsum("nd,nd->n", embedding, embedding)).astype(np.float64)
    inverse: NDArray[np.float64] = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return inverse
