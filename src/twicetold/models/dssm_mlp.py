"""DSSM with a network in place of the parameter-free cosine: it compares two embeddings by what it has learnt.

The network sees [u, v, |u − v|, u ∘ v] of the embeddings u and v, as in InferSent (Conneau et al., EMNLP 2017, figure
1), in both orders, so that it does not matter which text comes first. The cosine stays beside it as one more term: it
keeps the embeddings fit for search, and training starts where DSSM does.

    s(Q, D) = a · cos(u, v) + ½ [mlp(u, v) + mlp(v, u)]           log-odds of "says the same"

Dimensions of the tower's last layer may be for the network alone, so that the cosine does without them.

Shape letters: B texts or pairs, V columns, E embedding dimensions, C dimensions for the network alone, D = E + C.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.hashing import Activation, HashingTower, comparing_network
from twicetold.layers.two_tower import Comparing, divided


class DssmMlp(Comparing):
    """A DSSM tower, and a network that compares.

    Args:
        width: V, number of feature columns.
        hidden: units of the hidden layers of the tower.
        embedding: E.
        own: C, or 0.
        init_std: standard deviation of the first layer's weights at the start; None: as published for DSSM, so the more
            columns, the less.
        head: units of the hidden layers of the comparing network.
        scale: a at the start of training.
        activation: after each layer.
        batch_norm: normalise over the batch before each activation of the tower.
        dropout: share of hidden units, of the tower and of the head's input too, that a training step leaves out.
        input_dropout: share of stored entries that a training step leaves out.
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
        activation: Activation,
        batch_norm: bool,
        dropout: float,
        input_dropout: float,
    ) -> None:
        super().__init__()
        self.tower = HashingTower(
            width,
            sizes=[*hidden, embedding + own],
            activation=activation,
            batch_norm=batch_norm,
            dropout=dropout,
            input_dropout=input_dropout,
        )
        if init_std is not None:
            nn.init.normal_(self.tower.hashing.weight, std=init_std)
        self.own = own
        self.scale = nn.Parameter(torch.tensor(scale))
        self.head = comparing_network(4 * (embedding + own), head, activation=activation, dropout=dropout)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known word."""
        return divided(self.tower(features), self.own)

    def compare(self, u: Float[Tensor, "B D"], v: Float[Tensor, "B D"], cosine: Float[Tensor, " B"]) -> Tensor:
        """(B,) mean of what the network makes of both orders."""
        shared = [(u - v).abs(), u * v]
        orders = torch.stack([torch.cat([u, v, *shared], 1), torch.cat([v, u, *shared], 1)])  # 4 (B, D) -> (2, B, 4D)
        compared: Tensor = self.head(orders).squeeze(2).mean(0)  # (2, B, 4D) -> (B,)
        return compared
