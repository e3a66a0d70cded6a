"""MiniLM as a cross-encoder: both texts in one sequence, with attention between all their words.

Devlin et al., BERT, NAACL 2019 (arXiv:1810.04805), section 4.1: [CLS] one [SEP] other [SEP], and a linear layer on the
state of [CLS]. The cosine of the two texts' mean states is added. The linear layer is initialised to zero, so training
starts from the cosine.

    h = Transformer([CLS] one [SEP] other [SEP])
    s = a · cos(mean h of one, mean h of other) + w · h_[CLS] + b         log-odds of a duplicate

The order of the two texts depends only on the texts, so the score is symmetric. A single text has no vector: the model
scores pairs and cannot search.

Shape letters: B texts or pairs, K tokens of a batch, H dimensions.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.pooling import Pooling
from twicetold.layers.transformer import Transformer, join


class MiniLmCross(nn.Module):
    """One transformer for both texts at once.

    Args:
        width: number of token ids.
        transformer: settings of `layers.transformer.Transformer`, from the featuriser.
        scale: a at the start of training.
    """

    def __init__(self, *, width: int, transformer: Mapping[str, Any], scale: float) -> None:
        super().__init__()
        self.width = width
        self.transformer = Transformer(**transformer)
        self.pool = Pooling("mean", self.transformer.size)
        self.scale = nn.Parameter(torch.tensor(scale))
        self.head = nn.Linear(self.transformer.size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def encode(self, features: SparseRows) -> Encoding:
        """Return the tokens themselves: the network needs both texts."""
        return Encoding(features)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log-odds that each pair is a duplicate; 0 where a text has no known word."""
        one, other = left.embedding, right.embedding
        assert isinstance(one, SparseRows)
        assert isinstance(other, SparseRows)
        pairs = join(one, other, begins=self.transformer.begins, between=self.transformer.between)
        states = self.transformer(pairs.rows, second=pairs.second)  # (K,) -> (K, H)
        u, v = self.pool(states, pairs.bounds).unflatten(0, (-1, 2)).unbind(1)  # (K, H) -> (2 B, H) -> 2 (B, H)
        overview: Tensor = self.head(states.index_select(0, pairs.rows.offsets[:-1]))  # (B, H) -> (B, 1)
        known = self.transformer.known(one) & self.transformer.known(other)
        return (self.scale * cosine_similarity(u, v, dim=1) + overview.float().squeeze(1)) * known
