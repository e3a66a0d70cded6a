"""ICT: a retriever trained without labels to find the text that a sentence was taken from.

The retriever of ORQA, pretrained by the inverse cloze task: Lee, Chang and Toutanova, Latent Retrieval for Weakly
Supervised Open Domain Question Answering, ACL 2019, sections 3 and 4. The query is a sentence, the document is the rest
of its text (examples `inverse_cloze`, objective `info_nce_dpr`). In place of the paper's two transformers, each tower
is a sum of vectors of words, word pairs and letter trigrams.

    q = LayerNorm(Σ_c x_c Q[c]),  d = LayerNorm(Σ_c x_c D[c])      x_c: how often the text has column c
    s = q · d                                                      mean over both directions (layers.two_tower)

Shape letters: B texts, V feature columns, E embedding dimensions.
"""

from jaxtyping import Bool
from torch import Tensor

from twicetold.encoding import SparseRows
from twicetold.layers.hashing import HashingLayer, filled
from twicetold.layers.two_tower import DualTower


class Ict(DualTower):
    """Two tables of vectors.

    Args:
        width: V.
        embedding: E.
    """

    def __init__(self, *, width: int, embedding: int) -> None:
        super().__init__(HashingLayer(width, embedding), HashingLayer(width, embedding), embedding=embedding)

    def known(self, features: SparseRows) -> Bool[Tensor, " B"]:
        """Return (B,) which texts have a known column."""
        return filled(features)
