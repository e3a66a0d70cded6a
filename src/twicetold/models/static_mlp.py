"""Static embeddings, compared by a small network instead of the cosine alone.

    u, v   sums of n-gram vectors as in `static`, at length √E
    s(l, r) = a cos(u, v) + mlp([|u − v|, u ∘ v, cos(u, v)])      log-odds of "says the same"

Everything the network sees is the same either way round, so the score is. The comparison features are those of
InferSent (Conneau et al., EMNLP 2017), without the two embeddings themselves.

Shape letters: B texts or pairs, V columns, E embedding dimensions.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import Encoding, SparseRows
from twicetold.modules.corruption import corrupt
from twicetold.modules.first_layer import product
from twicetold.modules.hashing import linear
from twicetold.modules.two_tower import dense


class StaticMlp(nn.Module):
    """A table of vectors, and a network that compares.

    Documents are too many to compare each with each by a network: they are ranked by the cosine of their embeddings.

    Args:
        width: V, number of feature columns.
        embedding: E.
        spread: standard deviation of a vector's entries at the start.
        input_dropout: share of stored entries that a training step leaves out.
        head: units of the hidden layers of the comparing network.
        dropout: share of the head's inputs and hidden units that a training step leaves out.
        sharpness: a at the start of training.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        spread: float,
        input_dropout: float,
        head: Sequence[int],
        dropout: float,
        sharpness: float,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, embedding) * spread)
        self.input_dropout = input_dropout
        self.sharpness = nn.Parameter(torch.tensor(sharpness))
        layers: list[nn.Module] = []
        for inputs, outputs in zip([2 * embedding + 1, *head[:-1]], head, strict=True):
            layers += [nn.Dropout(dropout), linear(inputs, outputs), nn.ReLU()]
        self.head = nn.Sequential(*layers, linear(head[-1], 1))

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known column."""
        if self.training and self.input_dropout:
            features = corrupt(features, "masking", self.input_dropout)
        return Encoding(product(features, self.weight))

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) log-odds that each pair says the same; 0, undecided, where a text has no known column."""
        root = dense(left).shape[1] ** 0.5
        u, v = (normalize(dense(side), dim=1) * root for side in (left, right))
        cosine = cosine_similarity(u, v, dim=1)
        compared: Tensor = self.head(torch.cat([(u - v).abs(), u * v, cosine[:, None]], 1)).squeeze(1)
        known = (u != 0).any(1) & (v != 0).any(1)
        scores: Tensor = (self.sharpness * cosine + compared) * known
        return scores

    def ranking_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Unit vectors: their dot products rank documents, though they are not the scores."""
        unit = normalize(dense(encoding), dim=1)
        return unit, unit
