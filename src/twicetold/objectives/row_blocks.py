"""Losses of a score matrix that is never whole: a sum over anchors, each term a function of that anchor's scores.

All in-batch objectives are of this form, L = Σ_i f_i(s_i) with s_ij = a_i · c_j. So rows can be taken some at a time:
scores, f and its gradient g = ∂f/∂s of a block of rows are made and dropped, and only g c and gᵀ a, as large as the
embeddings, are kept until the backward pass. Memory is of order block · C, not R · C, and no score is made twice.

Shape letters: R anchors, C candidates, b anchors of one block, E embedding dimensions, N numbers to count.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Block = Callable[[Tensor, slice, Tensor], tuple[Tensor, Tensor]]
"""From (b, C) scores, which rows these are, and what all rows share, to the () sum of f and (N,) numbers to count."""


def sum_over_rows(anchor: Tensor, other: Tensor, shared: Tensor, value_of: Block) -> tuple[Tensor, Tensor]:
    """Sum of f over all anchors, and of what is counted; differentiable once, by the three tensors.

    Args:
        anchor: (R, E).
        other: (C, E).
        shared: any further tensor that f depends on.
        value_of: f of a block.
    """
    total, counts = _SumOverRows.apply(anchor, other, shared, value_of)  # type: ignore[no-untyped-call]
    return total, counts


def _blocks(anchor: Tensor, other: Tensor) -> list[slice]:
    """2 MB of scores each on CPU; more where launching a kernel costs more than running it. At least one."""
    entries = 1 << (19 if anchor.device.type == "cpu" else 26)
    size = max(1, entries // max(len(other), 1))
    return [slice(start, min(start + size, len(anchor))) for start in range(0, max(len(anchor), 1), size)]


class _SumOverRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, anchor: Tensor, other: Tensor, shared: Tensor, value_of: Block) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        wanted = any(ctx.needs_input_grad)
        anchor, other = anchor.detach(), other.detach()
        gradients = [torch.zeros_like(tensor) for tensor in (anchor, other, shared)]
        total = anchor.new_zeros(())
        counts: list[Tensor] = []
        # In bf16, cosines near 1 would be 0.004 apart.
        with torch.autocast(anchor.device.type, enabled=False), torch.set_grad_enabled(wanted):
            inputs = shared.detach().requires_grad_(wanted)
            for rows in _blocks(anchor, other):
                scores = (anchor[rows] @ other.T).requires_grad_(wanted)
                part, counted = value_of(scores, rows, inputs)
                total += part.detach()
                counts.append(counted.detach())
                if part.requires_grad:
                    slopes, by_shared = torch.autograd.grad(part, (scores, inputs), materialize_grads=True)
                    gradients[0][rows] = slopes @ other
                    gradients[1].addmm_(slopes.T, anchor[rows])
                    gradients[2] += by_shared
        ctx.save_for_backward(*gradients)
        sums = torch.stack(counts).sum(0)
        ctx.mark_non_differentiable(sums)
        return total, sums

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, outer: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        return (*(outer * gradient for gradient in ctx.saved_tensors), None)
