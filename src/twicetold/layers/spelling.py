"""A vector for each word from its letters, by an LSTM: words without a pretrained vector have one nevertheless.

Part of the word representation layer of BiMPM (Wang, Hamza and Florian, arXiv:1702.03814, section 3.2).

Shape letters: W words, K letters of all of them, U distinct words, L kinds of letters, H hidden dimensions.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import embedding

from twicetold.encoding import SparseRows
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedLstm

KNUTH = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 over the golden ratio, as a signed number
LETTER_BITS = 24  # of the number of a letter


class Spelling(nn.Module):
    """The last state of an LSTM over the letters of each word; zeros for a word without letters.

    Words that are spelt the same are read once.

    Args:
        letters: L.
        size: dimensions of a letter's vector.
        hidden: H.
    """

    def __init__(self, letters: int, size: int, hidden: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(letters, size) / size**0.5)
        self.read = RaggedLstm(size, hidden)
        self.last = Pooling("last", hidden)

    def forward(self, letters: Int64[Tensor, " K"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "W H"]:
        """(W, H) from the words' letters, of which word w has those from `offsets[w]` to `offsets[w + 1]`."""
        first, which = _distinct(letters, offsets)
        lengths = offsets.diff()[first]  # (U,)
        ends = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        word = torch.repeat_interleave(lengths)
        place = torch.arange(len(word), device=word.device) + (offsets[:-1][first] - ends[:-1])[word]
        states = self.read(embedding(letters[place], self.table), ends)
        return embedding(which, self.last(states, ends))  # (U, H) -> (W, H)


def letters_of(words: SparseRows, first: int) -> tuple[Int64[Tensor, " K"], Int64[Tensor, " _"]]:
    """The letters of each word, and (W + 1,) offsets.

    Args:
        words: W rows of a word's number and then its letters, as columns from `first` on.
        first: column of the first letter.
    """
    letters = words.indices[words.indices >= first] - first
    return letters, words.offsets - torch.arange(len(words.offsets), device=letters.device)


def _distinct(
    letters: Int64[Tensor, " K"], offsets: Int64[Tensor, " _"]
) -> tuple[Int64[Tensor, " U"], Int64[Tensor, " W"]]:
    """The first word of each spelling, and which spelling each word has."""
    word = torch.repeat_interleave(offsets.diff(), output_size=len(letters))
    within = torch.arange(len(letters), device=letters.device) - offsets[word]
    hashed = ((within << LETTER_BITS) + letters + 1) * KNUTH  # of a letter at its place
    hashed = (hashed ^ (hashed >> 29)) * KNUTH  # no sum of a part of the letter and one of the place
    words = len(offsets) - 1
    spelling = torch.zeros(words, dtype=torch.int64, device=letters.device).index_add_(0, word, hashed)
    kinds, which = torch.unique(spelling, return_inverse=True)
    first = torch.full_like(kinds, words).scatter_reduce_(0, which, torch.arange(words, device=word.device), "amin")
    return first, which
