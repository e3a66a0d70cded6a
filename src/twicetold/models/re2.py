"""RE2: repeated alignment of the words of two texts, and a network that compares the results.

Yang, Zhang, Gao, Ji and Chen, Simple and Effective Text Matching with Richer Alignment Features, ACL 2019
(arXiv:1908.00300). One block, for text a; b goes through the same with the roles exchanged:

    c  = CNN(x)                            layers of convolutions: each word in its context
    z  = [x; c]
    z' = Σ_j softmax_j(τ F(z) · F(z_j)) z_j                      over the words j of the other text
    o  = G([G₁([z; z']); G₂([z; z − z']); G₃([z; z ∘ z'])])      fusion

"Richer" are the residual connections, which pass the embedded words to each block:

    x₁ = e                                 embedded words
    x₂ = [e; o₁],  x_n = [e; (o_{n−1} + o_{n−2}) / √2]

The last block's o is pooled by maximum and mean over each text, to u and v, and a network compares them. The cosine of
the two texts' mean word vectors is added to the paper's network:

    s = a · cos(ē_left, ē_right) + H([u + v; |u − v|; u ∘ v])    log-odds of a duplicate

Unlike in the paper, the score is symmetric: the input of H is u + v in place of u and v. A learnt vector is added to
words that occur in both texts (Brahma, REGMAPR, arXiv:1808.04343). The embedding of a word is the mean over the word
and its letter n-grams, as in fastText, if the featuriser provides them; pretrained vectors, if provided, are frozen and
concatenated to e.

The score needs both texts at once, so a single text has no search vector.

Shape letters: B texts or pairs, V columns, C columns that are words, W words of a batch, E embedding, G pretrained and
H hidden dimensions, D dimensions of a block's input.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, embedding, gelu, linear

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import Encoding, Extra, SparseRows
from twicetold.layers.alignment import Alignment, Facing
from twicetold.layers.dropout import dropout
from twicetold.layers.first_layer import product
from twicetold.layers.hashing import word_rows
from twicetold.layers.pooling import Pooling
from twicetold.layers.sequence import RaggedConvolution, with_known_token

KNUTH = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 over the golden ratio, as a signed number


@dataclass(frozen=True)
class WordRows(Extra):
    """The words of a batch of texts, one text after another."""

    vectors: Float[Tensor, "W E"]
    given: Float[Tensor, "W G"]
    """(W, G) pretrained vectors, which are not trained."""
    identity: Int64[Tensor, " W"]
    """(W,) a number for each spelling; 0 for an unknown word."""
    offsets: Int64[Tensor, " _"]
    """(B + 1,) text b has the words `offsets[b]` to `offsets[b + 1]`."""
    mean: Float[Tensor, "B E"]
    """(B, E) of each text's vectors."""
    known: Bool[Tensor, " B"]
    """(B,) which texts have a known word."""


