"""Softmax over the scored pairs of one anchor: the contrast of a positive pair with negative pairs.

For families that score pairs and have no vectors (cross-encoders, RE2, BiMPM), whose negatives each cost a score of
their own. Gao, Dai and Callan, Rethink Training of BERT Rerankers in Multi-Stage Retrieval Pipeline, ECIR 2021
(arXiv:2101.08751), section 3, "localized contrastive estimation"; with s the score of a pair,

    L = mean over positive pairs (a, p) of −log exp(s_ap / τ) / (exp(s_ap / τ) + Σ_n exp(s_an / τ))

The negatives n are those that stand beside the positive as rows of their own: pairs labelled 0 whose anchor is a, or
another text of its cluster. No other row is compared, so false negatives can only come from the labels or from mining.
A positive without a negative in its batch is not counted. Unlike `pair_bce`, the loss does not say at which score a
pair is a duplicate, only that duplicates come first; the threshold is chosen on validation as always.

Examples: `candidates`. Shape letters: B rows.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from twicetold.conventions import UNDECIDED
from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import one_cluster
from twicetold_lab.objectives.protocol import Objective


class LocalizedContrastive(nn.Module, Objective):
    """Negative log-likelihood of the positive among the scored pairs of its anchor.

    Args:
        temperature: τ; 1 for log-odds, less for cosines.

    Raises:
        ValueError: if it is not positive.
    """

    needs_score = True
    in_batch = True

    def __init__(self, *, temperature: float) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature divides the score and must be above 0; got {temperature}")
        self.temperature = temperature

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`; `first` is the share of positives that score higher than all their negatives.

        Raises:
            ValueError: if the batch has no scored pairs with labels and clusters.
        """
        if batch.score is None or batch.label is None or batch.group is None:
            raise ValueError(
                "localized_contrastive needs scored pairs with labels and with the cluster of each anchor, and the "
                "batch has none: choose examples=candidates"
            )
        logits = batch.score / self.temperature
        positive = batch.label > UNDECIDED
        negative = one_cluster(batch.group, batch.group) & ~positive  # (B, B), of an anchor in each row
        counted = positive & negative.any(1)
        lowest = torch.finfo(logits.dtype).min  # not −inf: the gradient of an empty sum would be nan
        others = logits.expand(len(logits), -1).masked_fill(~negative, lowest)  # (B, B)
        losses = softplus(others.logsumexp(1) - logits, threshold=40).where(counted, 0)
        first = counted & (logits[:, None] > others).all(1)
        count = counted.sum().clamp(min=1)
        return {"loss": losses.sum() / count, "first": first.sum() / count}
