"""Two-tower scoring: both texts are embedded alone, and the score is the cosine of the two embeddings.

Shape letters: B pairs or texts, E embedding dimensions.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import Encoding, SparseRows


class TwoTower(nn.Module):
    """Base of the families that embed each text alone and compare by cosine.

    A subclass defines `encode`. A text whose embedding is zero has cosine 0 with every text.
    """

    def encode(self, features: SparseRows) -> Encoding:
        """Embed a batch of texts: (B, E)."""
        raise NotImplementedError

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) cosine of each pair, in [−1, 1]; higher means more alike."""
        return cosine_similarity(dense(left), dense(right), dim=1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Vectors whose dot products are the scores: (B, E) as queries, (B, E) as documents."""
        unit = normalize(dense(encoding), dim=1)
        return unit, unit


def dense(encoding: Encoding) -> Float[Tensor, "B E"]:
    """The embedding of a family whose embeddings are dense.

    Raises:
        TypeError: if the embedding is sparse.
    """
    if isinstance(encoding.embedding, SparseRows):
        raise TypeError("expected a dense embedding, got sparse rows: use a family from a sparse tower for those")
    return encoding.embedding
