"""Shared by the strategies that draw triplets by group: anchors, positives, and fallback negatives.

Shape letters: A anchors, K triplets of an anchor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.groups import Groups, Positions, train_groups
from twicetold_lab.mining.triplets import Triplets, collect


@dataclass(frozen=True)
class Draws:
    """Draws from the groups of the train texts; a strategy replaces the negatives by better ones."""

    groups: Groups
    anchors: Positions
    """(A,) texts whose group has a second one."""
    positives: Positions
    """(A, K) others of the anchor's group."""
    others: Positions
    """(A, K) members of other groups."""
    rng: np.random.Generator
    """Goes on where these draws ended."""

    def triplets(
        self,
        corpus: Corpus,
        *,
        negatives: Positions,
        drawn: NDArray[np.bool_],
        kind: str,
        negative_grade: float,
        card: Mapping[str, Any],
    ) -> Triplets:
        """Return triplets with the negatives of a strategy, and members of other groups where it has none.

        Args:
            corpus: that the groups are of.
            negatives: (A, K), ignored where the strategy has none.
            drawn: (A, K) whether the strategy has one.
            kind: name of these negatives on the card.
            negative_grade: of graded pairs, those above this grade are no negatives.
            card: the strategy's own entries.

        Raises:
            ValueError: if no triplet is possible.
        """
        return collect(
            corpus,
            anchor=self.groups.texts[np.repeat(self.anchors, self.positives.shape[1])],
            positive=self.groups.texts[self.positives.ravel()],
            negative=self.groups.texts[np.where(drawn, negatives, self.others).ravel()],
            kind=(~drawn).ravel().astype(np.int64),
            kinds=(kind, "other_group"),
            negative_grade=negative_grade,
            card={
                **card,
                "per_anchor": self.positives.shape[1],
                "texts": len(self.groups),
                "anchors_without_positive": len(self.groups) - len(self.anchors),
            },
        )


def draw(corpus: Corpus, *, label: str, per_anchor: int, seed: int) -> Draws:
    """Draw positives of each anchor's group, and members of other groups.

    Raises:
        ValueError: if the corpus has no such group, `per_anchor` is not positive, or no triplet is possible.
    """
    groups = train_groups(corpus, label=label, per_anchor=per_anchor)
    rng = np.random.default_rng(seed)
    anchors = groups.with_positive()
    positives = groups.draw_positives(anchors, per_anchor=per_anchor, rng=rng)
    others = groups.draw_others(np.repeat(anchors, per_anchor), rng).reshape(positives.shape)
    return Draws(groups, anchors, positives, others, rng)
