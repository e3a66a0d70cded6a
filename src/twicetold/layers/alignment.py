"""RE2's alignment layer: attention of each word of a text to the words of the other text of its pair.

Yang, Zhang, Gao, Ji and Chen, Simple and Effective Text Matching with Richer Alignment Features, ACL 2019, section 2.3.

    e_ij = τ F(a_i) · F(b_j)               F a dense layer, τ learnt
    a'_i = Σ_j softmax_j(e_ij) b_j         and b' the same with the texts exchanged

Texts are concatenated, as in `sequence`, all left ones before all right ones. They are padded for the products above
only, in groups of pairs of similar length; padding has no weight.

Shape letters: B pairs, K tokens of all their texts, P places of the padded texts, N pairs of a group, T tokens of its
longest text, D and H dimensions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import embedding, gelu

from twicetold.layers.dropout import dropout

GROUP = 16  # pairs that are aligned together


@dataclass(frozen=True)
class Facing:
    """The places of the tokens of B pairs in padded groups."""

    token: Int64[Tensor, " P"]
    """(P,) the token at each place: left texts of a group, then its right ones; K for padding."""
    place: Int64[Tensor, " K"]
    """(K,) the place of each token."""
    shapes: tuple[tuple[int, int], ...]
    """N and T of each group."""

    @classmethod
    def of(cls, offsets: Int64[Tensor, " _"]) -> "Facing":
        """Build from the (2 B + 1,) offsets of the texts, of which the last B are the right ones."""
        starts, lengths = offsets[:-1].view(2, -1), offsets.diff().view(2, -1)  # (2, B)
        longest = lengths.amax(0)
        order = longest.argsort(stable=True)
        *ascending, total = torch.cat([longest[order], offsets[-1:]]).tolist()  # a wait for the device, the only one
        shapes, tokens = [], [offsets[:0]]
        for start in range(0, len(order), GROUP):
            pairs = order[start : start + GROUP]
            time = torch.arange(ascending[start : start + GROUP][-1], device=offsets.device)
            token = torch.where(time < lengths[:, pairs, None], starts[:, pairs, None] + time, total)  # (2, N, T)
            shapes.append((len(pairs), len(time)))
            tokens.append(token.flatten())
        token = torch.cat(tokens)
        place = torch.empty(total + 1, dtype=torch.int64, device=token.device)
        place[token] = torch.arange(len(token), device=token.device)
        return cls(token, place[:-1], tuple(shapes))

    def groups(self, padded: Tensor) -> Iterator[Tensor]:
        """Yield (2, N, T, ·) of each group, left and right texts, from (P, ·)."""
        sizes = [2 * pairs * time for pairs, time in self.shapes]
        for part, (pairs, time) in zip(torch.split(padded, sizes), self.shapes, strict=True):
            yield part.view(2, pairs, time, *part.shape[1:])


class Alignment(nn.Module):
    """Attention of each text to the other.

    Args:
        size: D, of a token's values.
        hidden: H, of F.
        dropout: share of F's inputs that are dropped in training.
    """

    def __init__(self, size: int, hidden: int, *, dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(size, hidden)
        self.temperature = nn.Parameter(torch.tensor(hidden**-0.5))
        self.dropout = dropout

    def forward(self, values: Float[Tensor, "K D"], facing: Facing) -> Float[Tensor, "K D"]:
        """Return the aligned values of each token; zeros where the other text is empty."""
        keys = gelu(self.project(dropout(values, self.dropout, self.training)))  # (K, D) -> (K, H)
        padded = (_padded(rows, facing) for rows in (keys, values))  # (P, H), (P, D)
        parts = zip(*map(facing.groups, padded), facing.groups(facing.token == len(values)), strict=True)
        aligned = [values[:0]]
        for key, value, beyond in parts:
            scores = (key[0] * self.temperature) @ key[1].transpose(1, 2)  # (N, T, T)
            lefts = _softmax(scores, beyond[1]) @ value[1]  # (N, T, D)
            rights = _softmax(scores.transpose(1, 2), beyond[0]) @ value[0]
            aligned += [lefts.flatten(0, 1), rights.flatten(0, 1)]
        return embedding(facing.place, torch.cat(aligned))  # (P, D) -> (K, D)


def _padded(rows: Float[Tensor, "K D"], facing: Facing) -> Float[Tensor, "P D"]:
    return embedding(facing.token, torch.cat([rows, rows.new_zeros(1, rows.shape[1])]))


def _softmax(scores: Float[Tensor, "N T T"], beyond: Bool[Tensor, "N T"]) -> Float[Tensor, "N T T"]:
    """Return weights over the other text. The minimum is finite, so that an empty text gives no nan."""
    return scores.masked_fill(beyond[:, None], torch.finfo(scores.dtype).min).softmax(2)
