"""Multi-view DSSM: a tower with weights of its own for each view, each trained by its own softmax (`info_nce_dssm`).

Elkahky, Song and He, A Multi-View Deep Learning Approach for Cross Domain User Modeling in Recommendation Systems,
WWW 2015. There each view is another kind of item; here each is another way to look at both texts.

    y_m = tower_m(x_m)                      view m of a text
    R(Q, D) = 1/M Σ_m cos(y_m of Q, y_m of D)

Shape letters: B texts, M views, E embedding dimensions of each.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from twicetold.encoding import Encoding, Roles, SparseRows
from twicetold.layers.hashing import Activation, HashingTower, columns
from twicetold.layers.two_tower import TwoTower, dense


class MultiViewDssm(TwoTower):
    """As many towers as views.

    Args:
        width: number of feature columns.
        bounds: view m has the columns from `bounds[m]` to `bounds[m + 1]`.
        hidden: units of the hidden layers of each tower.
        embedding: E.
        activation: after each layer.
        batch_norm: normalise over the batch before each activation.
        dropout: share of hidden units that a training step leaves out.
        input_dropout: share of stored entries that a training step leaves out.

    Raises:
        ValueError: if the bounds do not cover the columns.
    """

    def __init__(
        self,
        *,
        width: int,
        bounds: Sequence[int],
        hidden: Sequence[int],
        embedding: int,
        activation: Activation,
        batch_norm: bool,
        dropout: float,
        input_dropout: float,
    ) -> None:
        super().__init__()
        if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != width:
            raise ValueError(f"expected bounds of views from 0 to {width}, the number of columns, got {list(bounds)}")
        self.bounds = tuple(pairwise(bounds))
        self.towers = nn.ModuleList(
            HashingTower(
                end - start,
                sizes=[*hidden, embedding],
                activation=activation,
                batch_norm=batch_norm,
                dropout=dropout,
                input_dropout=input_dropout,
            )
            for start, end in self.bounds
        )

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, M·E), unit vectors of all views side by side; in training also as `Roles`."""
        towers = zip(self.towers, self.bounds, strict=True)
        views = torch.stack([tower(columns(features, *bounds)) for tower, bounds in towers], dim=1)  # M (B, E) -> B M E
        embedding = normalize(views, dim=2).flatten(1) / len(self.bounds) ** 0.5  # (B, M, E) -> (B, M·E)
        return Encoding(embedding, Roles(views, views) if self.training else None)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) mean over views of the cosine; a view that a text lacks counts as 0."""
        return (dense(left) * dense(right)).sum(1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Vectors whose dot products are the scores."""
        embedding = dense(encoding)
        return embedding, embedding
