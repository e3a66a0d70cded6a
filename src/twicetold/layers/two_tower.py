"""Two-tower scoring: both texts are embedded alone, and the score is the cosine of the two embeddings.

Shape letters: B pairs or texts, E embedding dimensions.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import Encoding, Extra, SparseRows


@dataclass(frozen=True)
class OwnDimensions(Extra):
    """Dimensions that only a comparing network sees."""

    own: Float[Tensor, "B C"]
    """(B, C)."""


class TwoTower(nn.Module):
    """Base of the families that embed each text alone and compare by cosine.

    A subclass defines `encode`. A text whose embedding is zero has cosine 0 with every text.
    """

    score_is_dot_product = True

    def encode(self, features: SparseRows) -> Encoding:
        """Embed a batch of texts: (B, E)."""
        raise NotImplementedError

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) cosine of each pair, in [−1, 1]; higher means more alike."""
        return cosine_similarity(dense(left), dense(right), dim=1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Vectors whose dot products are the cosines: (B, E) as queries, (B, E) as documents."""
        unit = normalize(dense(encoding), dim=1)
        return unit, unit


class Comparing(TwoTower):
    """Base of the families that embed each text alone and add a comparing network to the cosine.

    A subclass defines `encode`, `compare` and `scale`, the weight of the cosine. An encoding may hold `OwnDimensions`,
    which only the network sees, because comparing two texts and searching need different features. Documents are
    ranked by the cosine of their embeddings, as a network over all pairs of documents would be too expensive.

    Further shape letter: C dimensions for the network only, 0 or more.
    """

    score_is_dot_product = False
    scale: nn.Parameter

    def compare(self, u: Float[Tensor, "B D"], v: Float[Tensor, "B D"], cosine: Float[Tensor, " B"]) -> Tensor:
        """(B,) what the network adds to the score, symmetric in u and v. D is E + C."""
        raise NotImplementedError

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) log-odds that each pair is a duplicate; 0 where a text has no known word."""
        u, v = dense(left), dense(right)
        cosine = cosine_similarity(u, v, dim=1)
        known = (u != 0).any(1) & (v != 0).any(1)
        return (self.scale * cosine + self.compare(_widened(left), _widened(right), cosine)) * known


def divided(whole: Float[Tensor, "B D"], own: int) -> Encoding:
    """An encoding whose last C = `own` dimensions are seen by the comparing network only."""
    if not own:
        return Encoding(whole)
    return Encoding(whole[:, :-own], OwnDimensions(whole[:, -own:]))


def _widened(encoding: Encoding) -> Float[Tensor, "B D"]:
    """(B, E + C) all dimensions, the inverse of `divided`."""
    own = encoding.extra
    return torch.cat([dense(encoding), own.own], 1) if isinstance(own, OwnDimensions) else dense(encoding)


def both_roles(encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
    """Query vectors [query | document] and document vectors [document | query] of embeddings [query | document].

    Their dot product is the sum of both directions, so it is symmetric.
    """
    both = dense(encoding)
    return both, both.roll(both.shape[1] // 2, dims=1)


def dense(encoding: Encoding) -> Float[Tensor, "B E"]:
    """The embedding of a family whose embeddings are dense.

    Raises:
        TypeError: if the embedding is sparse.
    """
    if isinstance(encoding.embedding, SparseRows):
        raise TypeError("expected a dense embedding, got sparse rows, which only a `SparseTower` can score")
    return encoding.embedding
