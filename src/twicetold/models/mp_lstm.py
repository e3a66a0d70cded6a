"""Multi-perspective LSTM: one LSTM embeds both texts, and a linear layer weighs the cosines of several perspectives.

A baseline of Wang, Hamza and Florian, Bilateral Multi-Perspective Matching for Natural Language Sentences, IJCAI 2017
(arXiv:1702.03814), section 5: their Siamese LSTM, with matching over l = 20 perspectives in place of the cosine.

    x_t = E[w_t]                           a vector for each token
    h_t = LSTM(x_t, h_t−1)
    v   = pooled h_t                       mean over the text's tokens, or another pooling
    u   = v / ‖v‖                          zero for a text without a known token
    m_k = cos(W_k ∘ u_left, W_k ∘ u_right) for k = 1 ... l
    s   = w · m + b                        log-odds of a duplicate

A perspective looks at some dimensions more than at others, so that two texts may agree in one respect and differ in
another; the cosine of the whole embeddings knows one number only. The score is symmetric, as each m_k is. A text is
still embedded alone, so the family can search, by the cosine of the embeddings.

The paper does not say how its LSTM is pooled; here it is `siamese_lstm`'s network.

Shape letters: B texts, K tokens of a batch, V tokens of the vocabulary, E embedding and H hidden dimensions.
"""

from typing import Unpack

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.perspectives import MultiPerspective
from twicetold.layers.token_networks import LstmSettings, embedded, lstm_network


class MpLstm(MultiPerspective):
    """One LSTM layer for both texts, and perspectives on its embeddings.

    Args:
        perspectives: l.
        scale: l times each weight w_k at the start of training.
        network: settings of the network, see `LstmSettings`.
    """

    def __init__(self, *, perspectives: int, scale: float, **network: Unpack[LstmSettings]) -> None:
        directions = 2 if network["bidirectional"] else 1
        super().__init__(size=directions * network["hidden"], perspectives=perspectives, scale=scale)
        self.embed, self.read, self.pool = lstm_network(**network)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, H), or (B, 2 H) if bidirectional, of length 1."""
        states = self.read(self.embed(features), features.offsets, features.lengths)  # (K,) -> (K, E) -> (K, H)
        return embedded(self.pool(states, features.offsets), features)  # (K, H) -> (B, H)
