"""Reconstruct each text, and keep texts of one group nearer than others: L = reconstruction + α · triplet.

Source: Okura et al., "Article De-duplication Using Distributed Representations" (WWW 2016 companion), equation for θ;
with in-batch triplets as github.com/louislung/DAE_RNN_News_Recommendation@16f72d4. There a row's reconstruction
is weighted by the number of triplets that contain the row.

Shape letters: B rows, E embedding dimensions, V features.
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch, Encoding, Reconstruction
from twicetold_lab.objectives import reconstruction
from twicetold_lab.objectives.in_batch import dense
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.triplet import Triplet

Negatives = Literal["all", "batch_hard", "given"]
ReconstructionLoss = Literal["cross_entropy", "mean_squared"]

# The decoder ends in a sigmoid, which is part of the cross-entropy.
_RECONSTRUCTIONS: dict[ReconstructionLoss, Callable[..., Tensor]] = {
    "cross_entropy": reconstruction.cross_entropy,
    "mean_squared": lambda logits, *rest: reconstruction.mean_squared(logits.sigmoid(), *rest),
}


class DenoisingTriplet(nn.Module, Objective):
    """The objective of the denoising autoencoder.

    Every encoding has a `Reconstruction`: the decoder's (B, V) output before its sigmoid, and the uncorrupted input.

    Rows of a batch without a triplet have equal weights.

    Args:
        alpha: α, the weight of the triplet loss. The reconstruction loss is large, as it is a sum over V features.
        negatives: of the triplet loss (`triplet`, softplus of dots): `all` or `batch_hard` finds triplets in the batch
            by its labels (negative: unknown); `given` uses anchor, positive and negative of each row.
        reconstruction: The loss between the decoder's output and the target.

    Raises:
        ValueError: if a setting is out of range.
    """

    def __init__(self, *, alpha: float, negatives: Negatives, reconstruction: ReconstructionLoss) -> None:
        super().__init__()
        if not alpha >= 0:
            raise ValueError(f"alpha weighs the triplet loss and must be at least 0; got {alpha}")
        if negatives not in get_args(Negatives):
            raise ValueError(f"negatives must be one of {', '.join(get_args(Negatives))}; got {negatives!r}")
        if reconstruction not in _RECONSTRUCTIONS:
            raise ValueError(f"reconstruction must be one of {', '.join(_RECONSTRUCTIONS)}; got {reconstruction!r}")
        self.alpha = alpha
        self.triplet = Triplet(similarity="dot", activation="softplus", margin=None, negatives=negatives, average="all")
        self.reconstruction: ReconstructionLoss = reconstruction
        self.in_batch = self.triplet.in_batch and alpha > 0
        self.compares_mined = not self.triplet.in_batch

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, and its parts `reconstruction` and `triplet` and the `active` share of triplets."""
        given = self.triplet.negatives == "given"
        reconstructed, triplet, active = self._given(batch) if given else self._of_the_batch(batch)
        return {
            "loss": reconstructed + self.alpha * triplet,
            "reconstruction": reconstructed.detach(),
            "triplet": triplet.detach(),
            "active": active.detach(),
        }

    def _of_the_batch(self, batch: EncodedBatch) -> tuple[Tensor, Tensor, Tensor]:
        if batch.label is None or batch.label.is_floating_point():
            raise ValueError(
                f"negatives={self.triplet.negatives} finds triplets by the class codes of the texts, and the batch has "
                "none: choose examples=labelled_texts, or objective.negatives=given with examples=triplets"
            )
        triplets = self.triplet.of_classes(dense(batch.anchor), batch.label)
        weight = torch.where(triplets.data_weight.sum() > 0, triplets.data_weight, 1.0)
        return self._reconstruct(batch.anchor, weight), triplets.loss, triplets.fraction

    def _given(self, batch: EncodedBatch) -> tuple[Tensor, Tensor, Tensor]:
        losses = self.triplet(batch)
        sides = [side for side in (batch.anchor, batch.positive, batch.negative) if side is not None]
        reconstructed = torch.stack([self._reconstruct(side, None) for side in sides]).sum()
        return reconstructed, losses["loss"], losses["active"]

    def _reconstruct(self, side: Encoding, weight: Tensor | None) -> Tensor:
        if not isinstance(side.extra, Reconstruction):
            raise ValueError(
                "denoising_triplet needs an encoder that reconstructs its input, in training mode, as model=dae; "
                f"this encoding comes with {'nothing' if side.extra is None else type(side.extra).__name__} beside it"
            )
        return _RECONSTRUCTIONS[self.reconstruction](side.extra.logits, side.extra.target, weight)
