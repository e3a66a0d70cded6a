"""Dropout with masks that are cheap to draw on a CPU."""

import torch
from torch import Tensor
from torch.nn import functional as F

STEPS = 2**16


def dropout(inputs: Tensor, share: float, training: bool) -> Tensor:
    """Zero a share of the inputs and scale the others, like `torch.nn.functional.dropout`.

    On a CPU, PyTorch draws a mask one number at a time, which takes longer than the layer itself. Here each draw of 64
    bits gives four numbers, so the share is a multiple of 1/65,536.

    Args:
        inputs: of any shape.
        share: of inputs that are zeroed, in [0, 1).
        training: if false, the inputs are returned.
    """
    if not training or share == 0 or inputs.device.type != "cpu":
        return F.dropout(inputs, share, training)
    bits = torch.empty(inputs.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    numbers = bits.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    out = round(share * STEPS)
    # Integers as wide as the inputs: PyTorch is ten times slower with boolean tensors, or with conversions.
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[inputs.element_size()]
    mask = torch.ge(numbers, out - STEPS // 2, out=torch.empty(inputs.shape, dtype=integer))
    scale = torch.tensor(STEPS / (STEPS - out), dtype=inputs.dtype).view(integer)
    return inputs * mask.mul_(scale).view(inputs.dtype)
