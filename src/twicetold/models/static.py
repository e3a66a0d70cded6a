"""Static embeddings: one vector per word, pair of words and letter trigram, summed and compared by cosine.

Encoding a text is one sum of rows. Sums of n-gram vectors as sentence embeddings: Wieting, Bansal, Gimpel and Livescu,
Charagram, EMNLP 2016. With in-batch negatives it is the `StaticEmbedding` of sentence-transformers.

    v = Σ_c x_c E[c]                       x_c: how often the text has column c
    s(l, r) = cos(v_l, v_r)                the same for the sum and the mean

Shape letters: B texts, V columns, E embedding dimensions.
"""

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.corruption import drop_entries
from twicetold.layers.two_tower import LinearMap


class Static(LinearMap):
    """A table of vectors.

    Args:
        width: V, number of feature columns.
        embedding: E.
        init_std: standard deviation of a vector's entries at the start.
        input_dropout: share of stored entries that are dropped in training.
    """

    def __init__(self, *, width: int, embedding: int, init_std: float, input_dropout: float) -> None:
        super().__init__(width=width, hidden=embedding, init_std=init_std)
        self.input_dropout = input_dropout

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known column."""
        features = drop_entries(features, self.input_dropout, self.training)
        return super().encode(features)
