"""Losses on blocks of rows of a score matrix: a sum over anchors, each term a function of that anchor's scores.

All in-batch objectives are of this form, L = Σ_i f_i(s_i) with s_ij = a_i · c_j. They are computed block by block:
scores, f and its gradient g = ∂f/∂s of a block are computed and freed, and only g c and gᵀ a, as large as the
embeddings, are kept until the backward pass. Memory is of order block · C, not R · C, and each score is computed once.

Shape letters: R anchors, C candidates, b anchors of one block, E embedding dimensions, N numbers to count.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Block = Callable[[Tensor, slice, Tensor], tuple[Tensor, Tensor]]
"""From (b, C) scores, their rows, and the shared tensor to the () sum of f and (N,) counts."""


def sum_over_rows(anchor: Tensor, other: Tensor, shared: Tensor, value_of: Block) -> tuple[Tensor, Tensor]:
    """Return sums of f and of the counts over all anchors; differentiable once, by the three tensors.

    Args:
        anchor: (R, E).
        other: (C, E).
        shared: any further tensor that f depends on.
        value_of: f of a block.
    """
    total, counts = _SumOverRows.apply(anchor, other, shared, value_of)  # type: ignore[no-untyped-call]
    return total, counts


def _blocks(anchor: Tensor, other: Tensor) -> list[slice]:
    """Return at least one block: 2 MB of scores each on CPU, larger on GPUs, where launching a kernel is expensive."""
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
        # Cosines near 1 have a spacing of 0.004 in bf16.
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
