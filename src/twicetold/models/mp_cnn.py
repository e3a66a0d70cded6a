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

from typing import Unpack

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.perspectives import MultiPerspective
from twicetold.layers.token_networks import ConvolutionSettings, convolution_network, embedded


class MpCnn(MultiPerspective):
    """Convolutions of several window sizes for both texts, and perspectives on their maxima.

    Args:
        perspectives: l.
        scale: l times each weight w_k at the start of training.
        network: settings of the network, see `ConvolutionSettings`.
    """

    def __init__(self, *, perspectives: int, scale: float, **network: Unpack[ConvolutionSettings]) -> None:
        size = network["filters"] * len(network["windows"])
        super().__init__(size=size, perspectives=perspectives, scale=scale)
        self.embed, self.convolve, self.pool = convolution_network(**network)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, N H), of length 1."""
        tokens = self.embed(features)  # (K,) -> (K, E)
        windows = self.convolve(tokens, features.offsets)  # (K, E) -> (K, N H)
        return embedded(self.pool(windows, features.offsets), features)  # (K, N H) -> (B, N H)
