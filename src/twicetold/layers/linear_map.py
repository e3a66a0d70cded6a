"""A text's embedding is a linear map of its sparse row: y = L x.

Shape letters: B texts, D columns, E embedding dimensions.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.first_layer import product
from twicetold.layers.two_tower import TwoTower


class LinearMap(TwoTower):
    """Base of the linear families: cosine of L x and L x'. A text without a known column has a zero embedding.

    Columns are initialised as random directions, so that the similarity of two texts is about that of their columns.

    Args:
        width: D, number of columns of the features.
        hidden: E.
        init_std: standard deviation of the weights at the start; None: 1 / √E, columns of about unit length.
    """

    def __init__(self, *, width: int, hidden: int, init_std: float | None = None) -> None:
        super().__init__()
        deviation = hidden**-0.5 if init_std is None else init_std
        self.weight = nn.Parameter(torch.randn(width, hidden) * deviation)  # L transposed, (D, E)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: the weighted sum of the columns of each text."""
        return Encoding(product(features, self.weight))

    def linear_maps(self) -> tuple[Float[Tensor, "D E"], Float[Tensor, "D E"]]:
        """(D, E) contribution of each column to an embedding, the same for queries and documents."""
        return self.weight, self.weight