class Re2(nn.Module):
    """Embeddings, blocks of encoder, alignment and fusion, pooling, prediction.

    Args:
        width: V, number of columns.
        embedding: E, dimensions of a word's vector.
        init_std: standard deviation of its entries at the start.
        hidden: H, of every layer.
        blocks: number of blocks, each with one alignment.
        layers: convolutions of a block's encoder.
        window: words of a convolution's window, an odd number.
        dropout: share of a layer's inputs that are dropped in training.
        scale: a at the start of training.
        given: G, dimensions of the pretrained vectors; 0 for none.
        counts: (C,) number of occurrences in train of each column that is a word; the others are n-grams, which follow
            their word. None: all are words.
        vectors: (C, G) the pretrained vectors; None where a trained model will be loaded.

    Raises:
        ValueError: if the pretrained vectors have another shape.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        init_std: float,
        hidden: int,
        blocks: int,
        layers: int,
        window: int,
        dropout: float,
        scale: float,
        given: int = 0,
        counts: Int64[np.ndarray, " C"] | None = None,
        vectors: Float[np.ndarray, "C G"] | None = None,
    ) -> None:
        super().__init__()
        self.words = width if counts is None else len(counts)
        self.table = nn.Parameter(torch.randn(width, embedding) * init_std)
        if counts is not None:  # a word that train lacks would keep its random vector
            self.table.data[: len(counts)][torch.from_numpy(np.asarray(counts) == 0)] = 0
        self.given: Tensor
        self.register_buffer("given", _given(vectors, self.words, given))
        self.mark = nn.Parameter(torch.zeros(embedding))
        size = embedding + given
        sizes = [size] + [size + hidden] * (blocks - 1)
        self.blocks = nn.ModuleList(
            AlignmentBlock(s, hidden, layers=layers, window=window, dropout=dropout) for s in sizes
        )
        self.mean, self.most, self.average = (
            Pooling(*how) for how in (("mean", embedding), ("max", hidden), ("mean", hidden))
        )
        self.scale = nn.Parameter(torch.tensor(scale))
        self.predict = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(6 * hidden, 2 * hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden, 1),
        )
        self.apply(_initialise)

    def encode(self, features: SparseRows) -> Encoding:
        """Return the mean of the words' vectors, (B, E), and the words themselves, from which the score is made.

        The mean is detached: no objective on single texts may train it, because it is not used for search.
        """
        entries, offsets = word_rows(features, self.words)
        vectors = product(entries, self.table, but=UNKNOWN_TOKEN)  # sparse (W, V) -> (W, E)
        given = embedding(entries.indices[entries.offsets[:-1]], self.given)  # (W,) -> (W, G)
        mean = self.mean(vectors, offsets)  # (W, E) -> (B, E)
        words = WordRows(vectors, given, _identity(entries), offsets, mean, with_known_token(features))
        return Encoding(mean.detach(), words)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log-odds that each pair is a duplicate; 0 where a text has no known word."""
        one, other = left.extra, right.extra
        assert isinstance(one, WordRows)
        assert isinstance(other, WordRows)
        facing = Facing.of(offsets := torch.cat([one.offsets, one.offsets[-1] + other.offsets[1:]]))
        marked = torch.cat([one.vectors, other.vectors]) + _shared(one, other)[:, None] * self.mark  # (W, E)
        embedded = torch.cat([marked, torch.cat([one.given, other.given])], 1)  # (W, E + G)
        x, fused = embedded, []
        for block in self.blocks:
            fused.append(block(x, offsets, facing))  # (W, D) -> (W, H)
            earlier = fused[0] if len(fused) == 1 else (fused[-1] + fused[-2]) / 2**0.5
            x = torch.cat([embedded.to(earlier.dtype), earlier], 1)  # (W, E + G + H)
        last = fused[-1]
        u, v = torch.cat([self.most(last, offsets), self.average(last, offsets)], 1).chunk(2)  # (W, H) -> 2 (B, 2 H)
        compared: Tensor = self.predict(torch.cat([u + v, (u - v).abs(), u * v], 1)).squeeze(1)  # (B, 6 H) -> (B,)
        alike = cosine_similarity(one.mean, other.mean, dim=1)
        scores: Tensor = (self.scale * alike + compared.float()) * (one.known & other.known)
        return scores


class AlignmentBlock(nn.Module):
    """Encoder, alignment and fusion.

    Args:
        size: D, of the input.
        hidden: H, of the output.
        layers: convolutions.
        window: words of a convolution's window.
        dropout: share of a layer's inputs that are dropped in training.
    """

    def __init__(self, size: int, hidden: int, *, layers: int, window: int, dropout: float) -> None:
        super().__init__()
        self.encoder = nn.ModuleList(
            RaggedConvolution(hidden if n else size, hidden, window=window) for n in range(layers)
        )
        self.align = Alignment(size + hidden, hidden, dropout=dropout)
        self.fuse = Fusion(size + hidden, hidden, dropout=dropout)
        self.dropout = dropout

    def forward(self, x: Float[Tensor, "W D"], offsets: Int64[Tensor, " _"], facing: Facing) -> Float[Tensor, "W H"]:
        """Return (W, H) from (W, D)."""
        c = x
        for convolve in self.encoder:
            c = dropout(gelu(convolve(c, offsets)), self.dropout, self.training)
        z = torch.cat([x.to(c.dtype), c], 1)  # (W, D + H)
        fused: Tensor = self.fuse(z, self.align(z, facing))
        return fused


