"""The hinge over given triplets: an anchor is nearer to its positive than to its negative, by a margin.

    mean over triplets of max(0, sim(a, n) + m − sim(a, p))

Tang and Aw, FILM, arXiv:2010.05523, equation 3, where sim is the dot product (equation 1), "a similarity measure chosen
by the user". How large m is the paper does not say. FLRML, whose code it follows (github.com/highan911/FLRML@7ccda12),
takes a multiple of the mean squared length of the embeddings; so does this: m = margin · mean ‖a‖². For cosines that is
m = margin. Equation 29 is the same for a network: leaf `average_hinge`.

FILM's own solvers read `margin` and `similarity` from here and minimise the mean per anchor (equation 5) in place of
the mean over triplets.

Shape letters: B triplets, E embedding dimensions.
"""

from typing import Literal, get_args

from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold.objectives.in_batch import dense, unit

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
        if batch.positive is None or batch.negative is None:
            raise ValueError("the triplet hinge needs anchor, positive and negative: choose examples=triplets")
        cosine = self.similarity == "cosine"
        anchor, positive, negative = map(unit if cosine else dense, (batch.anchor, batch.positive, batch.negative))
        size = max(len(anchor), 1)
        margin = self.margin if cosine else self.margin * anchor.detach().square().sum() / size
        hinge = ((anchor * (negative - positive)).sum(1) + margin).clamp(min=0)
        return {"loss": hinge.sum() / size, "active": (hinge > 0).sum() / size}
