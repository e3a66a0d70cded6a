"""Denoising autoencoder whose embeddings also keep groups together (with the `denoising_triplet` objective).

Okura, Tagami and Tajima, Article De-duplication Using Distributed Representations, WWW 2016 companion;
as coded in louislung/DAE_RNN_News_Recommendation, with tied weights.

    x̃ ~ corrupt(x)                         a bag of words with some words masked
    h  = f(x̃ W + b) − f(b)                 so that an empty text has h = 0
    y  = g(h Wᵀ + c)                       reconstruction of the clean x; here only its logits

Shape letters: B texts, V words, E embedding dimensions.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, LinearLogits, Reconstruction, SparseRows
from twicetold.layers.corruption import Corruption, corrupt
from twicetold.layers.first_layer import product, xavier
from twicetold.layers.two_tower import TwoTower

ACTIVATIONS = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}


class DenoisingAutoencoder(TwoTower):
    """One hidden layer, tied weights.

    Args:
        width: V, number of words.
        hidden: E, embedding dimensions.
        activation: f, of the hidden layer.
        corruption: how the input is corrupted in training.
        corruption_level: its strength, see `layers.corruption`.
        decay_when_encoding: encode (1 − level)·x, the expected value of masked input, outside training, as the
            reference does.
    """

    def __init__(
        self,
        *,
        width: int,
        hidden: int,
        activation: Literal["sigmoid", "tanh"],
        corruption: Corruption,
        corruption_level: float,
        decay_when_encoding: bool,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, hidden))
        xavier(self.weight)
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.visible_bias = nn.Parameter(torch.zeros(width))
        self.activation = ACTIVATIONS[activation]
        self.corruption: Corruption = corruption
        self.level = corruption_level
        self.decay_when_encoding = decay_when_encoding

    def encode(self, features: SparseRows) -> Encoding:
        """Embed; in training also reconstruct: logits (B, V), as factors, of the target, the clean rows."""
        if not self.training:
            scaled = corrupt(features, "decay", self.level) if self.decay_when_encoding else features
            return Encoding(self.hide(scaled))
        embedding = self.hide(corrupt(features, self.corruption, self.level))
        logits = LinearLogits(embedding, self.weight, self.visible_bias)  # (B, E) -> (B, V)
        return Encoding(embedding, Reconstruction(logits, features))

    def hide(self, rows: SparseRows) -> Float[Tensor, "B E"]:
        """Return f(x W + b) − f(b)."""
        hidden = product(rows, self.weight)  # sparse (B, V) -> (B, E)
        return self.activation(hidden + self.hidden_bias) - self.activation(self.hidden_bias)
