"""Reconstruction losses with a sparse target that stays sparse: summed over features, averaged over rows.

As `weighted_loss` in github.com/louislung/DAE_RNN_News_Recommendation@16f72d4 (`autoencoder/utils.py`): per row a *sum*
over all features, then the weighted mean Σ w ℓ / (Σ w + 1e-16). A mean over features would change
the meaning of the weight α of a triplet loss by a factor of V.

As x is mostly zero, each loss is a term over all features that does not depend on x, plus one over the stored entries
of x. A row stores each of its features once. For a linear decoder the cross-entropy never holds all logits: it computes
loss and gradient on tiles of features that fit into the cache.

Shape letters: B rows, V features, E embedding dimensions, K stored entries of the target.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from twicetold.encoding import LinearLogits, SparseRows


def cross_entropy(logits: Tensor | LinearLogits, target: SparseRows, weight: Tensor | None = None) -> Tensor:
    """Return binary cross-entropy of σ(z) to x: −Σ [x ln σ(z) + (1 − x) ln(1 − σ(z))] = Σ softplus(z) − Σ x z.

    Args:
        logits: (B, V) z, before the sigmoid. Given as factors, z is never whole in memory, and
            the loss is differentiable once.
        target: B rows of width V, with entries in [0, 1].
        weight: (B,) of each row, without gradient; None for ones.
    """
    _check(logits, target)
    if isinstance(logits, LinearLogits):
        share = _shares(logits.hidden.new_ones(len(target)) if weight is None else weight, logits.hidden)
        loss: Tensor = _LinearCrossEntropy.apply(logits.hidden, logits.weight, logits.bias, target, share)  # type: ignore[no-untyped-call]
        return loss
    z = _at_entries(logits, target)
    everywhere = F.softplus(logits).sum(1, dtype=z.dtype)
    return weighted_mean(everywhere - _sum_by_row(target.values_or_ones().to(z.dtype) * z, target), weight)


def mean_squared(output: Tensor, target: SparseRows, weight: Tensor | None = None) -> Tensor:
    """Return squared error Σ (x − y)² of the output y (B, V); arguments as in `cross_entropy`."""
    _check(output, target)
    y = _at_entries(output, target)
    x = target.values_or_ones().to(y.dtype)
    return weighted_mean(output.square().sum(1) + _sum_by_row(x * (x - 2 * y), target), weight)


def weighted_mean(loss: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return Σ w ℓ / (Σ w + 1e-16) of (B,) losses: 0 if every weight is 0 or there is no row."""
    if weight is None:
        return loss.sum() / max(len(loss), 1)
    return (_shares(weight, loss) * loss).sum()


class _LinearCrossEntropy(torch.autograd.Function):
    """Σ_b s_b ℓ_b from hidden (B, E), weight (V, E), bias (V,), target and shares s (B,).

    With g = ∂ℓ/∂z = σ(z) − x, the gradients are s·gW, (s·g)ᵀh and gᵀs. They are computed in forward, first as if x
    were zero and then corrected at its entries.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, target: SparseRows, share: Tensor
    ) -> Tensor:
        d_hidden, d_weight, d_bias = torch.zeros_like(hidden), torch.empty_like(weight), torch.empty_like(bias)
        total = hidden.new_zeros(len(hidden))
        shared = share[:, None] * hidden
        for tile in _tiles(hidden, weight):
            z = F.linear(hidden, weight[tile], bias[tile])  # (B, features of the tile)
            total += F.softplus(z).sum(1, dtype=total.dtype)
            slope = z.sigmoid_()
            d_hidden += slope @ weight[tile]
            d_weight[tile] = slope.T @ shared
            d_bias[tile] = slope.T @ share
        row, column = target.rows(), target.indices
        h, w = hidden[row], weight[column]  # (K, E)
        x = target.values_or_ones().to(total.dtype)
        total.index_add_(0, row, x * ((h * w).sum(1) + bias[column]), alpha=-1)
        d_hidden.index_add_(0, row, x[:, None] * w, alpha=-1).mul_(share[:, None])
        shared_x = x * share[row]
        d_weight.index_add_(0, column, shared_x[:, None] * h, alpha=-1)
        d_bias.index_add_(0, column, shared_x, alpha=-1)
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        return torch.dot(share, total)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        d_hidden, d_weight, d_bias = ctx.saved_tensors
        return outer * d_hidden, outer * d_weight, outer * d_bias, None, None


def _tiles(hidden: Tensor, weight: Tensor) -> list[slice]:
    """Return runs of features: 1 MB of logits each on CPU; larger on GPUs, where launching a kernel is expensive."""
    entries = 1 << (18 if hidden.device.type == "cpu" else 24)
    wide = max(1, entries // max(1, len(hidden)))
    return [slice(start, start + wide) for start in range(0, len(weight), wide)]


def _shares(weight: Tensor, like: Tensor) -> Tensor:
    """Return (B,) w / (Σ w + 1e-16) in another's dtype."""
    weight = weight.to(like.dtype)
    return weight / (weight.sum() + 1e-16)


def _at_entries(dense: Tensor, target: SparseRows) -> Tensor:
    """Return (K,) values of the dense array (B, V) at the target's entries, in at least 32 bits."""
    return dense[target.rows(), target.indices].to(torch.promote_types(dense.dtype, torch.float32))


def _sum_by_row(entries: Tensor, target: SparseRows) -> Tensor:
    """Return (B,) sums of (K,) entries by row."""
    return entries.new_zeros(len(target)).index_add(0, target.rows(), entries)


def _check(dense: Tensor | LinearLogits, target: SparseRows) -> None:
    if dense.shape != (len(target), target.width):
        raise ValueError(
            f"a reconstruction must have the target's shape ({len(target)}, {target.width}); got {tuple(dense.shape)}"
        )
