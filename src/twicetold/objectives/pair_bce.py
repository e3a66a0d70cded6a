"""Cross-entropy of each labelled pair: the score as log-odds that both texts say the same.

Shape letters: B pairs.
"""

from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from twicetold.encoding import EncodedBatch


class PairBce(nn.Module):
    """Binary cross-entropy on the encoder's own score, which must be unbounded: a cosine cannot be sure of anything.

    Args:
        pos_weight: how many times a pair with label 1 counts; None: once.
    """

    needs_score = True

    def __init__(self, *, pos_weight: float | None) -> None:
        super().__init__()
        self.pos_weight = pos_weight

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, the weighted mean over pairs."""
        if batch.score is None or batch.label is None:
            raise ValueError(
                "pair_bce needs scored pairs with labels, and the batch has none: choose examples=labelled_pairs"
            )
        same = (batch.label > 0).to(batch.score.dtype)
        weight = 1 + same * ((1 if self.pos_weight is None else self.pos_weight) - 1)
        losses = binary_cross_entropy_with_logits(batch.score, same, reduction="none")
        return {"loss": (losses * weight).sum() / weight.sum().clamp(min=1)}
