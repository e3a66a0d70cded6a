"""Convolution over windows that begin at each token, of any size; `sequence.RaggedConvolution` has centred ones.

Shape letters: K tokens of a batch, E dimensions of a token's values, H filters.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn


class WindowsFrom(nn.Module):
    """Convolution over each token and those after it, with zeros beyond the text's end.

    Args:
        size: E.
        filters: H, number of outputs.
        window: size in tokens.

    Raises:
        ValueError: if the window is below 1.
    """

    def __init__(self, size: int, filters: int, *, window: int) -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"a window has at least one token; got {window}")
        self.convolution = nn.Conv1d(size, filters, window)

    def forward(self, values: Float[Tensor, "K E"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K H"]:
        """The outputs for each token's window."""
        # All texts in one line, each followed by a gap, so that there is one matrix product and no window spans two.
        (window,) = self.convolution.kernel_size
        if not len(values):
            return values.new_zeros(0, self.convolution.out_channels) + values.sum()
        text = torch.repeat_interleave(offsets.diff(), output_size=len(values))
        begin = torch.arange(len(values), device=values.device) + text * (window - 1)
        length = len(values) + (len(offsets) - 1) * (window - 1)
        line = values.new_zeros(length, values.shape[1]).index_copy(0, begin, values)
        windows: Tensor = self.convolution(line.T[None])[0].T  # (places, E) -> (1, E, places) -> (windows, H)
        return windows.index_select(0, begin)
