"""Cross-entropy of each labelled pair: the score as log-odds that both texts say the same.

A family whose score is a logit is scored as it stands. A cosine s cannot be sure of anything (σ(1) = 0.73), so it is
stretched first, by two numbers that the objective learns with the encoder and that scoring needs no more, as it chooses
its own threshold:

    log-odds = exp(k) (s − t)              t: the cosine at which a pair is as likely the same as not

(a scale and bias beside a cosine as in SigLIP, Zhai et al., ICCV 2023, section 3.2.) A label between 0 and 1 is the
probability to be learnt, that of a teacher say.

Shape letters: B pairs.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from twicetold.encoding import EncodedBatch


class PairBce(nn.Module):
    """Binary cross-entropy on the encoder's own score.

    Args:
        pos_weight: how many times a pair with label 1 counts; None: once.
        scale: exp(k) at the start of training; None: the score is a logit already, nothing is learnt here.
        threshold: t at the start of training; of no meaning without a scale.

    Raises:
        ValueError: if the scale is not positive.
    """

    needs_score = True

    def __init__(self, *, pos_weight: float | None, scale: float | None = None, threshold: float = 0.0) -> None:
        super().__init__()
        if scale is not None and not scale > 0:
            raise ValueError(f"scale stretches the score and must be above 0, or null for a logit; got {scale}")
        self.pos_weight = pos_weight
        self.log_scale = None if scale is None else nn.Parameter(torch.tensor(math.log(scale)))
        self.threshold = None if scale is None else nn.Parameter(torch.tensor(float(threshold)))

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, the weighted mean over pairs."""
        if batch.score is None or batch.label is None:
            raise ValueError(
                "pair_bce needs scored pairs with labels, and the batch has none: choose examples=labelled_pairs"
            )
        logits = batch.score
        if self.log_scale is not None and self.threshold is not None:
            logits = self.log_scale.exp() * (logits - self.threshold)
        same = batch.label.to(logits.dtype)
        weight = 1 + same * ((1 if self.pos_weight is None else self.pos_weight) - 1)
        losses = binary_cross_entropy_with_logits(logits, same, reduction="none")
        return {"loss": (losses * weight).sum() / weight.sum().clamp(min=1)}
