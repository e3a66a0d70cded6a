"""Matches of each word in the other text of a pair: the best one, a mean by similarity, or the mean about the best.

The matching functions of Wang, Mi and Ittycheriah, Sentence Similarity Learning by Lexical Decomposition and
Composition, COLING 2016 (arXiv:1602.07019), section 3.1. With a_ij = cos(s_i, t_j) and k = argmax_j a_ij:

    max       ŝ_i = t_k
    local-w   ŝ_i = Σ_j a_ij t_j / Σ_j a_ij            over |j − k| ≤ w
    global    ŝ_i = Σ_j a_ij t_j / Σ_j a_ij            over all j

"max" and "global" are also the choices of attentive and max-attentive matching in BiMPM (arXiv:1702.03814). Cosines may
be negative, so the sum of weights may be too, or vanish: then it is taken as `LEAST`.

Texts of a pair are padded together, in groups of pairs of similar length (`alignment.Facing`), so memory grows with the
product of the lengths of two texts of a pair, never with that of all texts.

`FourMatchings` is the matching layer of BiMPM: each word of a text against the other text, in four ways. Wang, Hamza
and Florian, Bilateral Multi-Perspective Matching for Natural Language Sentences, IJCAI 2017 (arXiv:1702.03814), section
3.3. h are the states of one direction of an LSTM, p and q the texts, m the cosines over perspectives (`perspectives`),
with weights of its own for each way:

    full             m(h_i^p, h_end^q)     the last state that the LSTM has reached in the other text
    max-pooling      max_j m(h_i^p, h_j^q) for each perspective
    attentive        m(h_i^p, Σ_j α_ij h_j^q / Σ_j α_ij)       with α_ij = cos(h_i^p, h_j^q)
    max-attentive    m(h_i^p, h_k^q)                           with k = argmax_j α_ij

Both texts of a pair share the weights, so the roles of p and q can be exchanged.

For max-pooling, a pair of texts of S and T tokens takes L · S · T numbers; everything else is linear in S and T.

Shape letters: N pairs of a group, S and T tokens of a text and of the other, B pairs, K tokens of all their texts, P
places of the padded texts, D dimensions, H dimensions of a state, L perspectives.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, embedding, normalize

from twicetold.encoding import Encoding, Extra
from twicetold.layers.alignment import Facing
from twicetold.layers.perspectives import Perspectives, in_full_precision
from twicetold.layers.pooling import Pooling

LEAST = 1e-6  # of a sum of weights
BELOW = -2.0  # any cosine


@dataclass(frozen=True)
class WordStates(Extra):
    """The words of a batch of texts, one text after another."""

    states: Float[Tensor, "W _"]
    """(W, ·) of each word: its vector, or its state in its context."""
    offsets: Int64[Tensor, " _"]
    """(B + 1,) text b has the words `offsets[b]` to `offsets[b + 1]`."""
    lengths: Int64[np.ndarray, " B"] | None
    """(B,) words of each text, where Python knows them."""
    mean: Float[Tensor, "B D"]
    """(B, D) of each text's words, without context."""
    known: Bool[Tensor, " B"]
    """(B,) which texts have a known word or letter."""


@dataclass(frozen=True)
class WordPairs:
    """The words of B pairs of texts, those of all left texts before those of all right ones."""

    left: WordStates
    right: WordStates
    states: Float[Tensor, "W _"]
    offsets: Int64[Tensor, " _"]
    """(2 B + 1,)"""
    facing: Facing

    @classmethod
    def of(cls, left: Encoding, right: Encoding) -> "WordPairs":
        """Build from encodings with `WordStates`."""
        one, other = left.extra, right.extra
        assert isinstance(one, WordStates)
        assert isinstance(other, WordStates)
        offsets = torch.cat([one.offsets, one.offsets[-1] + other.offsets[1:]])
        return cls(one, other, torch.cat([one.states, other.states]), offsets, Facing.of(offsets))

    @property
    def lengths(self) -> Int64[np.ndarray, " _"] | None:
        """(2 B,) words of each text, where Python knows them."""
        if self.left.lengths is None or self.right.lengths is None:
            return None
        return np.concatenate([self.left.lengths, self.right.lengths])

    def with_cosine(self, scores: Float[Tensor, " B"], scale: Tensor | None) -> Float[Tensor, " B"]:
        """Return scores plus the cosine of the texts' means times `scale`; 0 where a text has no known word."""
        if scale is not None:
            with in_full_precision(scores.device):
                scores = scores + scale * cosine_similarity(self.left.mean, self.right.mean, dim=1)
        return scores * (self.left.known & self.right.known)


class PaddedPairs(NamedTuple):
    """A group of padded pairs, left and right texts."""

    values: Float[Tensor, "2 N T D"]
    beyond: Bool[Tensor, "2 N T"]
    """Mask of the places that are padding."""


def groups_of_pairs(values: Float[Tensor, "K D"], facing: Facing) -> Iterator[PaddedPairs]:
    """Yield the values of all pairs that have a token, in groups of similar length; zeros for padding."""
    spread = embedding(facing.token, torch.cat([values, values.new_zeros(1, values.shape[1])]))  # (K, D) -> (P, D)
    for part, beyond in zip(facing.groups(spread), facing.groups(facing.token == len(values)), strict=True):
        if part.shape[2]:
            yield PaddedPairs(part, beyond)


