"""L.D.C.: each word is split by the other text into a similar and a dissimilar part, and convolutions read both.

Wang, Mi and Ittycheriah, Sentence Similarity Learning by Lexical Decomposition and Composition, COLING 2016
(arXiv:1602.07019); a row of the tables of BiMPM and FILM. For text S; T goes through the same with the roles exchanged:

    s_i = E[w_i]                           a vector for each word
    ŝ_i                                    what T has for it: its best match, or a mean (layers/best_match)
    s⁺_i, s⁻_i = s_i − s⁺_i                similar and dissimilar part
    c_i = tanh(W⁺ [s⁺_i ... s⁺_i+n−1] + W⁻ [s⁻_i ... s⁻_i+n−1] + b)        for windows of n = 1, 2, 3 words
    u   = max_i c_i                        for each window size, joined; v of T

    s = w · (u + v) + b + a · cos(s̄, t̄)                log-odds of a duplicate

with, for a word s and its match ŝ (section 3.2),

    linear        s⁺ = α s                                 α = cos(s, ŝ)
    orthogonal    s⁺ = (s · ŝ / ŝ · ŝ) ŝ                   parallel to ŝ, and s⁻ perpendicular to it

A word that the other text repeats has s⁺ = s. Both channels share the position of their window, so a filter can look
for "a word that the other text lacks after one that it has".

In the paper a linear function of [u; v] gives the score, which depends on which text comes first. The mean over both
orders does not, and is a linear function of u + v. The cosine of the two texts' mean words is added to the paper's
network, as in `re2`, and is left out without a. Windows reach beyond the end of a text, where all is zero, so that a
text of one word has windows of every size.

The score needs both texts at once, so a single text has no search vector.

Shape letters: B texts or pairs, V words of the vocabulary, W words of a batch, D dimensions of a word's vector, H
filters of a window size, N window sizes.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.alignment import Facing
from twicetold.layers.best_match import WordPairs, WordStates, gathered, groups_of_pairs, match
from twicetold.layers.dropout import dropout
from twicetold.layers.perspectives import in_full_precision
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedConvolution, TokenEmbedding, with_known_token

LEAST = 1e-12  # squared length of a vector that counts as zero


class Ldc(nn.Module):
    """Embedding, matching, decomposition, composition, score.

    Args:
        width: V, numbers of words.
        embedding: D, dimensions of a word's vector.
        window: 0: the best match of each word; w: the mean over at most w words on either side of it; None: over all
            words of the other text.
        decomposition: `linear` or `orthogonal`.
        filters: H, for each window size.
        windows: sizes in words.
        dropout: share of the words' entries and of the maxima that are dropped in training.
        frozen: do not train the words' vectors.
        scale: a at the start of training; None leaves the cosine out.
        vectors: (V, D) pretrained initial vectors; None where a trained model will be loaded, or for none.

    Raises:
        ValueError: if there is no such decomposition, or the window is negative.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        window: int | None,
        decomposition: str,
        filters: int,
        windows: Sequence[int],
        dropout: float,
        frozen: bool,
        scale: float | None,
        vectors: Float[np.ndarray, "V D"] | None = None,
    ) -> None:
        super().__init__()
        if decomposition not in WAYS:
            raise ValueError(f"decomposition must be one of {', '.join(WAYS)}; got {decomposition!r}")
        if window is not None and window < 0:
            raise ValueError(f"window counts words on either side of the best match, 0 for none; got {window}")
        self.embed = TokenEmbedding(width, embedding, vectors=vectors, frozen=frozen)
        self.window = window
        self.decomposition = decomposition
        self.compose = nn.ModuleList(
            RaggedConvolution(2 * embedding, filters, window=n, centred=False) for n in windows
        )
        self.mean, self.most = Pooling("mean", embedding), Pooling("max", filters * len(self.compose))
        self.decide = nn.Linear(filters * len(self.compose), 1)
        self.scale = None if scale is None else nn.Parameter(torch.tensor(scale))
        self.dropout = dropout

    def encode(self, features: SparseRows) -> Encoding:
        """Return the mean of the words' vectors, (B, D), and the words themselves, from which the score is made.

        The mean is detached: no objective on single texts may train it, because it is not used for search.
        """
        vectors = self.embed(features) * (features.indices != UNKNOWN_TOKEN)[:, None]  # (W,) -> (W, D)
        mean = self.mean(vectors, features.offsets)  # (W, D) -> (B, D)
        known = with_known_token(features)
        return Encoding(mean.detach(), WordStates(vectors, features.offsets, features.lengths, mean, known))

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log-odds that each pair is a duplicate; 0 where a text has no known word."""
        pair = WordPairs.of(left, right)
        words, offsets = pair.states, pair.offsets  # (W, D)
        with in_full_precision(words.device):
            similar = WAYS[self.decomposition](words, self._matches(words, pair.facing))
        channels = dropout(torch.cat([similar, words - similar], 1), self.dropout, self.training)  # (W, 2 D)
        composed = torch.cat([compose(channels, offsets) for compose in self.compose], 1).tanh()  # (W, N H)
        u, v = self.most(composed, offsets).chunk(2)  # (W, N H) -> 2 (B, N H)
        scores: Tensor = self.decide(dropout(u + v, self.dropout, self.training)).float().squeeze(1)  # -> (B,)
        return pair.with_cosine(scores, self.scale)

    def _matches(self, words: Float[Tensor, "W D"], facing: Facing) -> Float[Tensor, "W D"]:
        """Return ŝ of the words of both texts."""
        parts = []
        for (one, other), beyond in groups_of_pairs(words, facing):
            lefts = match(one, other, beyond[1], window=self.window)
            rights = match(other, one, beyond[0], window=self.window)
            parts.append(torch.stack([lefts, rights]))
        return gathered(parts, words, facing)


def _linear(words: Float[Tensor, "... D"], matches: Float[Tensor, "... D"]) -> Tensor:
    return words * cosine_similarity(words, matches, dim=-1)[..., None]


def _orthogonal(words: Float[Tensor, "... D"], matches: Float[Tensor, "... D"]) -> Tensor:
    dots, squared = (torch.sum(x * matches, -1, keepdim=True) for x in (words, matches))
    return dots / squared.clamp(min=LEAST) * matches


WAYS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"linear": _linear, "orthogonal": _orthogonal}
"""From words and matches to the similar parts; zero where the match is."""
