"""The LSTM and the convolutional network that embed a text by its tokens; the families differ in how they compare.

    x_t = E[w_t],  h_t = LSTM(x_t, h_t−1) or tanh of convolutions around t,  v = pooled h_t,  u = v / ‖v‖

A family holds the parts itself, under the names `embed`, `read` or `convolve`, and `pool`.

Shape letters: B texts, K tokens of a batch, V tokens of the vocabulary, E embedding dimensions, D pooled dimensions, H
filters of a window size, N window sizes.
"""

from collections.abc import Iterable, Sequence
from typing import NotRequired, TypedDict, Unpack

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows, unit_vectors
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedConvolution, RaggedLstm, TokenEmbedding, with_known_token


class TokenSettings(TypedDict):
    """Settings of both networks."""

    width: int
    """V, numbers of tokens."""
    embedding: int
    """E, dimensions of a token's vector."""
    pooling: str
    """Over a text's states or windows: `mean`, `max`, `attention`, or of the LSTM `last`."""
    dropout: float
    """Share of the entries of the tokens' vectors that are zeroed in training."""
    frozen: bool
    """Do not train the tokens' vectors."""
    vectors: NotRequired[Float[np.ndarray, "V E"] | None]
    """(V, E) pretrained initial vectors, from the featuriser."""


class LstmSettings(TokenSettings):
    """Settings of the LSTM."""

    hidden: int
    """Dimensions of a state, per direction."""
    bidirectional: bool
    """Use an LSTM in each direction."""


class ConvolutionSettings(TokenSettings):
    """Settings of the convolutional network."""

    filters: int
    """H, for each window size."""
    windows: Sequence[int]
    """Their sizes, odd numbers of tokens."""


class Convolutions(nn.ModuleList):
    """tanh of convolutions over windows of several sizes.

    Args:
        size: E.
        filters: H.
        windows: N sizes.
    """

    def __init__(self, size: int, filters: int, windows: Iterable[int]) -> None:
        super().__init__(RaggedConvolution(size, filters, window=window) for window in windows)

    def forward(self, values: Float[Tensor, "K E"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K NH"]:
        """Return (K, N H) of the windows around each token, size after size."""
        return torch.cat([convolve(values, offsets) for convolve in self], 1).tanh()


def lstm_network(**settings: Unpack[LstmSettings]) -> tuple[TokenEmbedding, RaggedLstm, Pooling]:
    """Return the tokens' vectors, the LSTM and the pooling of its states."""
    bidirectional = settings["bidirectional"]
    embed = _embedding(settings)
    read = RaggedLstm(settings["embedding"], settings["hidden"], bidirectional=bidirectional)
    return embed, read, Pooling(settings["pooling"], read.size, bidirectional=bidirectional)


def convolution_network(**settings: Unpack[ConvolutionSettings]) -> tuple[TokenEmbedding, Convolutions, Pooling]:
    """Return the tokens' vectors, the convolutions and the pooling of their windows."""
    filters, windows = settings["filters"], settings["windows"]
    embed = _embedding(settings)
    convolve = Convolutions(settings["embedding"], filters, windows)
    return embed, convolve, Pooling(settings["pooling"], filters * len(windows))


def embedded(pooled: Float[Tensor, "B D"], features: SparseRows) -> Encoding:
    """Return texts by their pooled vectors, scaled to length 1; zero for a text without a known token."""
    return Encoding(unit_vectors(pooled) * with_known_token(features)[:, None])


def _embedding(settings: TokenSettings) -> TokenEmbedding:
    return TokenEmbedding(
        settings["width"],
        settings["embedding"],
        dropout=settings["dropout"],
        vectors=settings.get("vectors"),
        frozen=settings["frozen"],
    )
