"""DSSM: word hashing and dense layers, trained with an in-batch softmax (objective `info_nce_dssm`).

Huang et al., Learning Deep Structured Semantic Models for Web Search using Clickthrough Data, CIKM 2013.

    x  counts of letter trigrams            #good# is #go, goo, ood, od#
    y  = tanh(W₃ tanh(W₂ tanh(W₁ x + b₁) + b₂) + b₃)
    R(Q, D) = cos(y_Q, y_D)

Shape letters: B texts, V letter trigrams, E embedding dimensions.
"""

from collections.abc import Sequence
from typing import Unpack

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from twicetold.encoding import Encoding, Roles, SparseRows
from twicetold.layers.hashing import HashingTower, TowerSettings
from twicetold.layers.two_tower import DotProduct, dense


class Dssm(DotProduct):
    """One tower for both texts, or one each.

    With two towers a text has two embeddings, as a query and as a document. The score is the mean of
    cos(query, document) over both directions, so that it is symmetric.

    Args:
        width: V, number of letter trigrams.
        hidden: units of the hidden layers.
        embedding: E.
        shared: one tower for both texts.
        tower: settings of each tower, see `TowerSettings`.
    """

    def __init__(
        self, *, width: int, hidden: Sequence[int], embedding: int, shared: bool, **tower: Unpack[TowerSettings]
    ) -> None:
        super().__init__()
        sizes = [*hidden, embedding]
        self.query = HashingTower(width, sizes=sizes, **tower)
        self.document = None if shared else HashingTower(width, sizes=sizes, **tower)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E), or (B, 2E) with two towers; in training, these also return `Roles`."""
        query: Tensor = self.query(features)
        if self.document is None:
            return Encoding(query)
        document: Tensor = self.document(features)
        both = torch.cat([normalize(query, dim=1), normalize(document, dim=1)], dim=1) / 2**0.5  # 2 (B, E) -> (B, 2E)
        return Encoding(both, Roles(query[:, None], document[:, None]) if self.training else None)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Return vectors whose dot products are the scores; of two towers, [query | document], [document | query]."""
        if self.document is not None:
            return super().search_vectors(encoding)
        unit = normalize(dense(encoding), dim=1)
        return unit, unit
