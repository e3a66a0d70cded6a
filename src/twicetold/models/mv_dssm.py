"""Views of one text: a separate tower for each view, each trained with its own softmax (`info_nce_dssm`).

After Elkahky, Song and He, A Multi-View Deep Learning Approach for Cross Domain User Modeling in Recommendation
Systems, WWW 2015. There each view is a kind of item, matched with one view of a user: `mv_dssm_items`. Here each is a
set of features of both texts, compared with the same view of the other text.

    y_m = tower_m(x_m)                      view m of a text
    R(Q, D) = 1/M Σ_m cos(y_m of Q, y_m of D)

Shape letters: B texts, M views, E embedding dimensions of each.
"""

from collections.abc import Sequence
from typing import Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from twicetold.encoding import Encoding, Roles, SparseRows
from twicetold.layers.hashing import HashingTower, TowerSettings, columns, view_bounds
from twicetold.layers.two_tower import DotProduct, dense


class MultiViewDssm(DotProduct):
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
        self.bounds = view_bounds(bounds, width)
        self.towers = nn.ModuleList(
            HashingTower(end - start, sizes=[*hidden, embedding], **tower) for start, end in self.bounds
        )

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, M·E), unit vectors of all views side by side; in training also as `Roles`."""
        towers = zip(self.towers, self.bounds, strict=True)
        views = torch.stack([tower(columns(features, *bounds)) for tower, bounds in towers], dim=1)  # M (B, E) -> B M E
        embedding = normalize(views, dim=2).flatten(1) / len(self.bounds) ** 0.5  # (B, M, E) -> (B, M·E)
        return Encoding(embedding, Roles(views, views) if self.training else None)

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Return the embeddings: dot products are means over views of cosines; an empty view of a text counts as 0."""
        embedding = dense(encoding)
        return embedding, embedding
