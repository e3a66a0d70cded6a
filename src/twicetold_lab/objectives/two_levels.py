"""Two levels in the cosines of one embedding: same story > same category > other category.

An ordinal regression on the cosine s of every pair of texts in the batch, with a fixed boundary below each level
(cumulative logits: McCullagh, Regression Models for Ordinal Data, 1980):

    y = 2 same story, 1 same category but another story, 0 other category
    P(y ≥ 1) = σ(a (s − t₁)),   P(y ≥ 2) = σ(a (s − t₂)),   t₁ < t₂
    L = Σ_k w_k / a · (mean over y ≥ k of softplus(a (t_k − s)) + mean over y < k of softplus(a (s − t_k)))

Training on categories only makes the stories of a category collapse; training on stories only does not bring stories of
a category together. Both sides of a boundary have the same total weight, because pairs of one story are rare. The
boundaries are the same for all anchors, which fits AUROC over all pairs better than a softmax per anchor.

Pairs (such as questions) have no categories: their clusters are the stories, and the lower boundary has no terms.

Shape letters: N texts of the batch, b anchors of a block, E embedding dimensions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from twicetold.encoding import EncodedBatch, unit_vectors
from twicetold_lab.objectives.in_batch import UNKNOWN, classes, unit
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.row_blocks import sum_over_rows


class TwoLevels(nn.Module, Objective):
    """Ordinal regression of cosines with two boundaries.

    Args:
        boundaries: t₁ and t₂, cosines: same category is above the first, same story above the second.
        weights: w₁ and w₂.
        scale: a.

    Raises:
        ValueError: if the boundaries do not increase, or another number is out of range.
    """

    in_batch = True

    def __init__(self, *, boundaries: Sequence[float], weights: Sequence[float], scale: float) -> None:
        super().__init__()
        if len(boundaries) != 2 or not -1 < boundaries[0] < boundaries[1] < 1:
            raise ValueError(f"boundaries are two cosines, the category's below the story's; got {list(boundaries)}")
        if len(weights) != 2 or min(weights) < 0:
            raise ValueError(f"weights are two numbers, of category and story, 0 or above; got {list(weights)}")
        if not scale > 0:
            raise ValueError(f"scale multiplies the cosines and must be above 0; got {scale}")
        self.boundaries = tuple(boundaries)
        self.weights = tuple(weights)
        self.scale = scale

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, and its parts `category` and `story` before weighting.

        Raises:
            ValueError: if the batch is of texts that lack the codes of either level.
        """
        texts, category, story = _coded(batch)
        losses = [
            self._boundary(texts, codes, boundary)
            for codes, boundary in zip((category, story), self.boundaries, strict=True)
        ]
        total = self.weights[0] * losses[0] + self.weights[1] * losses[1]
        return {"loss": total, "category": losses[0].detach(), "story": losses[1].detach()}

    def _boundary(self, texts: Tensor, codes: Tensor, boundary: float) -> Tensor:
        known = codes != UNKNOWN
        texts, codes = texts[known], codes[known]
        sizes = codes.unique(return_counts=True)[1]  # type: ignore[no-untyped-call]
        above = (sizes * (sizes - 1)).sum()
        below = len(codes) * (len(codes) - 1) - above
        weight = 1 / torch.stack([below, above]).clamp(min=1).to(texts.dtype)

        def value_of(scores: Tensor, rows: slice, weight: Tensor) -> tuple[Tensor, Tensor]:
            same = codes[rows, None] == codes
            gap = self.scale * (scores - boundary)
            cost = softplus(torch.where(same, -gap, gap)) * weight[same.long()]
            here = torch.arange(len(cost), device=cost.device)
            cost[here, here + rows.start] = 0  # pairs of a text with itself
            return cost.sum(), same.sum()[None]

        total, _ = sum_over_rows(texts, texts, weight, value_of)
        return total / self.scale


def _coded(batch: EncodedBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Return (N, E) unit vectors, and (N,) codes of category and of story."""
    if batch.positive is not None:
        texts, story = classes(batch)
        return unit_vectors(texts), torch.full_like(story, UNKNOWN), story
    if batch.label is None or batch.label.is_floating_point() or batch.group is None:
        raise ValueError(
            "two_levels needs texts with the codes of their category and of their story: "
            "choose examples=story_and_category"
        )
    return unit(batch.anchor), batch.label, batch.group
