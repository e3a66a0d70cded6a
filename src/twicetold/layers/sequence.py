"""Layers over token sequences of any length: embedding, LSTM, convolution.

A batch is its K tokens, concatenated, and the `offsets` at which each text begins; every layer maps (K, ·) to (K, ·).
Padding stays inside a layer: a text's result does not depend on its neighbours.

Shape letters: B texts, K tokens of a batch, T tokens of the longest text, V tokens of the vocabulary, E embedding and H
hidden dimensions.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor, nn
from torch.nn.functional import dropout

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import SparseRows

GROUP = 64  # texts that are computed together; small, so that their lengths are similar


class TokenEmbedding(nn.Module):
    """A vector for each token.

    Args:
        width: V, number of token ids, with that of unknown tokens.
        size: E, dimensions of a vector.
        dropout: share of the entries that are zeroed in training.
        vectors: (V, E) pretrained initial vectors; rows of zeros for tokens without one.
        frozen: do not train the vectors.

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
            present = given.any(1, keepdim=True)
            spread = given[present.squeeze(1)].std() if bool(present.any()) else 1.0
            weight = torch.where(present, given, weight * size**0.5 * spread)
        self.weight = nn.Parameter(weight, requires_grad=not frozen)
        self.dropout = dropout

    def forward(self, rows: SparseRows) -> Float[Tensor, "K E"]:
        """Return the vectors of all tokens of the batch."""
        return dropout(nn.functional.embedding(rows.indices, self.weight), self.dropout, self.training)


