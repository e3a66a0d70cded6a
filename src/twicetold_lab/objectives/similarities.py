"""Objectives on graded similarities: squared errors of cosines, and one minus a correlation.

`SimilarityMse` distils a teacher's similarities:

    pairs      mean of (cos(a, p) − t)²                     t: the teacher's similarity of the pair
               Reimers and Gurevych 2019 (Sentence-BERT, arXiv:1908.10084), section 3, there with grades
    triplets   mean of (cos(a, p) − cos(a, n) − m)²         m: its similarity of a and p minus that of a and n
               MarginMSE: Hofstätter et al. 2020, arXiv:2010.02666, equation 4

The margin leaves the student free to call all pairs more alike, or less, than the teacher does.

`Correlation` is the measure of STS-B as an objective. It knows no scale: cosines need not fill the range of the grades.

    L = 1 − Σ (s − s̄)(g − ḡ) / √(Σ (s − s̄)² Σ (g − ḡ)²)          s: scores of the pairs, g: their grades
"""

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import as_document, as_query, unit
from twicetold_lab.objectives.protocol import Objective


class SimilarityMse(nn.Module, Objective):
    """Mean squared error of similarities of pairs, or of their differences in triplets."""

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`.

        Raises:
            ValueError: if the batch has no pairs, or no similarities.
        """
        if batch.positive is None or batch.label is None:
            raise ValueError(
                "similarity_mse needs pairs or triplets with similarities, and the batch has none: choose "
                "examples=similarities"
            )
        anchor = unit(as_query(batch.anchor))
        cosine = (anchor * unit(as_document(batch.positive))).sum(1)
        if batch.negative is not None:
            cosine = cosine - (anchor * unit(as_document(batch.negative))).sum(1)
        return {"loss": (cosine - batch.label.to(cosine.dtype)).square().sum() / max(len(cosine), 1)}


class Correlation(nn.Module, Objective):
    """One minus Pearson's correlation; a batch in which scores or grades are all the same gives 1."""

    needs_score = True

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`."""
        if batch.score is None or batch.label is None:
            raise ValueError(
                "correlation needs scored pairs with grades, and the batch has none: choose examples=graded_pairs"
            )
        score = batch.score - batch.score.sum() / max(len(batch.score), 1)
        grade = batch.label.to(score.dtype)
        grade = grade - grade.sum() / max(len(grade), 1)
        lengths = (score.square().sum() * grade.square().sum()).clamp(min=torch.finfo(score.dtype).eps).sqrt()
        return {"loss": 1 - (score * grade).sum() / lengths}
