"""Views of one text: a separate tower for each view, each trained with its own softmax (`info_nce_dssm`).

After Elkahky, Song and He, A Multi-View Deep Learning Approach for Cross Domain User Modeling in Recommendation
Systems, WWW 2015. There each view is a kind of item, matched with one view of a user: `mv_dssm_items`. Here each is a
set of features of both texts, compared with the same view of the other text.

    y_m = tower_m(x_m)                      view m of a text
    R(Q, D) = 1/M Σ_m cos(y_m of Q, y_m of D)

Shape letters: B texts, M views, E embedding dimensions of each.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from twicetold.encoding import Encoding, Roles, SparseRows
from twicetold.layers.hashing import HashingTower, TowerSettings, columns
from twicetold.layers.two_tower import TwoTower, dense


class MultiViewDssm(TwoTower):
    """One tower for each view.

    Args:
        width: number of feature columns.
        bounds: view m has the columns from `bounds[m]` to `bounds[m + 1]`.
        hidden: units of the hidden layers of each tower.
        embedding: E.
        tower: settings of each tower, see `TowerSettings`.

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
        **tower: Unpack[TowerSettings],
    ) -> None:
        super().__init__()
        if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != width:
            raise ValueError(f"expected bounds of views from 0 to {width}, the number of columns, got {list(bounds)}")
        self.bounds = tuple(pairwise(bounds))
        self.towers = nn.ModuleList(
            HashingTower(end - start, sizes=[*hidden, embedding], **tower) for start, end in self.bounds
        )

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, M·E), unit vectors of all views side by side; in training also as `Roles`."""
        towers = zip(self.towers, self.bounds, strict=True)
        views = torch.stack([tower(columns(features, *bounds)) for tower, bounds in towers], dim=1)  # M (B, E) -> B M E
        embedding = normalize(views, dim=2).flatten(1) / len(self.bounds) ** 0.5  # (B, M, E) -> (B, M·E)
        return Encoding(embedding, Roles(views, views) if self.training else None)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) mean over views of the cosine; a view that is empty in a text counts as 0."""
        return (dense(left) * dense(right)).sum(1)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Vectors whose dot products are the scores."""
        embedding = dense(encoding)
        return embedding, embedding
