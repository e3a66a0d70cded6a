"""Two towers for two kinds of text: one reads queries, the other documents, and the score is a cosine.

Where a query is a text of another kind than a document (a title and a body, a question and an answer), a network for
each may read it better than one for both. Huang et al. (DSSM, CIKM 2013) and Shen et al. (CDSSM) share one network;
Karpukhin et al. (Dense Passage Retrieval, EMNLP 2020, section 3.1) have two. The networks here are those of DSSM, or
sums of n-gram vectors.

    q = tower_q(x),  d = tower_d(x)                                 the two towers, which begin with the same weights
    s(l, r) = cos(q_l, d_r)                                         directed: the left text is the query
    s(l, r) = (cos(q_l, d_r) + cos(q_r, d_l)) / 2                   else: either text may be it, so that s is symmetric

An objective compares the queries of left texts with the documents of right texts, so training never sees
cos(q_r, d_l). Of two texts of one kind it is worth as much, and the mean is a better score. Of a title and a body it is
the answer of towers to texts that they were not made for.

Shape letters: B texts or pairs, V feature columns, E embedding dimensions.
"""

from collections.abc import Sequence
from typing import Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, Roles, SparseRows, unit_vectors
from twicetold.layers.hashing import HashingLayer, HashingTower, TowerSettings
from twicetold.layers.two_tower import DotProduct, dense


class QueryDocument(DotProduct):
    """A tower for queries and one for documents.

    Args:
        width: V.
        hidden: units of the hidden layers of each tower; None: a sum of vectors, without layers.
        embedding: E.
        directed: the left text of a pair is the query and the right one the document; false: the mean of both
            directions.
        tower: settings of each tower with layers, see `TowerSettings`.
    """

    def __init__(
        self,
        *,
        width: int,
        hidden: Sequence[int] | None,
        embedding: int,
        directed: bool,
        **tower: Unpack[TowerSettings],
    ) -> None:
        super().__init__()
        self.directed = directed

        def made() -> nn.Module:
            if hidden is None:
                return HashingLayer(width, embedding)
            return HashingTower(width, sizes=[*hidden, embedding], **tower)

        self.query, self.document = made(), made()
        self.document.load_state_dict(self.query.state_dict())

    def encode(self, features: SparseRows) -> Encoding:
        """Embed in both roles: (B, 2E), unit vectors side by side; in training also as `Roles`, (B, 1, E) each."""
        query, document = (unit_vectors(tower(features)) for tower in (self.query, self.document))
        both = torch.cat([query, document], dim=1)  # 2 (B, E) -> (B, 2E)
        return Encoding(both, Roles(query[:, None], document[:, None]) if self.training else None)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Return vectors whose dot products are the scores: query and document, or [q | d] / √2 and [d | q] / √2."""
        if self.directed:
            query, document = dense(encoding).chunk(2, dim=1)
            return query, document
        return super().search_vectors(Encoding(dense(encoding) / 2**0.5))
