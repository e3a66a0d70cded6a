"""MiniLM: a small pretrained transformer embeds each text alone; cosine.

Wang et al., MiniLM: Deep Self-Attention Distillation, NeurIPS 2020 (arXiv:2002.10957); as a bi-encoder with the mean
over tokens: Reimers and Gurevych, Sentence-BERT, EMNLP 2019 (arXiv:1908.10084). Any other encoder in the format of
`transformers` does as well, features.model names it.

    h_t = Transformer(w)_t                 [CLS] and [SEP] are tokens like any other
    v   = Σ_t h_t / T
    embedding = v / ‖v‖                    zero for a text without a known token: similar to nothing

Without an objective nothing is trained: the pretrained weights are used as they are.

Shape letters: B texts, K tokens of a batch, H dimensions.
"""

from collections.abc import Mapping
from typing import Any

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.pooling import Pooling, unit
from twicetold.layers.transformer import Transformer
from twicetold.layers.two_tower import TwoTower


class MiniLm(TwoTower):
    """One transformer for both texts.

    Args:
        width: how many numbers of tokens there are.
        transformer: settings of `modules.transformer.Transformer`, from the featuriser.
    """

    def __init__(self, *, width: int, transformer: Mapping[str, Any]) -> None:
        super().__init__()
        self.width = width
        self.transformer = Transformer(**transformer)
        self.pool = Pooling("mean", self.transformer.size)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, H), of length 1."""
        pooled = self.pool(self.transformer(features), features.offsets)  # (K,) -> (K, H) -> (B, H)
        return Encoding(unit(pooled) * self.transformer.known(features)[:, None])
