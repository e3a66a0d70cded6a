"""Inputs and outputs of encoders, and inputs of objectives: the interface between data, models and losses.

Shape letters: B rows of a batch, K stored entries of a batch, E embedding dimensions, V features, W words of a batch,
C words of the vocabulary, M views.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class SparseRows:
    """A batch of sparse rows (or token sequences) in the form that `embedding_bag` takes.

    Row b holds entries `offsets[b]` to `offsets[b + 1]`.
    """

    indices: Int64[Tensor, " K"]
    """(K,) int64 column (or token id) of each entry."""
    offsets: Int64[Tensor, " _"]
    """(B + 1,) int64, from 0 to K."""
    values: Float[Tensor, "K ..."] | None
    """(K,) float32, or None where every entry is 1; (K, H) float16 where each token has a frozen vector."""
    width: int
    """Number of columns."""
    lengths: Int64[np.ndarray, " B"] | None = None
    """(B,) entries of each row, where Python knows them: asking a GPU for them is a wait for everything before it."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "SparseRows":
        """Return the same rows on another device."""
        values = None if self.values is None else self.values.to(device, non_blocking=non_blocking)
        indices = self.indices.to(device, non_blocking=non_blocking)
        offsets = self.offsets.to(device, non_blocking=non_blocking)
        return SparseRows(indices, offsets, values, self.width, self.lengths)

    def known_lengths(self) -> Int64[np.ndarray, " B"]:
        """Return (B,) entries of each row; asks the device if `lengths` is None."""
        return self.offsets.diff().cpu().numpy() if self.lengths is None else self.lengths

    def rows(self) -> Int64[Tensor, " K"]:
        """Return (K,) int64 row of each entry."""
        return torch.repeat_interleave(self.offsets.diff(), output_size=len(self.indices))

    def rows_with(self, chosen: Bool[Tensor, " K"]) -> Bool[Tensor, " B"]:
        """Return (B,) which rows have a chosen entry."""
        counts = torch.zeros(len(self), dtype=torch.int32, device=chosen.device)
        return counts.index_add_(0, self.rows(), chosen.to(torch.int32)) > 0

    def values_or_ones(self) -> Float[Tensor, " K"]:
        """Return (K,) float32 values, ones if none are stored."""
        return torch.ones(len(self.indices), device=self.indices.device) if self.values is None else self.values


@dataclass(frozen=True)
class Extra:
    """Base of the by-products of an encoding: one frozen dataclass for each kind."""


@dataclass(frozen=True)
class Encoding:
    """Embeddings of a batch of texts, and by-products that the family's score or objective needs."""

    embedding: Float[Tensor, "B E"] | SparseRows
    """(B, E) dense; sparse rows for the lexical families, whose embedding is the weighted vocabulary itself."""
    extra: Extra | None = None
    """A by-product of one of the kinds below, or of a kind that the family defines."""


@dataclass(frozen=True)
class Roles(Extra):
    """Embeddings by role and view, for in-batch objectives: two towers have one view, `mv_dssm` several."""

    query: Float[Tensor, "B M E"]
    """(B, M, E) of each text as a query."""
    document: Float[Tensor, "B M E"]
    """(B, M, E) of each text as a document."""


@dataclass(frozen=True)
class LinearLogits:
    """Logits h Wᵀ + c of a linear decoder as factors, for objectives that do not need the whole (B, V) matrix."""

    hidden: Float[Tensor, "B E"]
    """(B, E) h."""
    weight: Float[Tensor, "V E"]
    """(V, E) W."""
    bias: Float[Tensor, " V"]
    """(V,) c."""

    @property
    def shape(self) -> torch.Size:
        """(B, V), of the logits."""
        return torch.Size((len(self.hidden), len(self.weight)))

    def dense(self) -> Float[Tensor, "B V"]:
        """Return (B, V) logits."""
        return F.linear(self.hidden, self.weight, self.bias)

    def sigmoid(self) -> Float[Tensor, "B V"]:
        """Return (B, V) output of the decoder."""
        return self.dense().sigmoid()


@dataclass(frozen=True)
class Reconstruction(Extra):
    """Output of a decoder, and its target."""

    logits: Float[Tensor, "B V"] | LinearLogits
    """(B, V) before the sigmoid."""
    target: SparseRows
    """(B, V) the clean input."""


@dataclass(frozen=True)
class WordsInContext(Extra):
    """The words of a batch of texts in order, for objectives on words and their neighbours."""

    vector: Float[Tensor, "W E"]
    """(W, E) of each word, as a centre."""
    number: Int64[Tensor, " W"]
    """(W,) its number in the vocabulary; 0 if unknown."""
    offsets: Int64[Tensor, " _"]
    """(B + 1,) text b has the words `offsets[b]` to `offsets[b + 1]`."""
    contexts: Float[Tensor, "C E"]
    """(C, E) vector of each number, as a neighbour."""
    counts: Int64[Tensor, " C"]
    """(C,) how often each number occurs in the train texts."""


@dataclass(frozen=True)
class EncodedBatch:
    """The encoded sides of one training batch and its labels: the input of an objective."""

    anchor: Encoding
    positive: Encoding | None = None
    negative: Encoding | None = None
    """H mined negatives for each anchor: the first of every anchor, then the second of every anchor, and so on."""
    label: Shaped[Tensor, " B"] | None = None
    """(B,) int64 group code of each anchor (labelled texts), or float of each pair: 0/1, probability, similarity."""
    group: Int64[Tensor, " B"] | None = None
    """(B,) int64 duplicate cluster of each anchor, -1 where unknown."""
    positive_group: Int64[Tensor, " B"] | None = None
    """(B,) the same of each positive; texts of the anchor's own cluster are never its negatives."""
    negative_group: Int64[Tensor, " _"] | None = None
    """(H · B,) the same of each mined negative; one of another row may be of the anchor's own cluster."""
    score: Float[Tensor, " B"] | None = None
    """(B,) the encoder's score of anchor and positive, for objectives with `needs_score`."""


def unit_vectors(vectors: Float[Tensor, "... H"]) -> Float[Tensor, "... H"]:
    """Return vectors divided by their length; a zero vector stays zero, and its gradient stays small."""
    lengths = vectors.norm(dim=-1, keepdim=True)
    scaled: Tensor = vectors / lengths.where(lengths > 0, 1)
    return scaled
