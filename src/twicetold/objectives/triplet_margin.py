"""The positive nearer than the negative by a margin: φ(a, p, n) = max(0, m + d(a, p) − d(a, n)).

Schroff, Kalenichenko and Philbin, FaceNet, CVPR 2015, with the Euclidean distance d of unit vectors (not its square, so
that a margin means the same near and far). The loss is the mean of φ over the triplets above 0 of those chosen
(Hermans, Beyer and Leibe 2017, arXiv:1703.07737, section 2: over all of them, the many that are zero would drown them).

For each positive pair (a, p) of the batch the negatives are chosen anew at every step:

    all                every one; there may be B³ triplets, but the loss is made from sorted distances (below)
    hard               the nearest one
    semi_hard          the nearest one that is farther than the positive; none: the pair is left out (FaceNet, 3.2)
    distance_weighted  one drawn with probability ∝ min(λ, 1/q(d)), where q is the density of distances between points
                       spread over the sphere, q(d) ∝ d^(E−2) (1 − d²/4)^((E−3)/2): all distances have a chance, not
                       only √2, near which most negatives lie (Wu et al., Sampling Matters, ICCV 2017, section 4)
    given              the negative that was mined for the row before training, with the row's own positive

All triplets of an anchor: with its k negatives nearer than t = m + d(a, p) and their distances' sum S, Σ_n φ = k t − S.
Both come from one sort of the anchor's negatives, a running sum, and a binary search for each positive.

Shape letters: B rows, R anchors, C candidates, b anchors of a block, P positives of the anchor that has most.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from twicetold.encoding import EncodedBatch
from twicetold.objectives.in_batch import candidates, distances, in_roles, unit
from twicetold.objectives.row_blocks import sum_over_rows

Negatives = Literal["all", "hard", "semi_hard", "distance_weighted", "given"]

# Wu et al.'s code (github.com/chaoyuaw/incubator-mxnet, embedding_learning/model.py): distances below the first count
# as that, which is λ; negatives beyond the second are not drawn.
CUTOFF, FARTHEST = 0.5, 1.4


class TripletMargin(nn.Module):
    """The triplet loss with a margin.

    Args:
        margin: m.
        negatives: how they are chosen, see above.

    Raises:
        ValueError: if the margin is not positive, or the choice unknown.
    """

    def __init__(self, *, margin: float, negatives: Negatives) -> None:
        super().__init__()
        if not margin > 0:
            raise ValueError(f"margin is by how much a negative should be farther, above 0; got {margin}")
        if negatives not in get_args(Negatives):
            raise ValueError(f"negatives must be one of {', '.join(get_args(Negatives))}; got {negatives!r}")
        self.margin = margin
        self.negatives: Negatives = negatives

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and for the log the share of the chosen triplets that are `active`, above 0."""
        total, counts = self._given(batch) if self.negatives == "given" else self._chosen(batch)
        active, chosen = counts.clamp(min=1)
        return {"loss": total / active, "active": counts[0] / chosen}

    def _given(self, batch: EncodedBatch) -> tuple[Tensor, Tensor]:
        if batch.positive is None or batch.negative is None:
            raise ValueError(
                "negatives=given needs an anchor, a positive and a negative in every row: choose examples=triplets, "
                "or negatives=semi_hard"
            )
        anchor, positive, negative = map(unit, in_roles(batch))
        to_positive, to_negative = (distances((anchor * side).sum(1)) for side in (positive, negative))
        losses = (self.margin + to_positive - to_negative).relu()
        return losses.sum(), _counts(losses > 0, torch.ones_like(losses, dtype=torch.bool))

    def _chosen(self, batch: EncodedBatch) -> tuple[Tensor, Tensor]:
        compared = candidates(batch, unit_length=True)

        def value_of(scores: Tensor, rows: slice, _: Tensor) -> tuple[Tensor, Tensor]:
            distance = distances(scores)
            positive, negative = compared.masks(rows)
            # Sorting packs the positives to the front; 0 stands behind them, so that no inf meets another.
            most = int(positive.sum(1).max()) if len(positive) else 0
            to_positive = distance.masked_fill(~positive, torch.inf).sort(1).values[:, :most]  # (b, P)
            valid = to_positive.isfinite() & negative.any(1, keepdim=True)
            to_positive = to_positive.where(valid, 0)
            if self.negatives == "all":
                return self._all(distance, negative, to_positive, valid)
            to_negative = self._nearest(distance, negative, to_positive, compared.anchor.shape[1])
            valid = valid & to_negative.isfinite()
            losses = (self.margin + to_positive - to_negative.where(valid, torch.inf)).relu()
            return losses.sum(), _counts(losses > 0, valid)

        return sum_over_rows(compared.anchor, compared.other, compared.anchor.new_zeros(()), value_of)

    def _all(self, distance: Tensor, negative: Tensor, to_positive: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        ranked = distance.masked_fill(~negative, torch.inf).sort(1).values
        sums = ranked.where(ranked.isfinite(), 0).cumsum(1, dtype=torch.float64)
        threshold = to_positive + self.margin
        nearer = torch.searchsorted(ranked.detach(), threshold.detach()) * valid  # (b, P), k
        sum_of_nearer = pad(sums, (1, 0)).gather(1, nearer)
        losses = nearer * threshold - sum_of_nearer
        counts = torch.stack([nearer.sum(), (valid * negative.sum(1, keepdim=True)).sum()])
        return losses.sum().to(distance.dtype), counts

    def _nearest(self, distance: Tensor, negative: Tensor, to_positive: Tensor, dimensions: int) -> Tensor:
        """(b, P) distance of the one negative chosen for each positive; inf where there is none."""
        if self.negatives == "distance_weighted":
            return _drawn(distance, negative, to_positive.shape[1], dimensions)
        ranked = distance.masked_fill(~negative, torch.inf).sort(1).values
        if self.negatives == "hard":
            return ranked[:, :1].expand_as(to_positive)
        farther = torch.searchsorted(ranked.detach(), to_positive.detach(), right=True)
        return ranked.gather(1, farther.clamp(max=ranked.shape[1] - 1))  # a positive is no negative: the last is inf


def drawing_probability(distance: Tensor, negative: Tensor, dimensions: int) -> Tensor:
    """(b, C) probability ∝ min(λ, 1/q(d)) of drawing each negative nearer than `FARTHEST`; a row without one is even.

    Args:
        distance: (b, C) Euclidean distances of unit vectors.
        negative: (b, C) bool, which candidates are negatives.
        dimensions: E of the vectors.
    """
    eligible = negative & (distance < FARTHEST)
    clipped = distance.detach().clamp(CUTOFF, FARTHEST)
    weight = (2 - dimensions) * clipped.log() + (3 - dimensions) / 2 * (1 - clipped.square() / 4).log()
    return weight.masked_fill(~eligible, -torch.inf).where(eligible.any(1, keepdim=True), 0).softmax(1)


def _drawn(distance: Tensor, negative: Tensor, draws: int, dimensions: int) -> Tensor:
    """(b, draws) distances of negatives drawn for each anchor; inf where it has none within reach."""
    if not len(distance) or not draws:
        return distance.new_zeros(len(distance), draws)
    drawn = torch.multinomial(drawing_probability(distance, negative, dimensions), draws, replacement=True)
    found = (negative & (distance < FARTHEST)).gather(1, drawn)
    return distance.gather(1, drawn).masked_fill(~found, torch.inf)


def _counts(active: Tensor, chosen: Tensor) -> Tensor:
    return torch.stack([active.sum(), chosen.sum()])
