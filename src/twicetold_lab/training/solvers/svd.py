"""Truncated singular value decomposition of a sparse matrix, in memory of order D·r.

Randomised subspace iteration on XᵀX (Halko, Martinsson and Tropp, "Finding Structure with Randomness", SIAM Review
2011, algorithms 4.4 and 5.1), which is applied to blocks of rows, so that neither (D, D) nor (n, r) is in memory.

Shape letters: n texts, D columns, r rank, R r plus some extra columns.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ROWS = 16_384  # of X at a time
SPARE = 20  # extra columns: the last of r converge slowly
SMALLEST = 1e-3  # of the largest singular value; the square of smaller ones is lost in float32


def truncated_svd(
    matrix: sp.csr_matrix, *, rank: int, rounds: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return leading right singular vectors and values of X.

    Args:
        matrix: (n, D) float32, texts in rows (the papers' X transposed).
        rank: r; fewer if the matrix has fewer singular values above the threshold.
        rounds: number of subspace iterations.
        seed: of the initial subspace.

    Returns:
        U (D, r) with UᵀU = I, and σ (r,), in decreasing order.

    Raises:
        ValueError: if the matrix is zero.
    """
    if not matrix.nnz:
        raise ValueError("the train texts have no feature in common with the vocabulary: X is zero")
    width = min(rank + SPARE, *matrix.shape)
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], width), dtype=np.float32)
    for _ in range(rounds):
        basis = _gram_times(matrix, np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    values, vectors = np.linalg.eigh((basis.T @ _gram_times(matrix, basis)).astype(np.float64))
    sigma = np.sqrt(np.maximum(values[::-1][:rank], 0))
    large = sigma > SMALLEST * sigma[0]
    directions = basis @ vectors[:, ::-1][:, :rank][:, large].astype(np.float32)
    return directions, sigma[large].astype(np.float32)


def _gram_times(matrix: sp.csr_matrix, right: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return xᵀX times (D, R)."""
    product = np.zeros_like(right)
    for start in range(0, matrix.shape[0], ROWS):
        block = matrix[start : start + ROWS]
        product += block.T @ (block @ right)
    return product
