"""Layers over token sequences of any length: embedding, LSTM, convolution. No text is padded to its neighbours' length.

A batch is its K tokens one after another, and `offsets`, which say where each text begins; every layer maps (K, ·) to
(K, ·). So no layer computes on padding, and none can let a text see its neighbours.

Shape letters: B texts, K tokens of a batch, T tokens of the longest text, V tokens of the vocabulary, E embedding and H
hidden dimensions.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import PackedSequence

from twicetold.encoding import UNKNOWN_TOKEN, SparseRows


class TokenEmbedding(nn.Module):
    """A vector for each token.

    Args:
        width: V, numbers of tokens, the one of unknown tokens included.
        size: E, dimensions of a vector.
        dropout: share of the entries that are zeroed in training.
        vectors: (V, E) pretrained ones to begin with; rows of zeros stand for tokens that have none.
        frozen: keep the vectors as they begin.

    Raises:
        ValueError: if the pretrained vectors have another shape.
    """

    def __init__(
        self,
        width: int,
        size: int,
        *,
        dropout: float = 0.0,
        vectors: Float[np.ndarray, "V E"] | None = None,
        frozen: bool = False,
    ) -> None:
        super().__init__()
        if vectors is not None and vectors.shape != (width, size):
            raise ValueError(
                f"the pretrained vectors have {vectors.shape[1]} dimensions for each of {vectors.shape[0]} tokens, "
                f"but the encoder wants {size} for each of {width}: set encoder.embedding={vectors.shape[1]}"
            )
        weight = torch.randn(width, size) / size**0.5
        if vectors is not None:
            given = torch.from_numpy(np.asarray(vectors, np.float32))
            found = given.any(1, keepdim=True)
            spread = given[found.squeeze(1)].std() if bool(found.any()) else 1.0
            weight = torch.where(found, given, weight * size**0.5 * spread)
        self.weight = nn.Parameter(weight, requires_grad=not frozen)
        self.dropout = dropout

    def forward(self, rows: SparseRows) -> Float[Tensor, "K E"]:
        """The vectors of all tokens of the batch."""
        return dropout(nn.functional.embedding(rows.indices, self.weight), self.dropout, self.training)


class RaggedLstm(nn.Module):
    """One LSTM layer; in the second direction, each text is read from its own end.

    Args:
        size: E, dimensions of a token's vector.
        hidden: H, of a state, per direction.
        bidirectional: read both ways, and join the two states of a token.
    """

    def __init__(self, size: int, hidden: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.lstm = nn.LSTM(size, hidden, bidirectional=bidirectional)
        self.size = 2 * hidden if bidirectional else hidden

    def forward(self, values: Float[Tensor, "K E"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K H"]:
        """The state after each token; (K, 2 H) if bidirectional, forward first."""
        if not len(values):  # nn.LSTM refuses; the sum of nothing still links to the graph
            return values.new_zeros(0, self.size) + values.sum()
        place, batch_sizes = packing(offsets)
        order = torch.empty_like(place).index_copy_(0, place, torch.arange(len(place), device=place.device))
        packed = PackedSequence(values.index_select(0, order), batch_sizes.cpu())
        states: Tensor = self.lstm(packed)[0].data
        return states.index_select(0, place)


class RaggedConvolution(nn.Module):
    """Convolution over windows of an odd number of tokens, each centred on a token; zeros beyond the text's ends.

    Args:
        size: E, dimensions of a token's vector.
        filters: H, of what comes out.
        window: tokens.

    Raises:
        ValueError: if the window has no centre.
    """

    def __init__(self, size: int, filters: int, *, window: int) -> None:
        super().__init__()
        if window < 1 or window % 2 == 0:
            raise ValueError(f"a window is centred on a token, so it has an odd number of them; got {window}")
        self.convolution = nn.Conv1d(size, filters, window)

    def forward(self, values: Float[Tensor, "K E"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K H"]:
        """What each token's window gives."""
        # All texts on one line, with gaps between them that no window spans: one matrix product, whatever the lengths.
        (window,) = self.convolution.kernel_size
        gap = window // 2
        text = torch.repeat_interleave(torch.arange(len(offsets) - 1, device=values.device), offsets.diff())
        centre = torch.arange(len(values), device=values.device) + (text + 1) * gap
        line = values.new_zeros(len(values) + len(offsets) * gap, values.shape[1]).index_copy(0, centre, values)
        if len(line) < window:  # an empty batch
            return values.new_zeros(0, self.convolution.out_channels) + values.sum()
        windows: Tensor = self.convolution(line.T[None])[0].T  # (places, E) -> (1, E, places) -> (places - 2 gaps, H)
        return windows.index_select(0, centre - gap)


def packing(offsets: Int64[Tensor, " _"]) -> tuple[Int64[Tensor, " K"], Int64[Tensor, " T"]]:
    """How the tokens of a batch lie in a `PackedSequence`: all first tokens, longest text first, then all second ones.

    Args:
        offsets: (B + 1,) where each text begins.

    Returns:
        (K,) the place of each token, and (T,) how many texts have a first, second, ... token.
    """
    lengths = offsets.diff()
    rank = torch.empty_like(lengths)
    rank[lengths.argsort(descending=True, stable=True)] = torch.arange(len(lengths), device=offsets.device)
    text = torch.repeat_interleave(torch.arange(len(lengths), device=offsets.device), lengths)
    time = torch.arange(len(text), device=offsets.device) - offsets[text]
    batch_sizes = time.bincount()
    start = batch_sizes.cumsum(0) - batch_sizes
    return start[time] + rank[text], batch_sizes


def with_known_token(rows: SparseRows) -> Bool[Tensor, " B"]:
    """(B,) which texts have a token that the vocabulary knows: the others are similar to nothing."""
    known = (rows.indices != UNKNOWN_TOKEN).to(torch.int32)
    counts = torch.zeros(len(rows), dtype=torch.int32, device=known.device).index_add_(0, rows.rows(), known)
    return counts > 0
