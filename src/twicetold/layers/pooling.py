"""Pooling of the states of a text's tokens to one vector.

Attention: Lin et al., A Structured Self-attentive Sentence Embedding, ICLR 2017 (arXiv:1703.03130), with one head.

Shape letters: B texts, K tokens of a batch, H dimensions of a state.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

WAYS = ("first", "mean", "max", "last", "attention")


class Pooling(nn.Module):
    """One vector for each text; zeros for a text without tokens.

    Args:
        how: `mean` and `max` over a text's states; `first`: the first state; `last`: the last state of each direction;
            `attention`: a mean with learnt weights.
        size: H, dimensions of a state.
        bidirectional: the second half of each state is of the backward direction.

    Raises:
        ValueError: if `how` is none of these.
    """

    def __init__(self, how: str, size: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        if how not in WAYS:
            raise ValueError(f"pooling must be one of {', '.join(WAYS)}; got {how!r}")
        self.how = how
        self.backward_from = size // 2 if bidirectional else size
        if how == "attention":
            self.attend = nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Linear(size, 1, bias=False))

    def forward(self, states: Float[Tensor, "K H"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "B H"]:
        """Return (B, H) from (K, H) and (B + 1,) offsets."""
        states = states.float()  # sums in full precision
        match self.how:
            case "mean":
                return _sums(states, offsets) / offsets.diff().clamp(min=1)[:, None]
            case "max":
                every = torch.arange(len(states), device=states.device)
                return embedding_bag(every, states, offsets, mode="max", include_last_offset=True)
            case "first":
                return _at(states, offsets[:-1], offsets)
            case "last":
                return self._ends(states, offsets)
        return _sums(states * _softmax(self.attend(states).float(), offsets), offsets)

    def _ends(self, states: Float[Tensor, "K H"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "B H"]:
        forwards = _at(states, (offsets[1:] - 1).clamp(min=0), offsets)[:, : self.backward_from]
        backwards = _at(states, offsets[:-1], offsets)[:, self.backward_from :]
        return torch.cat([forwards, backwards], 1)


def _at(
    states: Float[Tensor, "K H"], places: Int64[Tensor, " B"], offsets: Int64[Tensor, " _"]
) -> Float[Tensor, "B H"]:
    """Return the state at one place of each text; zeros for a text without tokens."""
    padded = torch.cat([states, states.new_zeros(1, states.shape[1])])  # at least one row
    return padded.index_select(0, places).masked_fill((offsets.diff() == 0)[:, None], 0)


def _sums(states: Float[Tensor, "K H"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "B H"]:
    """Return the sum of each text's states."""
    text = torch.repeat_interleave(offsets.diff(), output_size=len(states))
    return states.new_zeros(len(offsets) - 1, states.shape[1]).index_add(0, text, states)


def _softmax(scores: Float[Tensor, "K 1"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K 1"]:
    """Return weights that add up to 1 within each text."""
    every = torch.arange(len(scores), device=scores.device)
    highest = embedding_bag(every, scores.detach(), offsets, mode="max", include_last_offset=True)
    text = torch.repeat_interleave(offsets.diff(), output_size=len(scores))
    powers = (scores - highest.index_select(0, text)).exp()
    return powers / _sums(powers, offsets).index_select(0, text)
