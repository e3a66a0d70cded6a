"""Multi-view DSSM of a query and several kinds of items: one tower for the query, one for each view of an item.

Elkahky, Song and He, A Multi-View Deep Learning Approach for Cross Domain User Modeling in Recommendation Systems, WWW
2015, section 4. There a user is matched with apps, news and films, each kind read by a network of its own into one
space. Here a text asks as the user does, and a news article is an item in several views: its headline, who published
it, the words of its address. (`mv_dssm` is another thing: views of one text, each compared with the same view of the
other text.)

    y_q = tower_q(x_1)                          the query: the first view of a text
    y_m = tower_m(x_m)                          view m of an item, m = 1, …, M
    R(Q, D) = 1/|D| Σ_{m of D} cos(y_q, y_m)    the mean over the views that the item has
    s(l, r) = (R(l, r) + R(r, l)) / 2           either text may be the query

Training: a softmax over cos(y_q, y_m) for each view m, against the same view of other items (paper, equations 3 to 5).
The paper trains the views in turns (algorithm 1): objective `info_nce_alternating`. Without it the loss is the sum over
views, whose gradient is the sum of those of a round of turns.

A text of which nothing but the text is known is an item of one view, or of those that are made of the text alone.

Shape letters: B texts, M views, E embedding dimensions.
"""

from collections.abc import Sequence
from typing import Unpack

import torch
from torch import Tensor, nn

from twicetold.encoding import Encoding, Roles, SparseRows, unit_vectors
from twicetold.layers.hashing import HashingTower, TowerSettings, columns, view_bounds
from twicetold.layers.two_tower import DotProduct


class MultiViewItems(DotProduct):
    """A tower for queries and one for each view of an item.

    Args:
        width: number of feature columns.
        bounds: view m has the columns from `bounds[m]` to `bounds[m + 1]`; the first view is the query's as well.
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
        sizes = [*hidden, embedding]
        self.items = nn.ModuleList(HashingTower(end - start, sizes=sizes, **tower) for start, end in self.bounds)
        self.query = HashingTower(bounds[1], sizes=sizes, **tower)
        self.query.load_state_dict(self.items[0].state_dict())  # so that a headline is near to itself from the start

    def encode(self, features: SparseRows) -> Encoding:
        """Embed in both roles: (B, 2E); in training also as `Roles`, (B, M, E) each, the query once for each view."""
        views = [columns(features, *bounds) for bounds in self.bounds]
        query: Tensor = unit_vectors(self.query(views[0]))
        towers = zip(self.items, views, strict=True)
        items = torch.stack([unit_vectors(tower(view)) for tower, view in towers], dim=1)  # M (B, E) -> (B, M, E)
        present = items.any(2).sum(1, keepdim=True).clamp(min=1)  # (B, 1) views that the item has
        both = torch.cat([query, items.sum(1) / present], dim=1) / 2**0.5  # 2 (B, E) -> (B, 2E)
        return Encoding(both, Roles(query[:, None].repeat(1, len(views), 1), items) if self.training else None)
