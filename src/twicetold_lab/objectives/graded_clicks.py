"""In-batch softmax over clicked documents, with a weight and an order by grade.

Huang et al. (DSSM, CIKM 2013, equation 5) count every clicked document once: L = −Σ log P(D⁺|Q). Clicks are worth
different amounts: one document is clicked a hundred times and another once, or one first and another later. With g the
grade of a pair, a share of the highest one, and 0 of a document that was shown and not clicked,

    L = Σ_i w_i · −log exp(γ s_ii) / (exp(γ s_ii) + Σ_{j ∈ N_i} exp(γ s_ij)) / Σ_i w_i          w = g^power, s cosine

- Weight: a pair teaches in proportion to w. With power 0 every clicked pair counts as much, as in DSSM; a pair that was
  not clicked never is a positive.
- Order: N_i has the documents of the same query with a lower grade, so that P is the chance that D_i comes first among
  those that are not better, as in ListMLE (Xia et al., ICML 2008). Without it N_i has only those that were not clicked.
- Else as everywhere (`in_batch`): N_i has the documents of other queries and mined negatives, but none of the query's
  own cluster. Rows are of the same query if the clusters of their anchors are the same.

Shape letters: R rows, C candidates, b rows of a block.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import candidates, one_cluster, views
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.row_blocks import sum_over_rows


class GradedClicks(nn.Module, Objective):
    """The softmax of clicked documents.

    For an encoder with several views the loss is the sum over views.

    Args:
        temperature: 1/γ.
        power: of the grade in a pair's weight.
        order: documents of the same query with a lower grade are negatives; false: those with grade 0 alone.

    Raises:
        ValueError: if a number is out of range.
    """

    in_batch = True
    compares_mined = True

    def __init__(self, *, temperature: float, power: float, order: bool) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature divides the cosine and must be above 0; got {temperature}")
        if not power >= 0:
            raise ValueError(f"power is of grades from 0 to 1 and must be at least 0; got {power}")
        self.temperature = temperature
        self.power = power
        self.order = order

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`; `clicked` is the share of rows that are a positive.

        Raises:
            ValueError: if the batch has no pairs with grades.
        """
        if batch.positive is None or batch.label is None:
            raise ValueError(
                "graded_clicks needs pairs of a query and a document with grades, and the batch has none: choose "
                "examples=clicks"
            )
        clicked = (batch.label > 0).sum() / max(len(batch.label), 1)
        losses = [self._view(view, batch.label) for view in views(batch)]
        return {"loss": torch.stack(losses).sum(), "clicked": clicked}

    def _view(self, batch: EncodedBatch, grade: Tensor) -> Tensor:
        compared = candidates(batch, unit_length=True)
        lowest = torch.finfo(compared.anchor.dtype).min  # not −inf: the gradient of an empty sum would be nan
        rows_filled = compared.anchor.any(1) & compared.other[: len(compared.anchor)].any(1)
        shares = grade.to(compared.anchor.dtype).clamp(min=0)
        weight = shares**self.power * (shares > 0) * rows_filled  # (R,)

        def value_of(scores: Tensor, rows: slice, _: Tensor) -> tuple[Tensor, Tensor]:
            logits = scores / self.temperature
            negative = compared.masks(rows)[1]
            here = torch.arange(len(logits), device=logits.device)
            below = grade < grade[rows, None] if self.order else (grade <= 0).expand(len(logits), -1)  # (b, R)
            same_query = one_cluster(compared.group[rows], compared.group)  # (b, R)
            size = len(compared.anchor)
            negative[:, :size] = torch.where(same_query, below, negative[:, :size])
            negative[here, here + rows.start] = False
            own = logits[here, here + rows.start]
            against = logits.masked_fill(~negative, lowest).logsumexp(1)
            losses = weight[rows] * softplus(against - own, threshold=40)
            return losses.sum(), torch.zeros(1, device=losses.device)

        total, _ = sum_over_rows(compared.anchor, compared.other, compared.anchor.new_zeros(()), value_of)
        return total / weight.sum().clamp(min=torch.finfo(weight.dtype).tiny)
