"""Symmetrised BM25: the mean of the scores with the left text as query and with the right text as query.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009. BM25 itself is not symmetric.

Shape letters: B texts, V words; feature rows are [query counts (V) | document impacts (V)].
"""

import torch

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.sparse_tower import SparseTower, sparse


class SymmetricBm25(SparseTower):
    """½ · (BM25 of right given left + BM25 of left given right).

    Args:
        width: number of feature columns, twice the number of words.
    """

    def encode(self, features: SparseRows) -> Encoding:
        """Return the rows of counts and impacts, unscaled."""
        return Encoding(features)

    def search_vectors(self, encoding: Encoding) -> tuple[SparseRows, SparseRows]:
        """Return ⟨[tf | impact], ½ [impact | tf]⟩: with halves swapped, so that counts meet impacts."""
        rows = sparse(encoding)
        words = self.width // 2
        swapped = (rows.indices + words) % self.width
        order = torch.argsort(rows.rows() * self.width + swapped)
        halved = rows.values_or_ones()[order] / 2
        return rows, SparseRows(swapped[order], rows.offsets, halved, rows.width)
