"""Two texts as one sequence, for cross-encoders.

Shape letters: B pairs, K tokens of the joined pairs.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from twicetold.encoding import SparseRows
from twicetold.layers.sequence import padded


@dataclass(frozen=True)
class JoinedPairs:
    """A sequence for each pair."""

    rows: SparseRows
    second: Bool[Tensor, " K"]
    """(K,) which tokens belong to the second text."""
    bounds: Int64[Tensor, " _"]
    """(2 B + 1,) start of the first and of the second text of each pair, and the end."""


def join(left: SparseRows, right: SparseRows, *, begins: int, between: Int64[Tensor, " _"]) -> JoinedPairs:
    """Join each left text with its right one, in an order that is the same if the sides are exchanged.

    The longer text comes first; of two that are equally long, the one whose first differing token has the higher
    number. So a model that depends on the order still gives a symmetric score, with one forward pass.

    Args:
        left: B sequences.
        right: B sequences.
        begins: number of special tokens at the start of a text; they are left out of the second text.
        between: tokens that are inserted before the second text, on the texts' device.
    """
    size, device = len(left), left.indices.device
    both = torch.cat([left.indices, right.indices, between])
    starts = torch.cat([left.offsets[:-1], right.offsets[:-1] + len(left.indices)])  # (2 B,)
    lengths = torch.cat([left.offsets.diff(), right.offsets.diff()])
    one, other = torch.arange(size, device=device), torch.arange(size, 2 * size, device=device)
    swap = _comes_later(left, right)
    first, second = torch.where(swap, other, one), torch.where(swap, one, other)
    # Three pieces for each pair: the first text, the tokens between, the second text without its special tokens.
    begin = torch.stack([starts[first], torch.full_like(one, len(both) - len(between)), starts[second] + begins], 1)
    length = torch.stack([lengths[first], torch.full_like(one, len(between)), lengths[second] - begins], 1)
    ends = length.flatten().cumsum(0)
    total = len(both) - len(between) + size * (len(between) - begins)
    piece = torch.repeat_interleave(torch.arange(3 * size, device=device), length.flatten(), output_size=total)
    within = torch.arange(len(piece), device=device) - (ends - length.flatten())[piece]
    bounds = torch.cat([ends.new_zeros(1), torch.stack([ends[1::3], ends[2::3]], 1).flatten()])
    known = None
    if left.lengths is not None and right.lengths is not None:
        known = left.lengths + right.lengths + (len(between) - begins)
    rows = SparseRows(both[begin.flatten()[piece] + within], bounds[::2], None, left.width, known)
    return JoinedPairs(rows, piece % 3 == 2, bounds)


def _comes_later(left: SparseRows, right: SparseRows) -> Bool[Tensor, " B"]:
    """(B,) where the left text comes second."""
    lengths, others = left.offsets.diff(), right.offsets.diff()
    longest = max(int(rows.known_lengths().max()) for rows in (left, right)) if len(left) else 0
    time = torch.arange(longest, device=lengths.device)

    def wide(rows: SparseRows, counts: Tensor) -> Tensor:
        return padded(
            rows.indices, torch.where(time < counts[:, None], rows.offsets[:-1, None] + time, len(rows.indices))
        )

    difference = wide(right, others) - wide(left, lengths)  # (B, T)
    if not difference.numel():
        return others > lengths
    at_first = difference.gather(1, (difference != 0).int().argmax(1, keepdim=True)).squeeze(1)
    return torch.where(lengths == others, at_first > 0, others > lengths)
