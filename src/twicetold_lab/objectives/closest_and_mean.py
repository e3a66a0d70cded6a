"""Two hinges on cosines: duplicates nearer than the closest and than the mean negative of the batch.

For a batch of duplicate pairs (a_i, p_i), with s_ij = cos(a_i, p_j) and N_i the others except known duplicates:

    L_i = max(0, m − s_ii + max_{j ∈ N_i} s_ij) + max(0, m − s_ii + mean_{j ∈ N_i} s_ij)

Source: the course on Natural Language Processing of deeplearning.ai, 4.3: in its trax edition the mean of L_i, in its
TensorFlow edition (`semi_hard`) the sum, with the closest only among those that are no nearer than the positive, as in
Schroff et al., FaceNet, CVPR 2015. The course relies on batches without further duplicates; here known ones, by their
cluster, are not in N_i.

A row may also be a pair with label 0. It has no positive, so it is compared with the positives of the other rows: for a
row k with label 0 and the P rows i with label 1,

    L_k = 1/P Σ_i max(0, m − s_ii + s_kk)

A pair labelled as different has to score lower than every duplicate pair, because one threshold is used for all pairs.
In-batch negatives do not train this, as most of them are far away.

Shape letters: B rows, E embedding dimensions.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import candidates
from twicetold_lab.objectives.protocol import Objective


class ClosestAndMean(nn.Module, Objective):
    """The two hinges.

    Args:
        margin: m, a difference of cosines.
        semi_hard: sum over the rows, with the closest among the negatives that are no nearer than the positive;
            false: mean over the rows, with the closest of all negatives.
    """

    in_batch = True

    def __init__(self, *, margin: float, semi_hard: bool) -> None:
        super().__init__()
        self.margin = margin
        self.semi_hard = semi_hard

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, the mean (or sum) over rows with something to compare with, and its parts.

        The parts are `closest`, `mean`, and `different` (of rows with label 0); `active` is the share of rows above 0.
        """
        if batch.positive is None:
            raise ValueError("this objective needs pairs, and the batch has no positive: choose examples=duplicates")
        compared = candidates(replace(batch, negative=None), unit_length=True)
        assert compared.duplicate is not None
        # In full precision: cosines near 1 have a spacing of 0.004 in bf16.
        with torch.autocast(compared.anchor.device.type, enabled=False):
            scores = compared.anchor @ compared.other.T  # (B, B)
        same = compared.duplicate
        negative = compared.masks(slice(0, len(scores)))[1] & same[:, None]  # (B, B)
        hinges = self._hinges(scores, negative, same)
        with_negatives = negative.any(1).sum() + (~same).sum() * same.any()  # rows with something to compare with
        rows = with_negatives.clamp(min=1)
        closest, mean, different = (hinges if self.semi_hard else hinges / rows).sum(1)
        return {
            "loss": closest + mean + different,
            "closest": closest.detach(),
            "mean": mean.detach(),
            "different": different.detach(),
            "active": (hinges.detach().sum(0) > 0).sum() / rows,
        }

    def _hinges(self, scores: Tensor, negative: Tensor, same: Tensor) -> Tensor:
        """Return (3, B) hinges on the closest negative, on their mean, and of rows with label 0 on duplicates.

        A hinge is 0 where there is nothing to compare with.
        """
        positive, counts, margin = scores.diagonal(), negative.sum(1), self.margin
        sought = negative & (scores <= positive[:, None]) if self.semi_hard else negative
        mean = scores.where(negative, 0).sum(1) / counts.clamp(min=1)
        # amax raises for an empty batch
        closest = scores.masked_fill(~sought, -torch.inf).amax(1) if len(scores) else positive
        gaps = margin - positive[same] + positive[:, None]  # (B, P)
        different = gaps.relu().sum(1) / same.sum().clamp(min=1)
        to_mean = (margin - positive + mean).relu().where(counts > 0, 0)
        return torch.stack([(margin - positive + closest).relu(), to_mean, different.where(~same, 0)])
