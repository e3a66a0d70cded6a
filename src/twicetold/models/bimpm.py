"""BiMPM: every word of a text is matched with the other text in four ways, in both directions of reading.

Wang, Hamza and Florian, Bilateral Multi-Perspective Matching for Natural Language Sentences, IJCAI 2017
(arXiv:1702.03814). In the order of the paper's figure 1, for text p; q goes through the same with the roles exchanged:

    x_i = [E[w_i]; LSTM(letters of w_i)]   a word: its pretrained vector, which is not trained, and its spelling
    h→_i, h←_i = BiLSTM(x)                 in its context
    m→_i = matchings of h→_i with h→^q     full, max-pooling, attentive and max-attentive (layers/four_matchings),
    m←_i = matchings of h←_i with h←^q     each over l perspectives (layers/perspectives)
    g→_i, g←_i = BiLSTM([m→; m←])          aggregation of the 8 l numbers of each word
    u = [g→_last; g←_first], v of q        and a network H of two layers compares both:

    s = ½ (H([u; v]) + H([v; u])) + a · cos(x̄^p, x̄^q)          log-odds of a duplicate

In the paper the network sees [u; v] alone, so a score depends on which text is called p; the mean over both orders does
not. The cosine of the two texts' mean words is added to the paper's network, as in `re2`, and is left out without a.

The score needs both texts at once, so a single text has no search vector.

Shape letters: B texts or pairs, V columns, C columns that are words, W words of a batch, K letters of all of them, U
distinct words, E embedding, S spelling and H hidden dimensions.
"""

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import embedding

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.best_match import FourMatchings, WordPairs, WordStates
from twicetold.layers.dropout import dropout
from twicetold.layers.hashing import word_rows
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedLstm, TokenEmbedding, with_known_token

KNUTH = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 over the golden ratio, as a signed number
LETTER_BITS = 24  # of the number of a letter


