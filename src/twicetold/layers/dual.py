"""Two towers of the same architecture, one for queries and one for documents, compared by dot product.

    s(l, r) = (q_l · d_r + q_r · d_l) / 2√E        q, d: outputs of the towers after layer normalisation

Duplicate detection is symmetric, so a text is embedded in both roles, and the score is the mean over both directions.
Both towers start with the same weights, like two encoders with the same pretrained weights.

Layer normalisation, as in the last layer of ORQA and BERT, gives all embeddings the same length at the start. Dots are
divided by √E, as in attention, so that a softmax over them starts out flat.

Shape letters: B texts or pairs, E embedding dimensions.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, Roles, SparseRows
from twicetold.layers.two_tower import both_roles


class DualTower(nn.Module):
    """Base of the families with one tower for queries and one for documents.

    Args:
        query: from rows to (B, E), not yet normalised.
        document: the same architecture; it is initialised with the weights of `query`.
        embedding: E.
    """

    score_is_dot_product = True

    def __init__(self, query: nn.Module, document: nn.Module, *, embedding: int) -> None:
        super().__init__()
        document.load_state_dict(query.state_dict())
        self.query = query
        self.document = document
        self.query_norm = nn.LayerNorm(embedding)
        self.document_norm = nn.LayerNorm(embedding)

    def known(self, features: SparseRows) -> Bool[Tensor, " B"]:
        """(B,) which texts have a known feature; the embeddings of the others are zero."""
        raise NotImplementedError

    def encode(self, features: SparseRows) -> Encoding:
        """Embed in both roles: (B, 2E); in training also as `Roles`, (B, 1, E) each."""
        known = self.known(features)[:, None]
        query: Tensor = self.query_norm(self.query(features)) * known
        document: Tensor = self.document_norm(self.document(features)) * known
        scale = query.shape[1] ** -0.25
        query, document = query * scale, document * scale
        both = torch.cat([query, document], dim=1) / 2**0.5  # 2 (B, E) -> (B, 2E)
        return Encoding(both, Roles(query[:, None], document[:, None]) if self.training else None)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) mean of both directions' dot products; higher means more alike."""
        return (self.search_vectors(left)[0] * self.search_vectors(right)[1]).sum(1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Vectors whose dot products are the scores: [query | document] and [document | query]."""
        return both_roles(encoding)