class RaggedLstm(nn.Module):
    """One LSTM layer, optionally bidirectional.

    Args:
        size: E, dimensions of a token's vector.
        hidden: H, of a state, per direction.
        bidirectional: concatenate the states of both directions.
    """

    def __init__(self, size: int, hidden: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.onwards = nn.LSTM(size, hidden)
        self.backwards = nn.LSTM(size, hidden) if bidirectional else None
        self.size = 2 * hidden if bidirectional else hidden

    def forward(
        self,
        values: Float[Tensor, "K E"],
        offsets: Int64[Tensor, " _"],
        lengths: Int64[np.ndarray, " B"] | None = None,
    ) -> Float[Tensor, "K H"]:
        """Return the state after each token; (K, 2 H) if bidirectional, forward direction first.

        Args:
            values: (K, E) of the tokens.
            offsets: (B + 1,) at which each text begins.
            lengths: (B,) tokens of each text, if Python knows them.
        """
        states = _read(self.onwards, values, offsets, lengths)
        if self.backwards is None:
            return states
        mirror = torch.repeat_interleave(offsets[:-1] + offsets[1:] - 1, offsets.diff(), output_size=len(values))
        mirror -= torch.arange(len(mirror), device=mirror.device)  # the position of each token in the reversed text
        from_end = _read(self.backwards, values.index_select(0, mirror), offsets, lengths)
        return torch.cat([states, from_end.index_select(0, mirror)], 1)


def _read(
    lstm: nn.LSTM,
    values: Float[Tensor, "K E"],
    offsets: Int64[Tensor, " _"],
    lengths: Int64[np.ndarray, " B"] | None,
) -> Float[Tensor, "K H"]:
    """Return the states after all tokens.

    Texts are processed in groups of similar length, each padded at the end to its longest; the states of the padding
    are dropped. On CPU this is faster than a `PackedSequence`, for which PyTorch has neither a fused layer nor a
    gradient that is linear in the length.
    """
    if not len(values):  # no token; the empty sum keeps the result in the graph
        return values.new_zeros(0, lstm.hidden_size) + values.sum()
    and_padding = torch.cat([values, values.new_zeros(1, values.shape[1])]).to(lstm.get_parameter("weight_ih_l0").dtype)
    states, places = [], []
    with _precision_for_lstm(values.device):
        for _, texts in groups_of_like_length(offsets, GROUP, lengths):
            place = texts.T  # (T, texts)
            states.append(lstm(nn.functional.embedding(place, and_padding))[0].flatten(0, 1))  # (T, texts, H)
            places.append(place.flatten())
    place = torch.cat(places)
    row = torch.empty(len(and_padding), dtype=torch.int64, device=place.device)
    row[place] = torch.arange(len(place), device=place.device)
    return torch.cat(states).index_select(0, row[:-1])


def _precision_for_lstm(device: torch.device) -> torch.autocast:
    """Return the current autocast, disabled on a CPU without an LSTM in bf16: there, the LSTM computes in 32 bits."""
    enabled = torch.is_autocast_enabled(device.type)
    in_bf16 = enabled and torch.get_autocast_dtype(device.type) == torch.bfloat16
    if device.type == "cpu" and in_bf16 and not _cpu_has_bf16_lstm():
        enabled = False
    return torch.autocast(device.type, enabled=enabled, dtype=torch.get_autocast_dtype(device.type))


@cache
def _cpu_has_bf16_lstm() -> bool:
    """Return true if oneDNN computes an LSTM and its gradient in bf16 on this processor, which running one shows.

    It does with AVX-512; with AVX2 alone it raises (oneDNN, "RNN primitive": bf16 needs AVX-512). PyTorch's own checks
    look at the processor and ignore the setting of oneDNN (`ONEDNN_MAX_CPU_ISA`).
    """
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        lstm = nn.LSTM(8, 8)
        try:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                states = lstm(torch.zeros(2, 2, 8))[0]
            states.float().sum().backward()
        except RuntimeError:
            return False
    return True


class RaggedConvolution(nn.Module):
    """Convolution over windows about each token, with zeros beyond the text's ends.

    Args:
        size: E, dimensions of a token's vector.
        filters: H, number of outputs.
        window: size in tokens; an odd number if it is centred.
        centred: the token is in the middle of its window; false: at its beginning.

    Raises:
        ValueError: if the window is below 1, or centred and even.
    """

    def __init__(self, size: int, filters: int, *, window: int, centred: bool = True) -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"a window has at least one token; got {window}")
        if centred and window % 2 == 0:
            raise ValueError(f"a window is centred on a token, so it has an odd number of them; got {window}")
        self.convolution = nn.Conv1d(size, filters, window)
        self.before, self.gap = (window // 2, window // 2) if centred else (0, window - 1)

    def forward(self, values: Float[Tensor, "K E"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K H"]:
        """Return the outputs for each token's window."""
        # All texts concatenated, with gaps that no window spans, so that there is one matrix product.
        text = torch.repeat_interleave(offsets.diff(), output_size=len(values))
        begin = torch.arange(len(values), device=values.device) + text * self.gap  # of each token's window
        length = len(values) + (len(offsets) - 1) * self.gap + self.before
        line = values.new_zeros(length, values.shape[1]).index_copy(0, begin + self.before, values)
        if len(line) < self.convolution.kernel_size[0]:  # an empty batch
            return values.new_zeros(0, self.convolution.out_channels) + values.sum()
        windows: Tensor = self.convolution(line.T[None])[0].T  # (places, E) -> (1, E, places) -> (windows, H)
        return windows.index_select(0, begin)


def groups_of_like_length(
    offsets: Int64[Tensor, " _"], size: int, known: Int64[np.ndarray, " B"] | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the non-empty texts, shortest first, in groups of up to `size`.

    Args:
        offsets: (B + 1,) at which each text begins.
        size: of a group.
        known: (B,) the texts' lengths, if Python knows them; if not, it waits for the device, once.

    Yields:
        (texts,) numbers of the texts, and (texts, T) the place in the batch of each of their tokens; K for padding.
    """
    lengths, starts = offsets.diff(), offsets[:-1]
    order = lengths.argsort(stable=True)
    ascending = lengths[order].cpu().numpy() if known is None else np.sort(known)
    for start in range(int(np.searchsorted(ascending, 1)), len(ascending), size):
        texts, longest = order[start : start + size], int(ascending[start : start + size][-1])
        time = torch.arange(longest, device=offsets.device)
        yield texts, torch.where(time < lengths[texts, None], starts[texts, None] + time, offsets[-1])


def padded(values: Shaped[Tensor, "K ..."], place: Int64[Tensor, "texts T"]) -> Shaped[Tensor, "texts T ..."]:
    """Return (texts, T, ...) the values at the given places, zeros for padding."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])[place]


def with_known_token(rows: SparseRows) -> Bool[Tensor, " B"]:
    """Return (B,) which texts have a token of the vocabulary; the embedding of the others is zero."""
    return rows.rows_with(rows.indices != UNKNOWN_TOKEN)
