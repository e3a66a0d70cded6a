"""A pretrained transformer over a batch of token sequences of any length.

A batch is its K tokens, concatenated, as in `sequence`. Texts are processed in groups of similar length, each padded to
its longest, with a mask, so that a text's result does not depend on its neighbours.

Shape letters: B texts, K tokens of a batch, T tokens of the longest text of a group, H dimensions of a state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from twicetold import pretrained
from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import SparseRows
from twicetold.layers.sequence import GROUP, groups_of_like_length, padded

GROUP_GPU = 1024  # texts that are processed together on a GPU


class Transformer(nn.Module):
    """States of tokens.

    Args:
        architecture: its configuration, as JSON.
        unknown: the model's id of its unknown token, if it has one.
        special: ids of special tokens.
        begins: number of special tokens at the start of a text.
        between: ids of the tokens before a second text, in addition to those at the end of the first.
        weights: folder of the pretrained weights; None if saved ones will be loaded.
        pooling: how its authors make one vector of a text's states: a way of `layers.pooling`.
    """

    special: Tensor
    between: Tensor

    def __init__(
        self,
        *,
        architecture: str,
        unknown: int | None,
        special: Sequence[int],
        begins: int,
        between: Sequence[int],
        weights: str | None,
        pooling: str = "mean",
    ) -> None:
        super().__init__()
        self.pooling = pooling
        self.model: Any = pretrained.build(architecture, weights)
        if getattr(self.model, "pooler", None) is not None:
            self.model.pooler = None  # not used here
        self.size: int = self.model.config.hidden_size
        self.longest: int = getattr(self.model.config, "max_position_embeddings", 1 << 30)
        self.tells_texts_apart: bool = getattr(self.model.config, "type_vocab_size", 0) > 1
        self.unknown = unknown or 0
        self.begins = begins
        self.register_buffer("special", torch.tensor([UNKNOWN_TOKEN, *special]), persistent=False)
        self.register_buffer("between", torch.tensor(between, dtype=torch.int64), persistent=False)

    def forward(self, rows: SparseRows, *, second: Bool[Tensor, " K"] | None = None) -> Float[Tensor, "K H"]:
        """Return the last layer's state of each token.

        Args:
            rows: token ids, from `features.model_tokens`.
            second: which tokens belong to the second of two joined texts.

        Raises:
            ValueError: if a text is longer than the model's limit.
        """
        ids = torch.where(rows.indices == UNKNOWN_TOKEN, self.unknown, rows.indices - 1)
        states, places = [torch.zeros(0, self.size, device=ids.device)], [ids[:0]]
        size = GROUP if ids.device.type == "cpu" else GROUP_GPU
        for _, place in groups_of_like_length(rows.offsets, size, rows.lengths):
            if place.shape[1] > self.longest:
                raise ValueError(
                    f"a sequence of {place.shape[1]} tokens is longer than the {self.longest} that the model reads: "
                    "lower features.max_length"
                )
            inside = place < len(ids)  # (texts, T)
            kinds = (
                {"token_type_ids": padded(second.long(), place)}
                if second is not None and self.tells_texts_apart
                else {}
            )
            read = self.model(input_ids=padded(ids, place), attention_mask=inside.long(), **kinds)
            states.append(read.last_hidden_state[inside])  # (texts, T, H) -> (tokens, H)
            places.append(place[inside])
        back = torch.empty_like(ids)
        back[torch.cat(places)] = torch.arange(len(ids), device=ids.device)
        return torch.cat(states).index_select(0, back)

    def known(self, rows: SparseRows) -> Bool[Tensor, " B"]:
        """Return (B,) which texts have a token of the model's vocabulary; the embedding of the others is zero."""
        return rows.rows_with(~torch.isin(rows.indices, self.special))


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
    """Return (B,) where the left text comes second."""
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
