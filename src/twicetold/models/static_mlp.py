"""Static embeddings, compared by the cosine and a small network.

    u, v   sums of the vectors of the columns, scaled to length √E; C more dimensions, for the network only, to √C
    s(l, r) = a cos(u, v) + mlp([|u − v|, u ∘ v, cos(u, v)])      log-odds of a duplicate

The columns are those of `static`. All inputs of the network are symmetric, so the score is. The comparison features are
those of InferSent (Conneau et al., EMNLP 2017), without the two embeddings themselves.

Shape letters: B texts or pairs, V columns, E embedding dimensions, C dimensions for the network only.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.corruption import drop_entries
from twicetold.layers.first_layer import product
from twicetold.layers.hashing import comparing_network
from twicetold.layers.two_tower import ComparingTowers, divided


class StaticMlp(ComparingTowers):
    """A table of vectors, and a network that compares two sums of vectors.

    Args:
        width: V, number of feature columns.
        embedding: E.
        own: C, or 0.
        init_std: standard deviation of a vector's entries at the start.
        input_dropout: share of stored entries that are dropped in training.
        head: units of the hidden layers of the comparing network.
        dropout: share of the head's inputs and hidden units that are dropped in training.
        scale: a at the start of training.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        own: int,
        init_std: float,
        input_dropout: float,
        head: Sequence[int],
        dropout: float,
        scale: float,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, embedding + own) * init_std)
        self.own = own
        self.input_dropout = input_dropout
        self.scale = nn.Parameter(torch.tensor(scale))
        self.head = comparing_network(2 * (embedding + own) + 1, head, activation="relu", dropout=dropout)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known column."""
        features = drop_entries(features, self.input_dropout, self.training)
        return divided(product(features, self.weight), self.own)

    def compare(self, u: Float[Tensor, "B D"], v: Float[Tensor, "B D"], cosine: Float[Tensor, " B"]) -> Tensor:
        """Return (B,) the output of the network."""
        u, v = self._lengthened(u), self._lengthened(v)
        compared: Tensor = self.head(torch.cat([(u - v).abs(), u * v, cosine[:, None]], 1)).squeeze(1)
        return compared

    def _lengthened(self, whole: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return both kinds of dimensions, scaled to entries of mean square 1."""
        searched = whole.shape[1] - self.own
        parts = whole[:, :searched], whole[:, searched:]
        return torch.cat([normalize(part, dim=1) * part.shape[1] ** 0.5 for part in parts], 1)
