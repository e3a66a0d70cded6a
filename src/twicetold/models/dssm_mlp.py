"""DSSM with a network that compares the two embeddings, added to the cosine.

The input of the network is [u, v, |u − v|, u ∘ v] of the embeddings u and v, as in InferSent (Conneau et al., EMNLP
2017, figure 1). The score is the mean over both orders, so it is symmetric. The cosine term keeps the embeddings usable
for search, and training starts as for DSSM.

    s(Q, D) = a · cos(u, v) + ½ [mlp(u, v) + mlp(v, u)]           log-odds of a duplicate

A part of the dimensions of the tower's last layer can be reserved for the network; the cosine ignores them.

Shape letters: B texts or pairs, V columns, E embedding dimensions, C dimensions for the network only, D = E + C.
"""

from collections.abc import Sequence
from typing import Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.hashing import HashingTower, TowerSettings, comparing_network
from twicetold.layers.two_tower import ComparingTowers, divided


class DssmMlp(ComparingTowers):
    """A DSSM tower and a comparing network.

    Args:
        width: V, number of feature columns.
        hidden: units of the hidden layers of the tower.
        embedding: E.
        own: C, or 0.
        init_std: standard deviation of the first layer's weights at the start; None: as published for DSSM, where it
            decreases with the number of columns.
        head: units of the hidden layers of the comparing network.
        scale: a at the start of training.
        tower: settings of the tower, see `TowerSettings`; the head uses its `activation` and `dropout`.
    """

    def __init__(
        self,
        *,
        width: int,
        hidden: Sequence[int],
        embedding: int,
        own: int,
        init_std: float | None,
        head: Sequence[int],
        scale: float,
        **tower: Unpack[TowerSettings],
    ) -> None:
        super().__init__()
        self.tower = HashingTower(width, sizes=[*hidden, embedding + own], **tower)
        if init_std is not None:
            nn.init.normal_(self.tower.hashing.weight, std=init_std)
        self.own = own
        self.scale = nn.Parameter(torch.tensor(scale))
        self.head = comparing_network(
            4 * (embedding + own), head, activation=tower["activation"], dropout=tower["dropout"]
        )

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known word."""
        return divided(self.tower(features), self.own)

    def compare(self, u: Float[Tensor, "B D"], v: Float[Tensor, "B D"], cosine: Float[Tensor, " B"]) -> Tensor:
        """Return (B,) mean output of the network over both orders."""
        shared = [(u - v).abs(), u * v]
        orders = torch.stack([torch.cat([u, v, *shared], 1), torch.cat([v, u, *shared], 1)])  # 4 (B, D) -> (2, B, 4D)
        compared: Tensor = self.head(orders).squeeze(2).mean(0)  # (2, B, 4D) -> (B,)
        return compared
