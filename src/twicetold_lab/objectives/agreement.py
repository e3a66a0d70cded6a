"""Consistency: mean of 1 - cos(e(x), e(x')) between texts and their altered copies.

The text is the target, and no gradient flows through it (Xie et al., UDA, NeurIPS 2020: a fixed copy of the
parameters).

Shape letters: B rows, E embedding dimensions.
"""

from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import unit
from twicetold_lab.objectives.protocol import Objective


class Agreement(nn.Module, Objective):
    """Part of an objective; on its own it is minimal if all texts have the same embedding.

    Rows in which the text or its copy has a zero embedding (no known word) are ignored.
    """

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, between 0 (all copies agree with their texts) and 2.

        Raises:
            ValueError: if the batch has no copies.
        """
        if batch.copy is None:
            raise ValueError(
                "agreement needs an altered copy of each anchor, and the batch has none: set consistency.weight"
            )
        text, copy = unit(batch.anchor).detach(), unit(batch.copy)  # (B, E)
        known = (text.any(1) & copy.any(1)).to(copy.dtype)
        return {"loss": ((1 - (text * copy).sum(1)) * known).sum() / known.sum().clamp(min=1)}
