"""Siamese CNN: convolutions over windows of tokens and the maximum over time, the same for both texts; cosine.

The network of Kim, Convolutional Neural Networks for Sentence Classification, EMNLP 2014 (arXiv:1408.5882), as the
Siamese baseline of Wang, Hamza and Florian, Bilateral Multi-Perspective Matching, IJCAI 2017 (arXiv:1702.03814).

    x_t = E[w_t]                           a vector for each token
    c_t = tanh(W_n [x_t−k ... x_t+k] + b)  for windows of n = 2k + 1 tokens, zeros beyond the text's ends
    v   = max_t c_t                        for each window size, joined
    embedding = v / ‖v‖                    zero for a text without a known token

Shape letters: B texts, K tokens of a batch, V tokens of the vocabulary, E embedding dimensions, H filters of a window
size, N window sizes.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from twicetold.encoding import Encoding, SparseRows, unit_vectors
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedConvolution, TokenEmbedding, with_known_token
from twicetold.layers.two_tower import TwoTower


class SiameseCnn(TwoTower):
    """Convolutions of several window sizes for both texts.

    Args:
        width: V, numbers of tokens.
        embedding: E, dimensions of a token's vector.
        filters: H, for each window size.
        windows: their sizes, odd numbers of tokens.
        pooling: `max`, `mean` or `attention`, over a text's windows.
        dropout: share of the entries of the tokens' vectors that are zeroed in training.
        frozen: do not train the tokens' vectors.
        vectors: (V, E) pretrained initial vectors, from the featuriser.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        filters: int,
        windows: Sequence[int],
        pooling: str,
        dropout: float,
        frozen: bool,
        vectors: Float[np.ndarray, "V E"] | None = None,
    ) -> None:
        super().__init__()
        self.embed = TokenEmbedding(width, embedding, dropout=dropout, vectors=vectors, frozen=frozen)
        self.convolve = nn.ModuleList(RaggedConvolution(embedding, filters, window=n) for n in windows)
        self.pool = Pooling(pooling, filters * len(self.convolve))

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, N H), of length 1."""
        tokens = self.embed(features)  # (K,) -> (K, E)
        windows = torch.cat([convolve(tokens, features.offsets) for convolve in self.convolve], 1)  # (K, N H)
        pooled = self.pool(windows.tanh(), features.offsets)  # (K, N H) -> (B, N H)
        return Encoding(unit_vectors(pooled) * with_known_token(features)[:, None])
