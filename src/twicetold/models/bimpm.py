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

Shape letters: B texts or pairs, V columns, C columns that are words, W words of a batch, E embedding, S spelling and H
hidden dimensions.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import Encoding, Extra, SparseRows
from twicetold.layers.alignment import Facing
from twicetold.layers.best_match import FourMatchings
from twicetold.layers.dropout import dropout
from twicetold.layers.hashing import word_rows
from twicetold.layers.perspectives import in_full_precision
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedLstm, TokenEmbedding, with_known_token
from twicetold.layers.spelling import Spelling, letters_of


@dataclass(frozen=True)
class ContextStates(Extra):
    """The words of a batch of texts, one text after another."""

    states: Float[Tensor, "W _"]
    """(W, 2 H) of each word in its context, forward direction first."""
    offsets: Int64[Tensor, " _"]
    """(B + 1,) text b has the words `offsets[b]` to `offsets[b + 1]`."""
    lengths: Int64[np.ndarray, " B"]
    """(B,) words of each text."""
    mean: Float[Tensor, "B D"]
    """(B, E + S) of each text's words, without context."""
    known: Bool[Tensor, " B"]
    """(B,) which texts have a known word or letter."""


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
        """The mean of the words, (B, E + S), and the words in context, from which the score is made.

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
        return Encoding(mean.detach(), ContextStates(states, offsets, lengths, mean, with_known_token(features)))

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) log-odds that each pair is a duplicate; 0 where a text has no known word or letter."""
        one, other = left.extra, right.extra
        assert isinstance(one, ContextStates)
        assert isinstance(other, ContextStates)
        facing = Facing.of(offsets := torch.cat([one.offsets, one.offsets[-1] + other.offsets[1:]]))
        states = dropout(torch.cat([one.states, other.states]), self.dropout, self.training)  # (W, 2 H)
        directions = zip((self.onwards, self.backwards), states.chunk(2, 1), strict=True)
        matched = torch.cat([match(part, offsets, facing) for match, part in directions], 1)  # (W, 2 H) -> (W, 8 l)
        matched = dropout(matched, self.dropout, self.training)
        lengths = np.concatenate([one.lengths, other.lengths])
        u, v = self.ends(self.aggregate(matched, offsets, lengths), offsets).chunk(2)  # (W, 2 H) -> 2 (B, 2 H)
        orders = torch.stack([torch.cat([u, v], 1), torch.cat([v, u], 1)])  # (2, B, 4 H)
        scores: Tensor = self.predict(orders).float().squeeze(2).mean(0)  # (2, B, 4 H) -> (B,)
        if self.scale is not None:
            with in_full_precision(scores.device):
                scores = scores + self.scale * cosine_similarity(one.mean, other.mean, dim=1)
        return scores * (one.known & other.known)
