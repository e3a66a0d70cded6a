"""Scores of texts that are embedded alone: the cosine or the dot product of two embeddings.

`DotProduct` and `TwoTower` are the bases of these families. `ComparingTowers` adds a network to the cosine, `LinearMap`
embeds a sparse row x as L x, and `DualTower` has one tower for queries and one for documents:

    s(l, r) = (q_l · d_r + q_r · d_l) / 2√E        q, d: outputs of the towers after layer normalisation

Duplicate detection is symmetric, so a text is embedded in both roles, and the score is the mean over both directions.
Both towers start with the same weights, like two encoders with the same pretrained weights. Layer normalisation, as in
the last layer of ORQA and BERT, gives all embeddings the same length at the start. Dots are divided by √E, as in
attention, so that a softmax over them starts out flat.

Shape letters: B pairs or texts, E embedding dimensions, D columns of the features.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import Encoding, Extra, Roles, SparseRows
from twicetold.layers.first_layer import product


@dataclass(frozen=True)
class OwnDimensions(Extra):
    """Dimensions that only a comparing network sees."""

    own: Float[Tensor, "B C"]
    """(B, C)."""


class DotProduct(nn.Module):
    """Base of the families whose score is the dot product of `search_vectors`.

    A subclass defines `encode`. By default an embedding is that as a query and that as a document, side by side.
    """

    score_is_dot_product = True

    def encode(self, features: SparseRows) -> Encoding:
        """Embed a batch of texts: (B, E)."""
        raise NotImplementedError

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) score of each pair; higher means more alike."""
        return (self.search_vectors(left)[0] * self.search_vectors(right)[1]).sum(1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Return vectors whose dot products are the scores: [query | document] and [document | query].

        Their dot product is the sum of both directions, so it is symmetric.
        """
        both = dense(encoding)
        return both, both.roll(both.shape[1] // 2, dims=1)


class TwoTower(DotProduct):
    """Base of the families that embed each text alone and compare by cosine.

    A subclass defines `encode`. A text whose embedding is zero has cosine 0 with every text.
    """

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) cosine of each pair, in [−1, 1]; higher means more alike."""
        return cosine_similarity(dense(left), dense(right), dim=1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Return vectors whose dot products are the cosines: (B, E) as queries, (B, E) as documents."""
        unit = normalize(dense(encoding), dim=1)
        return unit, unit


class ComparingTowers(TwoTower):
    """Base of the families that embed each text alone and add a comparing network to the cosine.

    A subclass defines `encode`, `compare` and `scale`, the weight of the cosine. An encoding may hold `OwnDimensions`,
    which only the network sees, because comparing two texts and searching need different features. Documents are
    ranked by the cosine of their embeddings, as a network over all pairs of documents would be too expensive.

    Further shape letter: C dimensions for the network only, 0 or more.
    """

    score_is_dot_product = False
    scale: nn.Parameter

    def compare(self, u: Float[Tensor, "B D"], v: Float[Tensor, "B D"], cosine: Float[Tensor, " B"]) -> Tensor:
        """Return (B,) what the network adds to the score, symmetric in u and v. D is E + C."""
        raise NotImplementedError

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log-odds that each pair is a duplicate; 0 where a text has no known word."""
        u, v = dense(left), dense(right)
        cosine = cosine_similarity(u, v, dim=1)
        known = (u != 0).any(1) & (v != 0).any(1)
        return (self.scale * cosine + self.compare(_widened(left), _widened(right), cosine)) * known


class LinearMap(TwoTower):
    """Base of the linear families: cosine of L x and L x'. A text without a known column has a zero embedding.

    Columns are initialised as random directions, so that the similarity of two texts is about that of their columns.

    Args:
        width: D, number of columns of the features.
        hidden: E.
        init_std: standard deviation of the weights at the start; None: 1 / √E, columns of about unit length.
    """

    def __init__(self, *, width: int, hidden: int, init_std: float | None = None) -> None:
        super().__init__()
        deviation = hidden**-0.5 if init_std is None else init_std
        self.weight = nn.Parameter(torch.randn(width, hidden) * deviation)  # L transposed, (D, E)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: the weighted sum of the columns of each text."""
        return Encoding(product(features, self.weight))


class DualTower(DotProduct):
    """Base of the families with one tower for queries and one for documents.

    Args:
        query: from rows to (B, E), not yet normalised.
        document: the same architecture; it is initialised with the weights of `query`.
        embedding: E.
    """

    def __init__(self, query: nn.Module, document: nn.Module, *, embedding: int) -> None:
        super().__init__()
        document.load_state_dict(query.state_dict())
        self.query = query
        self.document = document
        self.query_norm = nn.LayerNorm(embedding)
        self.document_norm = nn.LayerNorm(embedding)

    def known(self, features: SparseRows) -> Bool[Tensor, " B"]:
        """Return (B,) which texts have a known feature; the embeddings of the others are zero."""
        raise NotImplementedError

    def encode(self, features: SparseRows) -> Encoding:
        """Embed in both roles: (B, 2E); in training also as `Roles`, (B, 1, E) each."""
        known = self.known(features)[:, None]
        query: Tensor = self.query_norm(self.query(features)) * known
        document: Tensor = self.document_norm(self.document(features)) * known
        scale = query.shape[1] ** -0.25
        query, document = query * scale, document * scale
        both = torch.cat([query, document], dim=1) / 2**0.5  # 2 (B, E) -> (B, 2E)
        return Encoding(both, Roles(query[:, None], document[:, None]) if self.training else None)


def divided(whole: Float[Tensor, "B D"], own: int) -> Encoding:
    """Return an encoding whose last C = `own` dimensions are seen by the comparing network only."""
    if not own:
        return Encoding(whole)
    return Encoding(whole[:, :-own], OwnDimensions(whole[:, -own:]))


def _widened(encoding: Encoding) -> Float[Tensor, "B D"]:
    """Return (B, E + C) all dimensions, the inverse of `divided`."""
    own = encoding.extra
    return torch.cat([dense(encoding), own.own], 1) if isinstance(own, OwnDimensions) else dense(encoding)


def dense(encoding: Encoding) -> Float[Tensor, "B E"]:
    """Return the embedding of a family whose embeddings are dense.

    Raises:
        TypeError: if the embedding is sparse.
    """
    if isinstance(encoding.embedding, SparseRows):
        raise TypeError("expected a dense embedding, got sparse rows, which only a `SparseTower` can score")
    return encoding.embedding