class BiMpm(nn.Module):
    """Word representation, context, matching, aggregation, prediction.

    Args:
        width: V, number of columns.
        embedding: E, dimensions of a word's vector.
        letter: dimensions of a letter's vector.
        spelling: S, dimensions of a spelling; only if the featuriser provides letters.
        hidden: H, of each direction of both BiLSTMs.
        perspectives: l, of each matching.
        dropout: share of each layer's inputs that are dropped in training.
        frozen: do not train the words' vectors.
        scale: a at the start of training; None leaves the cosine out.
        words: C; the other columns are letters, which follow their word. None: all are words.
        vectors: (C, E) pretrained initial vectors; None where a trained model will be loaded, or for none.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        letter: int,
        spelling: int,
        hidden: int,
        perspectives: int,
        dropout: float,
        frozen: bool,
        scale: float | None,
        words: int | None = None,
        vectors: Float[np.ndarray, "C E"] | None = None,
    ) -> None:
        super().__init__()
        self.words = width if words is None else words
        self.embed = TokenEmbedding(self.words, embedding, vectors=vectors, frozen=frozen)
        self.spell = Spelling(width - self.words, letter, spelling) if width > self.words else None
        size = embedding + (0 if self.spell is None else spelling)
        self.mean = Pooling("mean", size)
        self.read = RaggedLstm(size, hidden, bidirectional=True)
        self.onwards = FourMatchings(hidden, perspectives, backwards=False)
        self.backwards = FourMatchings(hidden, perspectives, backwards=True)
        self.aggregate = RaggedLstm(8 * perspectives, hidden, bidirectional=True)
        self.ends = Pooling("last", 2 * hidden, bidirectional=True)
        self.predict = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(4 * hidden, 2 * hidden),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden, 1),
        )
        self.scale = None if scale is None else nn.Parameter(torch.tensor(scale))
        self.dropout = dropout

    def encode(self, features: SparseRows) -> Encoding:
        """Return the mean of the words, (B, E + S), and the words in context, from which the score is made.

        The mean is detached: no objective on single texts may train it, because it is not used for search.
        """
        entries, offsets = word_rows(features, self.words)
        lengths = offsets.diff().cpu().numpy()
        number = entries.indices[entries.offsets[:-1]]  # (W,)
        words = SparseRows(number, offsets, None, self.words, lengths)
        vectors = self.embed(words) * (number != UNKNOWN_TOKEN)[:, None]  # (W, E)
        if self.spell is not None:
            spelt = self.spell(*letters_of(entries, self.words))  # (W, S)
            vectors = torch.cat([vectors, spelt.to(vectors.dtype)], 1)
        states = self.read(dropout(vectors, self.dropout, self.training), offsets, lengths)  # (W, E + S) -> (W, 2 H)
        mean = self.mean(vectors, offsets)  # (W, E + S) -> (B, E + S)
        return Encoding(mean.detach(), WordStates(states, offsets, lengths, mean, with_known_token(features)))

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log-odds that each pair is a duplicate; 0 where a text has no known word or letter."""
        pair = WordPairs.of(left, right)
        states, offsets = dropout(pair.states, self.dropout, self.training), pair.offsets  # (W, 2 H)
        directions = zip((self.onwards, self.backwards), states.chunk(2, 1), strict=True)
        matched = torch.cat(
            [match(part, offsets, pair.facing) for match, part in directions], 1
        )  # (W, 2 H) -> (W, 8 l)
        matched = dropout(matched, self.dropout, self.training)
        u, v = self.ends(self.aggregate(matched, offsets, pair.lengths), offsets).chunk(2)  # (W, 2 H) -> 2 (B, 2 H)
        orders = torch.stack([torch.cat([u, v], 1), torch.cat([v, u], 1)])  # (2, B, 4 H)
        scores: Tensor = self.predict(orders).float().squeeze(2).mean(0)  # (2, B, 4 H) -> (B,)
        return pair.with_cosine(scores, self.scale)


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
        """Return (W, H) from the words' letters, of which word w has those from `offsets[w]` to `offsets[w + 1]`."""
        first, which = _distinct(letters, offsets)
        lengths = offsets.diff()[first]  # (U,)
        ends = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        word = torch.repeat_interleave(lengths)
        place = torch.arange(len(word), device=word.device) + (offsets[:-1][first] - ends[:-1])[word]
        states = self.read(embedding(letters[place], self.table), ends)
        return embedding(which, self.last(states, ends))  # (U, H) -> (W, H)


def letters_of(words: SparseRows, first: int) -> tuple[Int64[Tensor, " K"], Int64[Tensor, " _"]]:
    """Return the letters of each word, and (W + 1,) offsets.

    Args:
        words: W rows of a word's number and then its letters, as columns from `first` on.
        first: column of the first letter.
    """
    letters = words.indices[words.indices >= first] - first
    return letters, words.offsets - torch.arange(len(words.offsets), device=letters.device)


def _distinct(
    letters: Int64[Tensor, " K"], offsets: Int64[Tensor, " _"]
) -> tuple[Int64[Tensor, " U"], Int64[Tensor, " W"]]:
    """Return the first word of each spelling, and which spelling each word has."""
    word = torch.repeat_interleave(offsets.diff(), output_size=len(letters))
    within = torch.arange(len(letters), device=letters.device) - offsets[word]
    hashed = ((within << LETTER_BITS) + letters + 1) * KNUTH  # of a letter at its place
    hashed = (hashed ^ (hashed >> 29)) * KNUTH  # no sum of a part of the letter and one of the place
    words = len(offsets) - 1
    spelling = torch.zeros(words, dtype=torch.int64, device=letters.device).index_add_(0, word, hashed)
    kinds, which = torch.unique(spelling, return_inverse=True)
    first = torch.full_like(kinds, words).scatter_reduce_(0, which, torch.arange(words, device=word.device), "amin")
    return first, which
