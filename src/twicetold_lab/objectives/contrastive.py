"""Contrastive loss, duplicates together and others at least a margin apart: L = ½ y d² + ½ (1 − y) max(0, m − d)².

Hadsell, Chopra and LeCun, Dimensionality Reduction by Learning an Invariant Mapping, CVPR 2006, equation 4 (there y
means dissimilar). d is the Euclidean distance of unit vectors, d² = 2 − 2 cos, so the order of distances is that
of the scores, and the loss is zero for negatives with cos ≤ 1 − m²/2.

Shape letters: B rows, P pairs.
"""

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import candidates, distances
from twicetold_lab.objectives.protocol import Objective


class Contrastive(nn.Module, Objective):
    """The contrastive loss of pairs: pairs labelled 0 and mined negatives, in one mean with the positives.

    Args:
        margin: m.

    Raises:
        ValueError: if the margin is outside (0, 2].
    """

    compares_mined = True

    def __init__(self, *, margin: float) -> None:
        super().__init__()
        if not 0 < margin <= 2:
            raise ValueError(f"margin is a distance of unit vectors, above 0 and at most 2; got {margin}")
        self.margin = margin

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, and its parts `together` and `apart`."""
        if batch.positive is None:
            raise ValueError(
                "contrastive needs pairs, and the batch has no right texts: "
                "choose examples=labelled_pairs, or examples=triplets"
            )
        compared = candidates(batch, unit_length=True)
        assert compared.duplicate is not None
        size = len(compared.anchor)
        anchor = compared.anchor.repeat(len(compared.other) // max(size, 1), 1)
        distance = distances((anchor * compared.other).sum(1))  # (C,), of own pairs, then of mined negatives
        same = torch.zeros_like(distance, dtype=torch.bool)
        same[:size] = compared.duplicate
        count = max(len(same), 1)
        together = distance.square().where(same, 0).sum() / 2 / count
        apart = ((self.margin - distance).relu().square() / 2).where(~same, 0).sum() / count
        return {"loss": together + apart, "together": together.detach(), "apart": apart.detach()}
