"""LSTM-DSSM: word hashing of each word and an LSTM; the last state is the embedding.

Palangi et al., Semantic Modelling with Long-Short-Term Memory for Information Retrieval, arXiv:1412.6629, 2014.

    x_t = W f_t                             f_t counts of letter trigrams of word t
    h_t = LSTM(x_t, h_{t−1})
    y   = h_T                               T the text's own last word

Shape letters: B texts, W words of all texts, V letter trigrams, H hidden units, E embedding dimensions.
"""

from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.hashing import HashingLayer, filled, word_bags
from twicetold.layers.sequence import RaggedLstm
from twicetold.layers.two_tower import TwoTower


class LstmDssm(TwoTower):
    """A recurrent DSSM.

    Args:
        width: number of feature columns, of `word_trigrams`.
        hidden: H, hashed units of a word.
        embedding: E, cells of the LSTM.
        dropout: share of hashed units that are dropped in training.
    """

    def __init__(self, *, width: int, hidden: int, embedding: int, dropout: float) -> None:
        super().__init__()
        self.hashing = HashingLayer(width - 1, hidden)
        self.dropout = nn.Dropout(dropout)
        self.lstm = RaggedLstm(hidden, embedding)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known word."""
        words, offsets = word_bags(features)
        states: Tensor = self.lstm(self.dropout(self.hashing(words)), offsets)  # sparse (W, V) -> (W, H) -> (W, E)
        known = filled(features)
        last = offsets[1:][known] - 1
        embedding = states.new_zeros(len(features), states.shape[1])
        return Encoding(embedding.index_put((known,), states[last]))  # (W, E) -> (B, E)
