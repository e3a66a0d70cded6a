"""A positive nearer than a negative by a margin, on the average over given triplets.

FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching (arXiv:2010.05523), equation 3
(and 29, the same for a network):

    L = 1/|T| Σ_{(i, j, k) ∈ T} max(0, sim(y_i, y_k) + m − sim(y_i, y_j))

with the cosine as sim, which the paper's inner product is for vectors of length 1. That texts of one cluster are not
each other's negatives is the business of the mining stage, which excludes them.

Shape letters: B triplets, E embedding dimensions.
"""

from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding


class AverageHinge(nn.Module):
    """Mean over the triplets.

    Args:
        margin: m, by how much the positive should be nearer.
    """

    def __init__(self, *, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`; `active`, the share of triplets with a loss above 0."""
        if batch.positive is None or batch.negative is None:
            raise ValueError("average_hinge needs triplets, and the batch has none: choose examples=triplets")
        anchor, positive, negative = (_dense(side) for side in (batch.anchor, batch.positive, batch.negative))
        near, far = cosine_similarity(anchor, positive), cosine_similarity(anchor, negative)
        hinges = (far + self.margin - near).relu()
        size = max(len(hinges), 1)
        return {"loss": hinges.sum() / size, "active": (hinges.detach() > 0).sum() / size}


def _dense(side: Encoding) -> Tensor:
    if not isinstance(side.embedding, Tensor):
        raise TypeError(
            "average_hinge needs dense embeddings (B, E), and the encoder gives sparse rows: "
            "families without a vector for a text learn from pairs, choose objective=pair_bce"
        )
    return side.embedding if side.embedding.dtype.itemsize > 4 else side.embedding.float()
