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

from typing import Unpack

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.token_networks import ConvolutionSettings, convolution_network, embedded
from twicetold.layers.two_tower import TwoTower


class SiameseCnn(TwoTower):
    """Convolutions of several window sizes for both texts.

    Args:
        network: settings of the network, see `ConvolutionSettings`.
    """

    def __init__(self, **network: Unpack[ConvolutionSettings]) -> None:
        super().__init__()
        self.embed, self.convolve, self.pool = convolution_network(**network)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, N H), of length 1."""
        tokens = self.embed(features)  # (K,) -> (K, E)
        windows = self.convolve(tokens, features.offsets)  # (K, E) -> (K, N H)
        return embedded(self.pool(windows, features.offsets), features)  # (K, N H) -> (B, N H)
