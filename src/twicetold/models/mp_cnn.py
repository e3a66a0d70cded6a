"""Multi-perspective CNN: convolutions embed both texts, and a linear layer weighs the cosines of several perspectives.

A baseline of Wang, Hamza and Florian, Bilateral Multi-Perspective Matching for Natural Language Sentences, IJCAI 2017
(arXiv:1702.03814), section 5: their Siamese CNN, with matching over l = 20 perspectives in place of the cosine. (He,
Gimpel and Lin's network of EMNLP 2015, which is called MP-CNN too, is another one.)

    x_t = E[w_t]                           a vector for each token
    c_t = tanh(W_n [x_t−k ... x_t+k] + b)  for windows of n = 2k + 1 tokens, zeros beyond the text's ends
    v   = max_t c_t                        for each window size, joined
    u   = v / ‖v‖                          zero for a text without a known token
    m_k = cos(W_k ∘ u_left, W_k ∘ u_right) for k = 1 ... l
    s   = w · m + b                        log-odds of a duplicate

The network is that of `siamese_cnn`, the head that of `mp_lstm`.

Shape letters: B texts, K tokens of a batch, V tokens of the vocabulary, E embedding dimensions, H filters of a window
size, N window sizes.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from twicetold.encoding import Encoding, SparseRows, unit_vectors
from twicetold.layers.perspectives import MultiPerspective
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedConvolution, TokenEmbedding, with_known_token


class MpCnn(MultiPerspective):
    """Convolutions of several window sizes for both texts, and perspectives on their maxima.

    Args:
        width: V, numbers of tokens.
        embedding: E, dimensions of a token's vector.
        filters: H, for each window size.
        windows: their sizes, odd numbers of tokens.
        pooling: `max`, `mean` or `attention`, over a text's windows.
        dropout: share of the entries of the tokens' vectors that are zeroed in training.
        frozen: do not train the tokens' vectors.
        perspectives: l.
        scale: l times each weight w_k at the start of training.
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
        perspectives: int,
        scale: float,
        vectors: Float[np.ndarray, "V E"] | None = None,
    ) -> None:
        super().__init__(size=filters * len(windows), perspectives=perspectives, scale=scale)
        self.embed = TokenEmbedding(width, embedding, dropout=dropout, vectors=vectors, frozen=frozen)
        self.convolve = nn.ModuleList(RaggedConvolution(embedding, filters, window=n) for n in windows)
        self.pool = Pooling(pooling, filters * len(self.convolve))

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, N H), of length 1."""
        tokens = self.embed(features)  # (K,) -> (K, E)
        windows = torch.cat([convolve(tokens, features.offsets) for convolve in self.convolve], 1)  # (K, N H)
        pooled = self.pool(windows.tanh(), features.offsets)  # (K, N H) -> (B, N H)
        return Encoding(unit_vectors(pooled) * with_known_token(features)[:, None])
