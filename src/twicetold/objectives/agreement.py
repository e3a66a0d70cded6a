"""How far the embedding of an altered copy is from that of its text: mean of 1 - cos(e(x), e(x')).

The text is the target, and no gradient flows through it (Xie et al., UDA, NeurIPS 2020: a fixed copy of the
parameters).

Shape letters: B rows, E embedding dimensions.
"""

from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold.objectives.in_batch import unit


class Agreement(nn.Module):
    """Part of an objective: by itself it is least where all texts have one embedding.

    A text whose embedding is zero, for want of a known word, has no direction: it takes no part, nor does its copy, and
    neither does a text whose copy is of that kind.
    """

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, from 0, where all copies agree with their texts, to 2.

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
