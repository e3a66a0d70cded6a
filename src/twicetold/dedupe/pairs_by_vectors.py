"""Scores of pairs of distinct texts by the dot products of their vectors; it needs no model.

Shape letters: m distinct texts, C pairs, L links.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.neighbours.grouping import Floats, Ints, Links, Merges, Vectors, merge, row_dots
from twicetold.neighbours.rules import Rule

if TYPE_CHECKING:
    from twicetold.dedupe.near import NearPairs  # with it comes torch

Groups: TypeAlias = Callable[[float], Ints]


@dataclass(frozen=True)
class PairsByVectors:
    """Pairs whose score is the dot product of their search vectors, up to a constant.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        decision: calibration of the score.
        constant: score minus dot product.
        calibrated: whether there is one; else the score, a similarity, stands in the place of a probability.
    """

    vectors: Vectors
    decision: Decision
    constant: float
    calibrated: bool = True

    def least_dot(self, least: float) -> float:
        """The dot product of search vectors from which a score reaches `least`."""
        return least - self.constant

    def probability(self, score: Floats) -> Floats:
        """That pairs with these scores say the same."""
        if not self.calibrated:
            return np.clip(score, 0.0, 1.0)
        return sigmoid(self.decision.slope * score + self.decision.intercept)

    def score(self, left: Ints, right: Ints) -> Floats:
        """(C,) scores of pairs."""
        return row_dots(self.vectors[0], left, self.vectors[1], right) + self.constant

    def score_near(self, near: "NearPairs", tell: Callable[[str], None]) -> Floats:
        """(C,) scores of pairs that were found by search vectors: their dot products are there already."""
        return near.dots.astype(np.float64) + self.constant

    def groups(
        self,
        links: Links,
        least: float,
        rule: Rule,
        *,
        positions: Ints | None = None,
        start: Merges | None = None,
    ) -> Groups:
        """From a score, `least` or a higher one, to the (m,) group of each distinct text by the links from it on.

        Args:
            links: between them.
            least: score of a link.
            rule: how links make groups.
            positions: (m,) ascending, of these texts among all of a larger whole; None: they are the whole.
            start: merges by dot products that come before all others.
        """
        links = links.at_least(least)
        dots = replace(links, similarity=links.similarity - self.constant)
        least_dot = self.least_dot(least)
        merges = merge(dots, rule=rule, threshold=least_dot, vectors=self.vectors, positions=positions, start=start)
        return lambda score: merges.cut(self.least_dot(score))
