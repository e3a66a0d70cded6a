"""Two levels at once: same story > same category > other category, in the cosines of one embedding.

An ordinal regression on the cosine s of every pair of texts in the batch, with a fixed boundary below each level
(cumulative logits: McCullagh, Regression Models for Ordinal Data, 1980):

    y = 2 same story, 1 same category but another story, 0 other category
    P(y ≥ 1) = σ(a (s − t₁)),   P(y ≥ 2) = σ(a (s − t₂)),   t₁ < t₂
    L = Σ_k w_k / a · (mean over y ≥ k of softplus(a (t_k − s)) + mean over y < k of softplus(a (s − t_k)))

Trained on categories alone, texts of a category end in one place, and stories are lost in it; trained on stories alone,
nothing brings two stories of a category together. Either side of a boundary counts as a whole, because of a thousand
pairs perhaps one tells the same story. The boundaries belong to all anchors together: AUROC over all pairs asks for
that, and a softmax over each anchor's own candidates does not.

Pairs (questions, say) have no categories: their clusters are the stories, and the lower boundary has nothing to do.

Shape letters: N texts of the batch, b anchors of a block, E embedding dimensions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from twicetold.encoding import EncodedBatch
from twicetold.layers import pooling
from twicetold.objectives.in_batch import UNKNOWN, classes, unit
from twicetold.objectives.row_blocks import sum_over_rows


class TwoLevels(nn.Module):
    """Cosines on the right side of two boundaries.

    Args:
        boundaries: t₁ and t₂, cosines: same category is above the first, same story above the second.
        weights: w₁ and w₂.
        scale: a.

    Raises:
        ValueError: if the boundaries do not rise, or another number is out of range.
    """

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
        """`loss`, and its parts `category` and `story` before they are weighted.

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
        scale = 1 / torch.stack([below, above]).clamp(min=1).to(texts.dtype)

        def value_of(scores: Tensor, rows: slice, scale: Tensor) -> tuple[Tensor, Tensor]:
            same = codes[rows, None] == codes
            gap = self.scale * (scores - boundary)
            cost = softplus(torch.where(same, -gap, gap)) * scale[same.long()]
            here = torch.arange(len(cost), device=cost.device)
            cost[here, here + rows.start] = 0  # each text with itself
            return cost.sum(), same.sum()[None]

        total, _ = sum_over_rows(texts, texts, scale, value_of)
        return total / self.scale


def _coded(batch: EncodedBatch) -> tuple[Tensor, Tensor, Tensor]:
    """(N, E) unit vectors, and (N,) codes of category and of story."""
    if batch.positive is not None:
        texts, story = classes(batch)
        return pooling.unit(texts), torch.full_like(story, UNKNOWN), story
    if batch.label is None or batch.label.is_floating_point() or batch.group is None:
        raise ValueError(
            "two_levels needs texts with the codes of their category and of their story: "
            "choose examples=story_and_category"
        )
    return unit(batch.anchor), batch.label, batch.group
