"""One minus the correlation of scores and grades over a batch: the measure of STS-B as an objective.

    L = 1 − Σ (s − s̄)(g − ḡ) / √(Σ (s − s̄)² Σ (g − ḡ)²)          s: scores of the pairs, g: their grades

It knows no scale: cosines need not fill the range of the grades.

Shape letters: B pairs.
"""

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.protocol import Objective


class Correlation(nn.Module, Objective):
    """One minus Pearson's correlation; a batch in which scores or grades are all the same gives 1."""

    needs_score = True

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`."""
        if batch.score is None or batch.label is None:
            raise ValueError(
                "correlation needs scored pairs with grades, and the batch has none: choose examples=graded_pairs"
            )
        score = batch.score - batch.score.sum() / max(len(batch.score), 1)
        grade = batch.label.to(score.dtype)
        grade = grade - grade.sum() / max(len(grade), 1)
        lengths = (score.square().sum() * grade.square().sum()).clamp(min=torch.finfo(score.dtype).eps).sqrt()
        return {"loss": 1 - (score * grade).sum() / lengths}
