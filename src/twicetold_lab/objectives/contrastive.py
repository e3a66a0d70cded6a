"""Contrastive loss, duplicates together and others at least a margin apart: L = ½ y d² + ½ (1 − y) max(0, m − d)².

Hadsell, Chopra and LeCun, Dimensionality Reduction by Learning an Invariant Mapping, CVPR 2006, equation 4 (there y
means dissimilar). d is the Euclidean distance of unit vectors, d² = 2 − 2 cos, so the order of distances is that
of the scores, and the loss is zero for negatives with cos ≤ 1 − m²/2.

Shape letters: B rows, P pairs.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import candidates, distances
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.row_blocks import sum_over_rows

Negatives = Literal["given", "in_batch"]


class Contrastive(nn.Module, Objective):
    """The contrastive loss of pairs.

    Args:
        margin: m.
        negatives: `given`, pairs labelled 0 and mined negatives, in one mean with the positives. `in_batch`,
            all possible negatives of the batch: the mean over positive pairs, plus the mean over negative pairs within
            the margin.

    Raises:
        ValueError: if the margin is outside (0, 2], or the choice of negatives unknown.
    """

    compares_mined = True

    def __init__(self, *, margin: float, negatives: Negatives) -> None:
        super().__init__()
        if not 0 < margin <= 2:
            raise ValueError(f"margin is a distance of unit vectors, above 0 and at most 2; got {margin}")
        if negatives not in get_args(Negatives):
            raise ValueError(f"negatives must be one of {', '.join(get_args(Negatives))}; got {negatives!r}")
        self.margin = margin
        self.negatives = negatives
        self.in_batch = negatives == "in_batch"

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and its parts `together` and `apart`."""
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
        near = distance.square().where(same, 0).sum() / 2
        if self.negatives == "given":
            far = self._apart(distance).where(~same, 0).sum()
            together, apart = near / max(len(same), 1), far / max(len(same), 1)
        else:

            def value_of(scores: Tensor, rows: slice, _: Tensor) -> tuple[Tensor, Tensor]:
                losses = self._apart(distances(scores)).where(compared.masks(rows)[1], 0)
                return losses.sum(), (losses > 0).sum()[None]

            far, pairs = sum_over_rows(compared.anchor, compared.other, near.new_zeros(()), value_of)
            together, apart = near / same.sum().clamp(min=1), far / pairs[0].clamp(min=1)
        return {"loss": together + apart, "together": together.detach(), "apart": apart.detach()}

    def _apart(self, distance: Tensor) -> Tensor:
        return (self.margin - distance).relu().square() / 2