def gathered(parts: list[Float[Tensor, "2 _ _ D"]], like: Float[Tensor, "K D"], facing: Facing) -> Tensor:
    """Return (K, D) the values at the tokens' places, the inverse of `groups_of_pairs`.

    Args:
        parts: of each group.
        like: values that were spread; without any group, the result is theirs.
        facing: the places.
    """
    if not parts:
        return like[:0]
    return embedding(facing.place, torch.cat([part.flatten(0, 2) for part in parts]))  # (P, D) -> (K, D)


def cosines(left: Float[Tensor, "N S D"], right: Float[Tensor, "N T D"]) -> Float[Tensor, "N S T"]:
    """Return the cosine of each vector of one text and each of the other; 0 where one is zero."""
    return normalize(left, dim=2) @ normalize(right, dim=2).transpose(1, 2)


def best(alike: Float[Tensor, "N S T"], beyond: Bool[Tensor, "N T"]) -> Int64[Tensor, "N S"]:
    """Return k: which token of the other text is most alike, the first of several; 0 if there is none."""
    return alike.masked_fill(beyond[:, None], BELOW).argmax(2)


def taken(values: Float[Tensor, "N T D"], place: Int64[Tensor, "N S"]) -> Float[Tensor, "N S D"]:
    """Return t_k: the value at one place for each token."""
    return values.gather(1, place[..., None].expand(-1, -1, values.shape[2]))


def weighted(weights: Float[Tensor, "N S T"], values: Float[Tensor, "N T D"]) -> Float[Tensor, "N S D"]:
    """Return Σ_j a_ij t_j / Σ_j a_ij; padding is zero and has no weight."""
    total = weights.sum(2, keepdim=True)
    return weights @ values / total.where(total.abs() > LEAST, LEAST)


def within_window(weights: Float[Tensor, "N S T"], place: Int64[Tensor, "N S"], window: int) -> Float[Tensor, "N S T"]:
    """Return the weights of tokens at most `window` places from the given one; 0 for others."""
    distance = torch.arange(weights.shape[2], device=weights.device) - place[..., None]
    return weights * (distance.abs() <= window)


def match(
    own: Float[Tensor, "N S D"], other: Float[Tensor, "N T D"], beyond: Bool[Tensor, "N T"], *, window: int | None
) -> Float[Tensor, "N S D"]:
    """Return ŝ of one text's tokens.

    Args:
        own: s.
        other: t.
        beyond: which places of the other text are padding.
        window: 0 for max, w for local-w, None for global.
    """
    alike = cosines(own, other)
    if window is None:
        return weighted(alike, other)
    place = best(alike.detach(), beyond)
    return taken(other, place) if window == 0 else weighted(within_window(alike, place, window), other)


class FourMatchings(nn.Module):
    """Full, max-pooling, attentive and max-attentive matching of the states of one direction.

    Args:
        size: H.
        perspectives: L.
        backwards: the states are of an LSTM from the end of each text to its beginning.
    """

    def __init__(self, size: int, perspectives: int, *, backwards: bool) -> None:
        super().__init__()
        self.full, self.most, self.mean, self.chosen = (Perspectives(perspectives, size) for _ in range(4))
        self.end = Pooling("first" if backwards else "last", size)

    def forward(
        self, states: Float[Tensor, "K H"], offsets: Int64[Tensor, " _"], facing: Facing
    ) -> Float[Tensor, "K M"]:
        """Return (K, M) of each token, M = 4 L, in the order above; zeros where the other text is empty.

        Args:
            states: of all tokens.
            offsets: (2 B + 1,) of the texts, of which the last B are the right ones.
            facing: of these offsets.
        """
        with in_full_precision(states.device):
            states = states.to(self.full.weight.dtype)
            text = torch.repeat_interleave(offsets.diff(), output_size=len(states))
            ends = self.end(states, offsets).to(states.dtype)  # (K, H) -> (2 B, H)
            across = ends.roll(len(ends) // 2, 0).index_select(0, text)  # (K, H)
            most, mean, chosen = [], [], []
            for values, beyond in groups_of_pairs(states, facing):
                left, right = values
                alike = cosines(left, right)  # (N, S, T)
                sides = [(alike, right, beyond[1]), (alike.transpose(1, 2), left, beyond[0])]
                mean.append(torch.stack([weighted(cosine, other) for cosine, other, _ in sides]))
                chosen.append(torch.stack([taken(other, best(cosine.detach(), out)) for cosine, other, out in sides]))
                every = self.most.between(left, right)  # (N, L, S, T)
                most.append(torch.stack([_highest(every, beyond[1]), _highest(every.transpose(2, 3), beyond[0])]))
            nothing = states.new_zeros(0, len(self.most.weight))
            matches = [
                self.full(states, across),
                gathered(most, nothing, facing),
                self.mean(states, gathered(mean, states, facing)),
                self.chosen(states, gathered(chosen, states, facing)),
            ]
            return torch.cat(matches, 1)


def _highest(every: Float[Tensor, "N L S T"], beyond: Bool[Tensor, "N T"]) -> Float[Tensor, "N S L"]:
    """Return the highest value of each perspective over the other text; 0 where it is empty."""
    highest = every.masked_fill(beyond[:, None, None], BELOW).max(3).values
    return highest.masked_fill(beyond.all(1)[:, None, None], 0).transpose(1, 2)