class Fusion(nn.Module):
    """Fusion of each word's features with the aligned features: concatenation, difference and product.

    Args:
        size: D, of a word's features.
        hidden: H, of each layer.
        dropout: share of the last layer's inputs that are dropped in training.
    """

    def __init__(self, size: int, hidden: int, *, dropout: float) -> None:
        super().__init__()
        self.together, self.difference, self.product = (nn.Linear(2 * size, hidden) for _ in range(3))
        self.project = nn.Linear(3 * hidden, hidden)
        self.dropout = dropout

    def forward(self, z: Float[Tensor, "W D"], aligned: Float[Tensor, "W D"]) -> Float[Tensor, "W H"]:
        """Return (W, H) from twice (W, D)."""
        # As published, but without concatenating: [W₁ W₂] [z; z − z'] = (W₁ + W₂) z − W₂ z'; one product of z for all.
        (t1, t2), (d1, d2), (p1, p2) = (g.weight.chunk(2, 1) for g in (self.together, self.difference, self.product))
        bias = torch.cat([self.together.bias, self.difference.bias, self.product.bias])
        own = linear(z, torch.cat([t1, d1 + d2, p1]), bias)  # (W, D) -> (W, 3 H)
        others = torch.cat([linear(aligned, torch.cat([t2, -d2])), linear(z * aligned, p2)], 1)  # -> (W, 3 H)
        fused: Tensor = gelu(self.project(dropout(gelu(own + others), self.dropout, self.training)))
        return fused


def _initialise(layer: nn.Module) -> None:
    """Initialise as He et al., ICCV 2015, and the authors' code; the default is too small for this depth."""
    if isinstance(layer, (nn.Linear, nn.Conv1d)):
        assert layer.bias is not None
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu" if layer.weight.shape[0] > 1 else "linear")
        nn.init.zeros_(layer.bias)


def _given(vectors: Float[np.ndarray, "C G"] | None, words: int, size: int) -> Float[Tensor, "C G"]:
    """Return (C, G) the vectors; zeros if they will be loaded.

    Raises:
        ValueError: if the vectors have another shape.
    """
    if vectors is None:
        return torch.zeros(words, size)
    if vectors.shape != (words, size):
        raise ValueError(
            f"the pretrained vectors have {vectors.shape[1]} dimensions for each of {vectors.shape[0]} words, but the "
            f"encoder wants {size} for each of {words}: set encoder.given={vectors.shape[1]}"
        )
    return torch.tensor(vectors, dtype=torch.float32)


def _identity(words: SparseRows) -> Int64[Tensor, " W"]:
    """Return (W,) a hash of the columns of each word; 0 for an unknown word."""
    number = words.indices * KNUTH
    number = (number ^ (number >> 29)) * KNUTH
    return torch.zeros(len(words), dtype=torch.int64, device=number.device).index_add_(0, words.rows(), number)


def _shared(left: WordRows, right: WordRows) -> Float[Tensor, " W"]:
    """Return (W,) for each word of all left and then all right texts: 1 if the pair's other text has it, else 0."""

    def within_pair(side: WordRows) -> Tensor:
        pair = torch.repeat_interleave(side.offsets.diff(), output_size=len(side.identity))
        return side.identity + (pair + 1) * KNUTH

    one, other = within_pair(left), within_pair(right)
    shared = torch.cat([torch.isin(one, other), torch.isin(other, one)])
    return (shared & (torch.cat([left.identity, right.identity]) != 0)).float()
