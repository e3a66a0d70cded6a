"""MiniLM: a small pretrained transformer embeds each text alone; cosine.

Wang et al., MiniLM: Deep Self-Attention Distillation, NeurIPS 2020 (arXiv:2002.10957); as a bi-encoder with the mean
over tokens: Reimers and Gurevych, Sentence-BERT, EMNLP 2019 (arXiv:1908.10084). features.model can name any other
encoder in the format of `transformers`, and features.pooling the state of [CLS] in place of the mean.

    h_t = Transformer(w)_t                 [CLS] and [SEP] included
    v   = Σ_t h_t / T
    embedding = v / ‖v‖                    zero for a text without a known token

Without an objective nothing is trained.

Shape letters: B texts, K tokens of a batch, H dimensions.
"""

from collections.abc import Mapping
from typing import Any

from twicetold.encoding import Encoding, SparseRows, unit_vectors
from twicetold.layers.pooling import Pooling
from twicetold.layers.transformer import Transformer
from twicetold.layers.two_tower import TwoTower


class MiniLm(TwoTower):
    """One transformer for both texts.

    Args:
        width: number of token ids.
        transformer: settings of `layers.transformer.Transformer`, from the featuriser.
    """

    def __init__(self, *, width: int, transformer: Mapping[str, Any]) -> None:
        super().__init__()
        self.width = width
        self.transformer = Transformer(**transformer)
        self.pool = Pooling(self.transformer.pooling, self.transformer.size)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, H), of length 1."""
        pooled = self.pool(self.transformer(features), features.offsets)  # (K,) -> (K, H) -> (B, H)
        return Encoding(unit_vectors(pooled) * self.transformer.known(features)[:, None])
