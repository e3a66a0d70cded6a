"""Lexical scoring: the embedding of a text is its sparse feature row; nothing is trained by gradient.

Shape letters: B pairs or texts, K stored entries of a batch, V columns.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows


class SparseTower(nn.Module):
    """Base of the lexical families: cosine of the sparse feature rows.

    A text without a known word has cosine 0 with every text.

    Args:
        width: V.
    """

    score_is_dot_product = True

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.width = width

    def encode(self, features: SparseRows) -> Encoding:
        """Return the rows themselves, scaled to unit length."""
        return Encoding(unit_rows(features))

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) score of each pair; higher means more alike."""
        queries, _ = self.search_vectors(left)
        _, documents = self.search_vectors(right)
        return row_dots(queries, documents)

    def search_vectors(self, encoding: Encoding) -> tuple[SparseRows, SparseRows]:
        """Return sparse rows whose dot products are the scores, as queries and as documents."""
        rows = sparse(encoding)
        return rows, rows


def sparse(encoding: Encoding) -> SparseRows:
    """Return the embedding of a lexical family.

    Raises:
        TypeError: if the embedding is dense.
    """
    if not isinstance(encoding.embedding, SparseRows):
        raise TypeError("expected sparse rows as embedding, got a dense tensor")
    return encoding.embedding


def unit_rows(rows: SparseRows) -> SparseRows:
    """Return rows divided by their Euclidean length; an empty row stays empty."""
    values, row = rows.values_or_ones(), rows.rows()
    squares = torch.zeros(len(rows), device=values.device).index_add_(0, row, values.square())
    return SparseRows(rows.indices, rows.offsets, values * squares.rsqrt()[row], rows.width)


def row_dots(left: SparseRows, right: SparseRows) -> Float[Tensor, " B"]:
    """Return (B,) dot product of row b of `left` and row b of `right`.

    Entries are keyed by (row, column); within a row the columns must be sorted, so that the keys are sorted too
    and a match is one binary search.
    """
    left_keys, right_keys = (rows.rows() * rows.width + rows.indices for rows in (left, right))
    dots = torch.zeros(len(left), device=left_keys.device)
    if not len(right_keys):
        return dots
    place = torch.searchsorted(right_keys, left_keys).clamp_(max=len(right_keys) - 1)
    shared = right_keys[place] == left_keys
    products = left.values_or_ones()[shared] * right.values_or_ones()[place[shared]]
    return dots.index_add_(0, left.rows()[shared], products)
