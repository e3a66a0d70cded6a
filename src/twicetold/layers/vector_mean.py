"""The mean of a text's word vectors, without the principal directions of all texts.

    v = Σ_t x_t E[w_t]                     x_t: weight of token t, from the featuriser; 1 in a plain mean
    embedding = v − U Uᵀ v                 U: first right singular vectors of the train texts' means, if any

The cosine of sums is that of means. With weights a / (a + p(w)) and one
direction this is smooth inverse frequency: Arora, Liang and Ma, A Simple but Tough-to-Beat Baseline for Sentence
Embeddings, ICLR 2017, algorithm 1.

Shape letters: B texts, K entries of a batch, W words of a batch, V columns, C columns that are words, E dimensions,
R directions.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import Encoding, SparseRows, WordsInContext
from twicetold.layers.first_layer import product
from twicetold.layers.hashing import word_rows
from twicetold.layers.two_tower import TwoTower


@dataclass(frozen=True)
class AssociatedWords(WordsInContext):
    """The words of a batch of texts, and associations of the whole vocabulary, for the objective `lexvec`.

    P is the number of pairs of words with an association above 0.
    """

    pairs: Int64[Tensor, " P"]
    """(P,) w · C + c of each pair of a word w and a neighbour c, ascending; the first may be -1, which is no pair."""
    values: Float[Tensor, " P"]
    """(P,) of each pair."""

    def association(self, word: Int64[Tensor, "..."], neighbour: Int64[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return associations of words and neighbours by number, else 0. The shapes are broadcast."""
        pair = word * len(self.counts) + neighbour
        place = torch.searchsorted(self.pairs, pair).clamp(max=len(self.pairs) - 1)
        return self.values[place] * (self.pairs[place] == pair)


class VectorMean(TwoTower):
    """Base of the families that sum one vector per column; a text without a known column has the embedding 0.

    A subclass has `table`, (V, E), with zeros for unknown tokens.

    Args:
        embedding: E.
        remove_components: R, number of shared directions to remove; 0 for a plain mean.
    """

    table: Tensor
    shared: Tensor

    def __init__(self, *, embedding: int, remove_components: int) -> None:
        super().__init__()
        self.register_buffer("shared", torch.zeros(remove_components, embedding))

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E)."""
        return Encoding(self._without_shared(self.sum(features)))

    def sum(self, features: SparseRows) -> Float[Tensor, "B E"]:
        """Return weighted sum of the vectors of each text."""
        return product(features, self.table, but=UNKNOWN_TOKEN)

    def settle(self, texts: Iterable[SparseRows]) -> None:
        """Compute the R directions that the train texts share.

        Args:
            texts: the train texts, in batches.
        """
        if not len(self.shared):
            return
        device = self.table.device
        moments = torch.zeros(2 * (self.table.shape[1],), dtype=torch.float64, device=device)
        for batch in (text.to(device) for text in texts):
            mean = (self.sum(batch) / self._words(batch).diff()[:, None].clamp(min=1)).double()  # (B, E)
            moments += mean.T @ mean
        self.shared.copy_(torch.linalg.eigh(moments)[1].T[-len(self.shared) :])

    def _words(self, features: SparseRows) -> Int64[Tensor, " _"]:
        """Return (B + 1,) offsets of the texts, counted in words."""
        return features.offsets

    def _without_shared(self, vectors: Float[Tensor, "B E"]) -> Float[Tensor, "B E"]:
        return vectors - (vectors @ self.shared.T) @ self.shared


class SkipGramVectors(VectorMean):
    """Word vectors for the `skip_gram` objective: centres are sums of columns, contexts are rows of a table.

    Args:
        width: V. The first C columns are words, of which number 0 is unknown; the others, if any, are parts of the word
            before them.
        embedding: E, dimensions of a vector.
        remove_components: R, see `VectorMean`.
        counts: (C,) how often each word occurs in the train texts, from the featuriser.
    """

    counts: Tensor

    def __init__(self, *, width: int, embedding: int, remove_components: int, counts: Int64[np.ndarray, " C"]) -> None:
        super().__init__(embedding=embedding, remove_components=remove_components)
        # word2vec starts from uniform ±1/(2 E), and from contexts of zero, which give centres no gradient at first.
        table = (torch.rand(width, embedding) - 0.5) / embedding
        table[UNKNOWN_TOKEN] = 0
        self.table = nn.Parameter(table)
        self.contexts = nn.Parameter((torch.rand(len(counts), embedding) - 0.5) / embedding)
        # Not saved: the featuriser provides them again.
        self.register_buffer("counts", torch.from_numpy(np.asarray(counts, np.int64)), persistent=False)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed; in training also return `WordsInContext`."""
        if not self.training:
            return super().encode(features)
        entries, offsets = word_rows(features, len(self.counts))
        known = features.values_or_ones() * (features.indices != UNKNOWN_TOKEN)
        weight = torch.zeros(len(entries), device=known.device).index_add_(0, entries.rows(), known)
        words = WordsInContext(
            vector=product(entries, self.table, but=UNKNOWN_TOKEN) / weight.where(weight > 0, 1)[:, None],  # (W, E)
            number=entries.indices[entries.offsets[:-1]],
            offsets=offsets,
            contexts=self.contexts,
            counts=self.counts,
        )
        return Encoding(self.sum(features), words)

    def _words(self, features: SparseRows) -> Int64[Tensor, " _"]:
        return word_rows(features, len(self.counts))[1]
