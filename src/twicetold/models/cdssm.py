"""CDSSM: word hashing of each word, a convolution over windows of words, and the maximum over the text.

Shen et al., A Latent Semantic Model with Convolutional-Pooling Structure for Information Retrieval, CIKM 2014.

    f_t  counts of letter trigrams of word t
    h_t = tanh(W_c [f_{t−1}; f_t; f_{t+1}] + b_c)     zeros beyond the ends of the text
    v   = max_t h_t
    y   = tanh(W_s v + b_s)

W_c is stored as one block of V rows for each place in the window. The product of a word with all blocks is one sum of
rows, and a window is the sum of the parts of its words, so that no array is as wide as 3 V.

Shape letters: B texts, W words of all texts, V letter trigrams, P places of a window, H units, E embedding dimensions.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.hashing import HashingLayer, filled, linear, word_bags
from twicetold.layers.two_tower import TwoTower


class Cdssm(TwoTower):
    """Convolution, max-pooling, one dense layer.

    Args:
        width: number of feature columns, of `word_trigrams`.
        window: P, how many neighbouring words a window has, an odd number.
        hidden: H, units of the convolution.
        embedding: E.
        dropout: share of pooled units that are dropped in training.

    Raises:
        ValueError: if the window is even.
    """

    def __init__(self, *, width: int, window: int, hidden: int, embedding: int, dropout: float) -> None:
        super().__init__()
        if window % 2 == 0:
            raise ValueError(f"the window must be an odd number of words, got {window}")
        self.window = window
        self.convolution = HashingLayer(width - 1, window * hidden)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.dropout = nn.Dropout(dropout)
        self.semantic = linear(hidden, embedding)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E); 0 for a text without a known word."""
        words, offsets = word_bags(features)
        parts = self.convolution(words).unflatten(1, (self.window, -1))  # sparse (W, V) -> (W, P, H)
        text = torch.repeat_interleave(offsets.diff(), output_size=len(parts))
        units = torch.tanh(self.slide(parts, text) + self.bias)  # (W, P, H) -> (W, H)
        pooled = torch.segment_reduce(units, "max", offsets=offsets, axis=0, initial=-1)  # (W, H) -> (B, H)
        embedding = torch.tanh(self.semantic(self.dropout(pooled)))  # (B, H) -> (B, E)
        return Encoding(embedding * filled(features)[:, None])

    def slide(self, parts: Float[Tensor, "W P H"], text: Int64[Tensor, " W"]) -> Float[Tensor, "W H"]:
        """Return Σ_p part p of the word at place p of each word's window; a neighbour in another text counts as 0."""
        middle = self.window // 2
        total = parts[:, middle]
        for place in range(self.window):
            if distance := abs(place - middle):
                earlier, later = slice(None, -distance), slice(distance, None)
                here, there = (later, earlier) if place < middle else (earlier, later)
                shifted = parts[there, place] * (text[earlier] == text[later])[:, None]
                at = torch.arange(len(text), device=text.device)[here]
                total = total.index_add(0, at, shifted)
        return total
