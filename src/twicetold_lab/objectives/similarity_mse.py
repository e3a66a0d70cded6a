"""Squared error of the student's cosines against the teacher's: distillation of a similarity.

    pairs      mean of (cos(a, p) − t)²                     t: the teacher's similarity of the pair
               Reimers and Gurevych 2019 (Sentence-BERT, arXiv:1908.10084), section 3, there with grades
    triplets   mean of (cos(a, p) − cos(a, n) − m)²         m: its similarity of a and p minus that of a and n
               MarginMSE: Hofstätter et al. 2020, arXiv:2010.02666, equation 4

The margin leaves the student free to call all pairs more alike, or less, than the teacher does.
"""

from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import as_document, as_query, unit
from twicetold_lab.objectives.protocol import Objective


class SimilarityMse(nn.Module, Objective):
    """Mean squared error of similarities of pairs, or of their differences in triplets."""

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`.

        Raises:
            ValueError: if the batch has no pairs, or no similarities.
        """
        if batch.positive is None or batch.label is None:
            raise ValueError(
                "similarity_mse needs pairs or triplets with similarities, and the batch has none: choose "
                "examples=similarities"
            )
        anchor = unit(as_query(batch.anchor))
        found = (anchor * unit(as_document(batch.positive))).sum(1)
        if batch.negative is not None:
            found = found - (anchor * unit(as_document(batch.negative))).sum(1)
        return {"loss": (found - batch.label.to(found.dtype)).square().sum() / max(len(found), 1)}
