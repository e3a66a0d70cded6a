"""Binary cross-entropy of labelled pairs, with the score as log-odds of a duplicate.

A score that is a logit is used as it is. A cosine s, whose log-odds would be limited (σ(1) = 0.73), is scaled first, by
two numbers that are trained with the encoder and are not needed for scoring, where a threshold is chosen on validation:

    log-odds = exp(k) (s − t)              t: the cosine at which the probability is ½

(scale and bias of a cosine as in SigLIP, Zhai et al., ICCV 2023, section 3.2.) Labels between 0 and 1 are target
probabilities, such as those of a teacher.

Shape letters: B pairs.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.protocol import Objective


class PairBce(nn.Module, Objective):
    """Binary cross-entropy on the encoder's own score.

    Args:
        scale: exp(k) at the start of training; None: the score is a logit, nothing is trained here.
        threshold: t at the start of training; unused without a scale.

    Raises:
        ValueError: if the scale is not positive.
    """

    needs_score = True

    def __init__(self, *, scale: float | None = None, threshold: float = 0.0) -> None:
        super().__init__()
        if scale is not None and not scale > 0:
            raise ValueError(f"scale multiplies the score and must be above 0, or null for a logit; got {scale}")
        self.log_scale = None if scale is None else nn.Parameter(torch.tensor(math.log(scale)))
        self.threshold = None if scale is None else nn.Parameter(torch.tensor(float(threshold)))

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, the mean over pairs."""
        if batch.score is None or batch.label is None:
            raise ValueError(
                "pair_bce needs scored pairs with labels, and the batch has none: choose examples=labelled_pairs"
            )
        logits = batch.score
        if self.log_scale is not None and self.threshold is not None:
            logits = self.log_scale.exp() * (logits - self.threshold)
        same = batch.label.to(logits.dtype)
        return {"loss": binary_cross_entropy_with_logits(logits, same, reduction="sum") / max(len(same), 1)}
