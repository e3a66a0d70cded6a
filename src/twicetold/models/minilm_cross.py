"""MiniLM as a cross-encoder: both texts in one sequence, every word of one is read beside every word of the other.

Devlin et al., BERT, NAACL 2019 (arXiv:1810.04805), section 4.1: [CLS] one [SEP] other [SEP], and a linear layer on the
state of [CLS]. Beside it stands the cosine of the two texts' mean states in the joint reading. The layer begins at
zero, so training starts from "how alike do they read" instead of from nothing.

    h = Transformer([CLS] one [SEP] other [SEP])
    s = a · cos(mean h of one, mean h of other) + w · h_[CLS] + b         log-odds of "says the same"

Which text comes first follows from the texts alone, so the score does not depend on which one is left. There is no
vector for a text: pairs only, no search. A classifier, where `minilm` with the same weights is a metric.

Shape letters: B texts or pairs, K tokens of a batch, H dimensions.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.joined import join
from twicetold.layers.pooling import Pooling
from twicetold.layers.transformer import Transformer


class MiniLmCross(nn.Module):
    """One transformer for both texts at once.

    Args:
        width: how many numbers of tokens there are.
        transformer: settings of `modules.transformer.Transformer`, from the featuriser.
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
        """The tokens themselves: a text is read only together with another."""
        return Encoding(features)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) log-odds that each pair says the same; 0, undecided, where a text has no known word."""
        one, other = left.embedding, right.embedding
        assert isinstance(one, SparseRows)
        assert isinstance(other, SparseRows)
        pairs = join(one, other, begins=self.transformer.begins, between=self.transformer.between)
        states = self.transformer(pairs.rows, second=pairs.second)  # (K,) -> (K, H)
        u, v = self.pool(states, pairs.bounds).unflatten(0, (-1, 2)).unbind(1)  # (K, H) -> (2 B, H) -> 2 (B, H)
        overview: Tensor = self.head(states.index_select(0, pairs.rows.offsets[:-1]))  # (B, H) -> (B, 1)
        known = self.transformer.known(one) & self.transformer.known(other)
        return (self.scale * cosine_similarity(u, v, dim=1) + overview.float().squeeze(1)) * known
