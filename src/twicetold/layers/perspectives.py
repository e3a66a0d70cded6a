"""Matching over perspectives: cosines of two vectors, each with weights of its own on their dimensions.

Wang, Hamza and Florian, Bilateral Multi-Perspective Matching for Natural Language Sentences, IJCAI 2017
(arXiv:1702.03814), equation 2.

    m_k(u, v) = cos(W_k ∘ u, W_k ∘ v)      for perspectives k = 1 ... l

The weighted vectors need not be made. With Ω_k = W_k ∘ W_k, all numerators are one matrix product, and so are lengths:

    (W_k ∘ u) · (W_k ∘ v) = Ω_k · (u ∘ v)              ‖W_k ∘ u‖² = Ω_k · (u ∘ u)

m is symmetric in u and v, lies in [−1, 1], and is 1 where u and v have the same direction.

Shape letters: N pairs of texts, S and T their tokens, B pairs, D dimensions, L perspectives (l above).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding
from twicetold.layers.first_layer import xavier
from twicetold.layers.two_tower import TwoTower, dense

LEAST = 1e-12  # squared length of a vector that counts as zero


class Perspectives(nn.Module):
    """The cosines; 0 where a weighted vector is zero. Computed in the precision of the weights, autocast or not.

    Args:
        count: L.
        size: D.

    Raises:
        ValueError: if there is no perspective.
    """

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        if count < 1:
            raise ValueError(f"texts are matched over at least one perspective; got {count}")
        self.weight = nn.Parameter(torch.empty(count, size))
        xavier(self.weight)

    def forward(self, u: Float[Tensor, "... D"], v: Float[Tensor, "... D"]) -> Float[Tensor, "... L"]:
        """Return (..., L) of two vectors at each place."""
        with in_full_precision(u.device):
            u, v, squared = u.to(self.weight.dtype), v.to(self.weight.dtype), self.weight**2
            return (u * v) @ squared.T * (_inverse_lengths(u, squared) * _inverse_lengths(v, squared))

    def between(self, u: Float[Tensor, "N S D"], v: Float[Tensor, "N T D"]) -> Float[Tensor, "N L S T"]:
        """Return (N, L, S, T) of each vector of one text and each of the other."""
        with in_full_precision(u.device):
            u, v, squared = u.to(self.weight.dtype), v.to(self.weight.dtype), self.weight**2
            weighted = u[:, None] * squared[:, None]  # (N, S, D) -> (N, L, S, D)
            dots = weighted.flatten(1, 2) @ v.transpose(1, 2)  # (N, L, S, D), (N, D, T) -> (N, L S, T)
            dots = dots.reshape(len(u), len(squared), u.shape[1], v.shape[1])  # -> (N, L, S, T)
            one, other = (_inverse_lengths(x, squared).transpose(1, 2) for x in (u, v))  # (N, L, S), (N, L, T)
            cosines: Tensor = dots * one[..., None] * other[:, :, None]
            return cosines


class MultiPerspective(TwoTower):
    """Base of the families that embed each text alone and score a pair by a linear layer on its perspectives.

    The head of the baselines "Multi-Perspective-CNN" and "Multi-Perspective-LSTM" of the same paper (section 5):

        s(u, v) = w · m(u, v) + b          log-odds of a duplicate

    A subclass defines `encode`. At the start all w_k are a / l, so the score is a times the mean of the cosines and an
    untrained model already has two copies of a text as the most similar pair. Documents are ranked by the plain cosine
    of their embeddings, which is the perspective with equal weights.

    Args:
        size: D, of an embedding.
        perspectives: L.
        scale: a.
    """

    score_is_dot_product = False

    def __init__(self, *, size: int, perspectives: int, scale: float) -> None:
        super().__init__()
        self.perspectives = Perspectives(perspectives, size)
        self.decide = nn.Linear(perspectives, 1)
        nn.init.constant_(self.decide.weight, scale / perspectives)
        nn.init.zeros_(self.decide.bias)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log-odds that each pair is a duplicate; 0 where a text has no known word."""
        u, v = dense(left), dense(right)
        known = (u != 0).any(1) & (v != 0).any(1)
        with in_full_precision(u.device):
            decided: Tensor = self.decide(self.perspectives(u, v)).squeeze(1)  # (B, D) -> (B, L) -> (B,)
        return decided * known


def in_full_precision(device: torch.device) -> torch.autocast:
    """Turn autocast off: bf16 has too few digits for the cosine of two vectors that are nearly the same."""
    return torch.autocast(device.type, enabled=False)


def _inverse_lengths(vectors: Float[Tensor, "... D"], squared: Float[Tensor, "L D"]) -> Float[Tensor, "... L"]:
    lengths: Tensor = (vectors * vectors) @ squared.T
    return lengths.clamp(min=LEAST).rsqrt()
