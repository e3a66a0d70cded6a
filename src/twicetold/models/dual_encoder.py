"""Dual encoder: one network for queries, another for documents, compared by dot product.

Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP 2020, section 3.1, with LSTMs,
trained from scratch, in place of the paper's two pretrained transformers. It is trained with
`info_nce_dpr` (section 3.2) on triplets with hard negatives from BM25.

    x_t = E[w_t]                           a vector for each token, one per role
    h_t = LSTM(x_t, h_t−1)
    q, d = LayerNorm(W · mean_t h_t)       the two towers
    s = q · d                              mean over both directions (layers.two_tower)

Shape letters: B texts, K tokens of a batch, V tokens of the vocabulary, E embedding dimensions.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from twicetold.encoding import SparseRows
from twicetold.layers.hashing import linear
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedLstm, TokenEmbedding, with_known_token
from twicetold.layers.two_tower import DualTower


class DualEncoder(DualTower):
    """Two token encoders.

    Args:
        width: V, numbers of tokens.
        words: dimensions of a token's vector.
        hidden: dimensions of an LSTM's state.
        embedding: E.
        dropout: share of the entries of the tokens' vectors that are zeroed in training.
    """

    def __init__(self, *, width: int, words: int, hidden: int, embedding: int, dropout: float) -> None:
        def tower() -> TokenTower:
            return TokenTower(width, words=words, hidden=hidden, embedding=embedding, dropout=dropout)

        super().__init__(tower(), tower(), embedding=embedding)

    def known(self, features: SparseRows) -> Bool[Tensor, " B"]:
        """Return (B,) which texts have a known token."""
        return with_known_token(features)


class TokenTower(nn.Module):
    """One of the two networks; settings as for `DualEncoder`."""

    def __init__(self, width: int, *, words: int, hidden: int, embedding: int, dropout: float) -> None:
        super().__init__()
        self.embed = TokenEmbedding(width, words, dropout=dropout)
        self.read = RaggedLstm(words, hidden)
        self.pool = Pooling("mean", hidden)
        self.project = linear(hidden, embedding)

    def forward(self, features: SparseRows) -> Float[Tensor, "B E"]:
        """Embed: (B, E)."""
        tokens = self.embed(features)  # (K,) -> (K, words)
        states = self.read(tokens, features.offsets, features.lengths)  # (K, words) -> (K, hidden)
        embedding: Tensor = self.project(self.pool(states, features.offsets))  # (K, hidden) -> (B, hidden) -> (B, E)
        return embedding
