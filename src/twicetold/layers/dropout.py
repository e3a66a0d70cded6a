"""Dropout whose masks are cheap to draw on a CPU."""

import torch
from torch import Tensor
from torch.nn import functional as F

STEPS = 2**16


def dropout(inputs: Tensor, share: float, training: bool) -> Tensor:
    """Leave out a share of the inputs and enlarge the others, as `torch.nn.functional.dropout` does.

    PyTorch draws a mask on a CPU number by number, which takes longer than the layer that it is for. Here four come
    from each draw of 64 bits, so that the share is a multiple of 1/65,536.

    Args:
        inputs: of any shape.
        share: to leave out, from 0 up to but not 1.
        training: False leaves all in.
    """
    if not training or share == 0 or inputs.device.type != "cpu":
        return F.dropout(inputs, share, training)
    bits = torch.empty(inputs.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    numbers = bits.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    out = round(share * STEPS)
    # Integers as wide as the inputs: PyTorch takes ten times as long to compute with truth values, or to convert them.
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[inputs.element_size()]
    kept = torch.ge(numbers, out - STEPS // 2, out=torch.empty(inputs.shape, dtype=integer))
    scale = torch.tensor(STEPS / (STEPS - out), dtype=inputs.dtype).view(integer)
    return inputs * kept.mul_(scale).view(inputs.dtype)
