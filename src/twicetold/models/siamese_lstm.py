"""Siamese LSTM: one LSTM embeds both texts, and their cosine is the score.

The course on Natural Language Processing of deeplearning.ai (4.3, in trax); the architecture goes back to Mueller and
Thyagarajan, Siamese Recurrent Architectures for Learning Sentence Similarity, AAAI 2016.

    x_t = E[w_t]                           a vector for each token
    h_t = LSTM(x_t, h_t−1)
    v   = Σ_t h_t / T                      over the text's T tokens; the course also averages over padding
          Σ_t [h_t; x_t] / T               with a shortcut, as between the layers of Nie and Bansal, Shortcut-Stacked
                                           Sentence Encoders, RepEval 2017
    embedding = v / ‖v‖                    zero for a text without a known token

Shape letters: B texts, K tokens of a batch, V tokens of the vocabulary, E embedding and H hidden dimensions.
"""

from typing import Unpack

import torch

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.pooling import Pooling
from twicetold.layers.token_networks import LstmSettings, embedded, lstm_network
from twicetold.layers.two_tower import TwoTower


class SiameseLstm(TwoTower):
    """One LSTM layer for both texts.

    Args:
        shortcut: also pool the tokens' vectors.
        network: settings of the network, see `LstmSettings`.
    """

    def __init__(self, *, shortcut: bool, **network: Unpack[LstmSettings]) -> None:
        super().__init__()
        self.shortcut = shortcut
        self.embed, self.read, self.pool = lstm_network(**network)
        self.pool_tokens = Pooling(network["pooling"], network["embedding"]) if shortcut else None

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, H), or (B, 2 H) if bidirectional, and E more with a shortcut, of length 1."""
        tokens = self.embed(features)  # (K,) -> (K, E)
        states = self.read(tokens, features.offsets, features.lengths)  # (K, E) -> (K, H)
        pooled = self.pool(states, features.offsets)  # (K, H) -> (B, H)
        if self.pool_tokens is not None:
            pooled = torch.cat([pooled, self.pool_tokens(tokens, features.offsets)], 1)  # (B, H) -> (B, H + E)
        return embedded(pooled, features)
