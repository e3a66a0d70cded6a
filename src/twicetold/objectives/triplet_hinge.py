"""The hinge over triplets: an anchor is nearer to its positive than to a negative, by a margin.

    mean over triplets of max(0, sim(a, n) + m − sim(a, p))

Triplets are those that were mined. A batch of pairs has none: there each pair that says the same meets every negative
of the batch.

Tang and Aw, FILM, arXiv:2010.05523, equation 3, where sim is the dot product (equation 1), "a similarity measure chosen
by the user". How large m is the paper does not say. FLRML, whose code it follows (github.com/highan911/FLRML@7ccda12),
takes a multiple of the mean squared length of the embeddings; so does this: m = margin · mean ‖a‖². For cosines that is
m = margin. Equation 29 is the same for a network: leaf `average_hinge`.

FILM's own solvers read `margin` and `similarity` from here and minimise the mean per anchor (equation 5) in place of
the mean over triplets.

Shape letters: B rows of the batch, b some of them, E embedding dimensions.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold.objectives.in_batch import candidates, dense, in_roles, unit
from twicetold.objectives.row_blocks import sum_over_rows

Similarity = Literal["dot", "cosine"]


class TripletHinge(nn.Module):
    """Mean hinge of the batch's triplets.

    Args:
        margin: as a share of the mean squared length of the anchors.
        similarity: `dot` or `cosine`.

    Raises:
        ValueError: if the similarity is another.
    """

    def __init__(self, *, margin: float, similarity: Similarity) -> None:
        super().__init__()
        if similarity not in get_args(Similarity):
            raise ValueError(f"similarity is one of {get_args(Similarity)}, got {similarity!r}")
        self.margin = margin
        self.similarity = similarity

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and `active`, the share of triplets within the margin."""
        if batch.positive is None:
            raise ValueError("the triplet hinge needs pairs or triplets: choose examples=labelled_pairs or triplets")
        total, counts = self._mined(batch) if batch.negative is not None else self._of_the_batch(batch)
        triplets = counts[1].clamp(min=1)
        return {"loss": total / triplets, "active": counts[0] / triplets}

    def _mined(self, batch: EncodedBatch) -> tuple[Tensor, Tensor]:
        anchor, positive, negative = map(unit if self.similarity == "cosine" else dense, in_roles(batch))
        hinge = ((anchor * (negative - positive)).sum(1) + self._margin_of(anchor)).clamp(min=0)
        return hinge.sum(), torch.stack([(hinge > 0).sum(), torch.tensor(len(hinge), device=hinge.device)])

    def _of_the_batch(self, batch: EncodedBatch) -> tuple[Tensor, Tensor]:
        compared = candidates(batch, unit_length=self.similarity == "cosine")
        margin = self._margin_of(compared.anchor)
        assert compared.duplicate is not None
        duplicate = compared.duplicate

        def value_of(scores: Tensor, rows: slice, _: Tensor) -> tuple[Tensor, Tensor]:
            own = scores.diagonal(rows.start)[:, None]  # (b, 1)
            valid = compared.masks(rows)[1] & duplicate[rows, None]
            hinge = (scores + margin - own).clamp(min=0).where(valid, 0)
            return hinge.sum(), torch.stack([(hinge > 0).sum(), valid.sum()])

        return sum_over_rows(compared.anchor, compared.other, compared.anchor.new_zeros(()), value_of)

    def _margin_of(self, anchor: Tensor) -> Tensor | float:
        if self.similarity == "cosine":
            return self.margin
        return self.margin * anchor.detach().square().sum() / max(len(anchor), 1)
