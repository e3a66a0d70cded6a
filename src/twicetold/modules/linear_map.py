"""A text's embedding is a linear map of its sparse row: y = L x.

Shape letters: B texts, D columns, E embedding dimensions.
"""

import torch
from torch import nn
from torch.nn.functional import embedding_bag

from twicetold.encoding import Encoding, SparseRows
from twicetold.modules.two_tower import TwoTower


class LinearMap(TwoTower):
    """Base of the linear families: cosine of L x and L x'. A text without a known word has a zero embedding.

    Args:
        width: D, number of columns of the features.
        hidden: E.
    """

    def __init__(self, *, width: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, hidden) / hidden**0.5)  # L transposed, (D, E)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: the weighted sum of the columns that a text has."""
        embedding = embedding_bag(  # sparse (B, D) -> (B, E)
            features.indices,
            self.weight,
            features.offsets,
            mode="sum",
            per_sample_weights=features.values,
            include_last_offset=True,
        )
        return Encoding(embedding)
