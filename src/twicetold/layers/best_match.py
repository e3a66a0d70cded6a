"""What the other text of a pair has for each word: the best match, a mean by similarity, or the mean about the best.

The matching functions of Wang, Mi and Ittycheriah, Sentence Similarity Learning by Lexical Decomposition and
Composition, COLING 2016 (arXiv:1602.07019), section 3.1. With a_ij = cos(s_i, t_j) and k = argmax_j a_ij:

    max       ŝ_i = t_k
    local-w   ŝ_i = Σ_j a_ij t_j / Σ_j a_ij            over |j − k| ≤ w
    global    ŝ_i = Σ_j a_ij t_j / Σ_j a_ij            over all j

"max" and "global" are also the choices of attentive and max-attentive matching in BiMPM (arXiv:1702.03814). Cosines may
be negative, so the sum of weights may be too, or vanish: then it is taken as `LEAST`.

Texts of a pair are padded together, in groups of pairs of similar length (`alignment.Facing`), so memory grows with the
product of the lengths of two texts of a pair, never with that of all texts.

Shape letters: N pairs of a group, S and T tokens of a text and of the other, B pairs, K tokens of all their texts, P
places of the padded texts, D dimensions.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import embedding, normalize

from twicetold.layers.alignment import Facing

LEAST = 1e-6  # of a sum of weights
BELOW = -2.0  # any cosine


class Pairs(NamedTuple):
    """A group of padded pairs, left and right texts."""

    values: Float[Tensor, "2 N T D"]
    beyond: Bool[Tensor, "2 N T"]
    """Which places are padding."""


def groups_of_pairs(values: Float[Tensor, "K D"], facing: Facing) -> Iterator[Pairs]:
    """The values of all pairs that have a token, in groups of similar length; zeros for padding."""
    spread = embedding(facing.token, torch.cat([values, values.new_zeros(1, values.shape[1])]))  # (K, D) -> (P, D)
    for part, beyond in zip(facing.groups(spread), facing.groups(facing.token == len(values)), strict=True):
        if part.shape[2]:
            yield Pairs(part, beyond)


def gathered(parts: list[Float[Tensor, "2 _ _ D"]], like: Float[Tensor, "K D"], facing: Facing) -> Tensor:
    """(K, D) the values at the tokens' places, the inverse of `groups_of_pairs`.

    Args:
        parts: of each group.
        like: values that were spread; without any group, the result is theirs.
        facing: the places.
    """
    if not parts:
        return like[:0]
    return embedding(facing.place, torch.cat([part.flatten(0, 2) for part in parts]))  # (P, D) -> (K, D)


def cosines(left: Float[Tensor, "N S D"], right: Float[Tensor, "N T D"]) -> Float[Tensor, "N S T"]:
    """Of each vector of one text and each of the other; 0 where one is zero."""
    return normalize(left, dim=2) @ normalize(right, dim=2).transpose(1, 2)


def best(alike: Float[Tensor, "N S T"], beyond: Bool[Tensor, "N T"]) -> Int64[Tensor, "N S"]:
    """k: which token of the other text is most alike, the first of several; 0 if there is none."""
    return alike.masked_fill(beyond[:, None], BELOW).argmax(2)


def taken(values: Float[Tensor, "N T D"], place: Int64[Tensor, "N S"]) -> Float[Tensor, "N S D"]:
    """t_k: the value at one place for each token."""
    return values.gather(1, place[..., None].expand(-1, -1, values.shape[2]))


def weighted(weights: Float[Tensor, "N S T"], values: Float[Tensor, "N T D"]) -> Float[Tensor, "N S D"]:
    """Σ_j a_ij t_j / Σ_j a_ij; padding is zero and has no weight."""
    total = weights.sum(2, keepdim=True)
    return weights @ values / total.where(total.abs() > LEAST, LEAST)


def near(weights: Float[Tensor, "N S T"], place: Int64[Tensor, "N S"], window: int) -> Float[Tensor, "N S T"]:
    """The weights of tokens at most `window` places from the given one; 0 for others."""
    distance = torch.arange(weights.shape[2], device=weights.device) - place[..., None]
    return weights * (distance.abs() <= window)


def match(
    own: Float[Tensor, "N S D"], other: Float[Tensor, "N T D"], beyond: Bool[Tensor, "N T"], *, window: int | None
) -> Float[Tensor, "N S D"]:
    """ŝ of one text's tokens.

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
    return taken(other, place) if window == 0 else weighted(near(alike, place, window), other)
