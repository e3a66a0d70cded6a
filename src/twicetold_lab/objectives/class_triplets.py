"""Triplets among texts with class codes: all triplets of the batch, or the hardest ones.

    φ(a, p, n) = softplus(s_an − s_ap)      or another activation of the difference

Source: Okura et al., "Article De-duplication Using Distributed Representations" (WWW 2016 companion), where s is the
dot product, with the in-batch miners of github.com/louislung/DAE_RNN_News_Recommendation@16f72d4
(`autoencoder/triplet_loss_utils.py`).

A row with a negative label is of unknown class: it is neither anchor nor positive nor negative. `batch_all` is the mean
over *all* valid triplets, with the exact number of violated ones; `all_pairs` sums over the B³ triplets without forming
them.

Shape letters: B rows of a batch, E embedding dimensions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from twicetold_lab.objectives import all_pairs
from twicetold_lab.objectives.in_batch import distances


@dataclass(frozen=True)
class TripletLoss:
    """A triplet loss and statistics of its triplets."""

    loss: Tensor
    """() the mean; zero, with gradients of zero, where there is no triplet."""
    data_weight: Tensor
    """(B,) number of counted triplets that contain each row; without gradient."""
    fraction: Tensor
    """() share of the valid triplets (`batch_hard`: of the anchors) that are violated."""
    count: Tensor
    """() int64 number of violated triplets (`batch_hard`: of active anchors)."""


def batch_all(embedding: Tensor, label: Tensor, *, euclidean: bool = False) -> TripletLoss:
    """Return the mean of softplus(s_an − s_ap) over every valid triplet of the batch, in memory of order B².

    A triplet (a, p, n) is valid when a ≠ p share a label and n has another; it is violated when s_an > s_ap.
    The sums run in float64 whatever the input; each triplet's term has a relative error of at most 1e-7
    (1e-11 for float64 input), see `all_pairs`. Differentiable once.

    Args:
        embedding: (B, E) floating point.
        label: (B,) int64 class of each row, negative where unknown.
        euclidean: s is minus the Euclidean distance, and the embeddings have length 1; false: the dot product.

    Returns:
        The loss in the embedding's dtype (float32 for 16-bit embeddings).
    """
    _check(embedding, label)
    known = label >= 0
    size = (label[:, None] == label).sum(1) * known  # (B,) of each row's class, 0 for unknown rows
    other = (known.sum() - size) * known
    as_anchor = (size - 1) * other
    as_negative = ((size - 1) * known).sum() - size * (size - 1)
    data_weight = (2 * as_anchor + as_negative * known).to(_real(embedding))
    valid = as_anchor.sum()
    loss, violated = _MeanOverTriplets.apply(embedding, label, valid, euclidean)  # type: ignore[no-untyped-call]
    return TripletLoss(loss, data_weight, (violated / valid.clamp(min=1)).to(loss.dtype), violated)


def batch_hard(
    embedding: Tensor,
    label: Tensor,
    *,
    activation: Callable[[Tensor], Tensor] = all_pairs.softplus,
    euclidean: bool = False,
) -> TripletLoss:
    """Return the mean of φ over the anchors whose hardest positive and hardest negative violate the order.

    The hardest positive is the least similar row of the anchor's class, the hardest negative the most similar row of
    another. An anchor counts (is active) when it has both and the negative is strictly nearer; `data_weight` counts the
    roles in active triplets, ties included.

    Args:
        embedding: (B, E) floating point.
        label: (B,) int64 class of each row, negative where unknown.
        activation: from s_an − s_ap to φ.
        euclidean: as in `batch_all`.
    """
    _check(embedding, label)
    known = (label >= 0).nonzero().squeeze(1)
    rows, classes = embedding[known].to(_real(embedding)), label[known]
    data_weight = torch.zeros(len(label), dtype=rows.dtype, device=rows.device)
    if not len(known):
        return TripletLoss(embedding.sum().to(rows.dtype) * 0, data_weight, data_weight.sum(), label.new_zeros(()))
    # In full precision: cosines near 1 have a spacing of 0.004 in bf16.
    with torch.autocast(embedding.device.type, enabled=False):
        dots = rows @ rows.T
        if euclidean:
            dots = -distances(dots)
        negative = classes[:, None] != classes
        positive = ~negative & ~torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        hardest_positive = dots.masked_fill(~positive, torch.inf).amin(1)
        hardest_negative = dots.masked_fill(~negative, -torch.inf).amax(1)
        gap = torch.where(positive.any(1) & negative.any(1), hardest_negative - hardest_positive, 0)
        active = (gap > 0).to(dots.dtype)
        count = active.sum()
        loss = (activation(gap) * active).sum() / count.clamp(min=1)
        with torch.no_grad():
            chosen = (positive & (dots == hardest_positive[:, None])).to(dots.dtype)
            chosen += negative & (dots == hardest_negative[:, None])
            data_weight[known] = active + chosen.T @ active
    return TripletLoss(loss, data_weight, count / len(known), count.long())


class _MeanOverTriplets(torch.autograd.Function):
    """Mean of φ over valid triplets; the gradient is computed in forward, so that only (B, E) is kept."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, embedding: Tensor, label: Tensor, valid: Tensor, euclidean: bool
    ) -> tuple[Tensor, Tensor]:
        known = (label >= 0).nonzero().squeeze(1)
        rows = embedding.detach()[known].to(torch.float64)
        accuracy = 1e-11 if embedding.dtype == torch.float64 else 1e-7
        scores = rows @ rows.T
        by_dot = None  # ∂s/∂dot
        if euclidean:
            by_dot = torch.where(scores < 1, 1 / distances(scores), 0)  # no direction between coincident points
            scores = -distances(scores)
        sums = all_pairs.sums(scores, label[known], accuracy=accuracy, with_slopes=ctx.needs_input_grad[0])
        scale = 1 / valid.clamp(min=1).to(torch.float64)
        if sums.slopes is not None:
            slopes = sums.slopes if by_dot is None else sums.slopes * by_dot
            # The loss depends on H only through H Hᵀ, whose entry (a, j) depends on both h_a and h_j.
            gradient = torch.addmm(slopes @ rows, slopes.T, rows).mul_(scale)
            ctx.save_for_backward(torch.zeros_like(embedding).index_copy_(0, known, gradient.to(embedding.dtype)))
        ctx.mark_non_differentiable(sums.violated)
        return (sums.total * scale).to(_real(embedding)), sums.violated

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, outer: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (gradient,) = ctx.saved_tensors
        return outer.to(gradient.dtype) * gradient, None, None, None


def _real(embedding: Tensor) -> torch.dtype:
    """Return the dtype of results: at least 32 bits, as 16 are too few for a sum."""
    return torch.promote_types(embedding.dtype, torch.float32)


def _check(embedding: Tensor, label: Tensor) -> None:
    if embedding.ndim != 2 or label.shape != embedding.shape[:1]:
        raise ValueError(
            "in-batch mining needs an embedding (B, E) and one label per row (B,); "
            f"got {tuple(embedding.shape)} and {tuple(label.shape)}"
        )
    if label.is_floating_point() or label.dtype == torch.bool:
        raise TypeError(
            f"in-batch mining needs integer class codes as labels, got {label.dtype}: "
            "labels of pairs do not define classes"
        )
