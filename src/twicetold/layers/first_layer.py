"""The first layer on sparse rows: matrix product and initialisation.

Shape letters: B rows of a batch, K stored entries, V columns, R distinct columns of a batch, H hidden units.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from twicetold.encoding import SparseRows


def product(rows: SparseRows, weight: Float[Tensor, "V H"], *, but: int | None = None) -> Float[Tensor, "B H"]:
    """Return sparse rows times weights, x W, without dense rows; an empty row gives 0.

    If the optimizer updates rows lazily (`training.adam_by_rows`), the weight's `before_reading` is called with the
    columns, and the gradient is sparse, with these rows only.

    Args:
        rows: x.
        weight: W.
        but: a column that is ignored and not trained.
    """
    if hasattr(weight, "before_reading"):
        weight.before_reading(rows.indices)
        if torch.is_grad_enabled():
            by_rows: Tensor = _ByRows.apply(weight, rows, but)  # type: ignore[no-untyped-call]
            return by_rows
    return _sums(rows, weight, but)


class _ByRows(torch.autograd.Function):
    """The product with a coalesced sparse gradient. PyTorch's own has one row per entry."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, rows: SparseRows, but: int | None) -> Tensor:
        ctx.rows, ctx.but, ctx.shape = rows, but, weight.shape
        return _sums(rows, weight, but)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        rows: SparseRows = ctx.rows
        column, order = rows.indices.sort(stable=True)  # (K,)
        if ctx.but is not None:
            chosen = column != ctx.but
            column, order = column[chosen], order[chosen]
        different, counts = torch.unique_consecutive(column, return_counts=True)  # (R,)
        offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        values = None if rows.values is None else rows.values[order]
        transposed = SparseRows(rows.rows()[order], offsets, values, len(rows))  # sparse (R, B)
        summed = _sums(transposed, gradients[0].contiguous(), None)  # (R, B) @ (B, H) -> (R, H)
        gradient = torch.sparse_coo_tensor(
            different[None], summed, ctx.shape, is_coalesced=True, check_invariants=False
        )
        return gradient, None, None


def _sums(rows: SparseRows, weight: Float[Tensor, "V H"], but: int | None) -> Float[Tensor, "B H"]:
    return embedding_bag(  # sparse (B, V) -> (B, H)
        rows.indices,
        weight,
        rows.offsets,
        mode="sum",
        per_sample_weights=rows.values,
        include_last_offset=True,
        padding_idx=but,
    )


def xavier(weight: Tensor) -> None:
    """Draw from U(±√(6 / (fan in + fan out))), in place (Glorot and Bengio, AISTATS 2010, equation 16)."""
    bound = (6 / sum(weight.shape)) ** 0.5
    nn.init.uniform_(weight, -bound, bound)
