"""Scores of pairs of distinct texts: dot products of their vectors, or what a model says of each pair.

Shape letters: m distinct texts, C pairs, L links.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.neighbours.grouping import Floats, Ints, Links, Merges, Vectors, merge
from twicetold.neighbours.nearest import row_dots
from twicetold.neighbours.rules import Rule
from twicetold.printable import counted
from twicetold.trained.ensemble import constant
from twicetold.trained.loaded import LoadedModel

if TYPE_CHECKING:
    from twicetold.evaluation.thresholds import DedupeThresholds
    from twicetold.matching.candidates import ScoredTexts

LOG_ODDS = Decision(0.0, 1.0, 0.0)  # of scores that are log odds


@dataclass(frozen=True)
class Candidates:
    """Pairs of distinct texts that are near each other, each once.

    Args:
        left: (C,) the earlier text.
        right: (C,) the later one.
        dots: (C,) dot products of their vectors.
        unfinished: number of texts that may have more links.
        approximate: whether vectors were compared in cells, which may miss pairs.
        start: merges of dense places, which come before all others.
    """

    left: Ints
    right: Ints
    dots: NDArray[Any]
    unfinished: int
    approximate: bool
    start: Merges | None = None


def half_at(log_odds: float) -> Decision:
    """Return the decision by which a pair with these log odds has the probability one half."""
    return Decision(log_odds, 1.0, -log_odds)


@dataclass(frozen=True)
class PairsByVectors:
    """Pairs whose score is the dot product of their search vectors, up to a constant.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        decision: calibration of the score.
        constant: score minus dot product.
    """

    vectors: Vectors
    decision: Decision
    constant: float

    def least_dot(self, least: float) -> float:
        """Return the dot product of search vectors from which a score reaches `least`."""
        return least - self.constant

    def probability(self, score: Floats) -> Floats:
        """Return the probability that pairs with these scores are duplicates."""
        return sigmoid(self.decision.slope * score + self.decision.intercept)

    def score(self, left: Ints, right: Ints) -> Floats:
        """Return (C,) scores of pairs."""
        return row_dots(self.vectors[0], left, self.vectors[1], right) + self.constant

    def score_candidates(self, candidates: Candidates, progress: Callable[[str], None]) -> Floats:
        """Return (C,) scores of pairs that were found by search vectors: their dot products are there already."""
        return candidates.dots.astype(np.float64) + self.constant

    def groups(
        self,
        links: Links,
        least: float,
        rule: Rule,
        *,
        start: Merges | None = None,
    ) -> Ints:
        """Return (m,) groups by the links that reach a score.

        Args:
            links: between them.
            least: score of a link.
            rule: how links make groups.
            start: merges by dot products that come before all others.
        """
        links = links.at_least(least)
        dots = replace(links, similarity=links.similarity - self.constant)
        least_dot = self.least_dot(least)
        merges = merge(dots, rule=rule, threshold=least_dot, vectors=self.vectors, start=start)
        return merges.cut(least_dot)


@dataclass(frozen=True)
class PairsByModel:
    """Pairs that a model scores one by one.

    In average linkage, similarities are probabilities and a pair that was not scored has probability 0.

    Args:
        read: the distinct texts.
        decision: calibration of the score.
    """

    read: "ScoredTexts"
    decision: Decision
    vectors: None = None

    def least_dot(self, least: float) -> None:
        """Return None: dot products of search vectors say which pairs are scored, and no more."""

    def probability(self, score: Floats) -> Floats:
        """Return the probability that pairs with these scores are duplicates."""
        return sigmoid(self.decision.slope * score + self.decision.intercept)

    def score(self, left: Ints, right: Ints) -> Floats:
        """Return (C,) scores of pairs."""
        from twicetold.matching.candidates import scores_of  # slow to import

        return scores_of(self.read, left, right)

    def score_candidates(self, candidates: Candidates, progress: Callable[[str], None]) -> Floats:
        """Return (C,) scores of pairs that were found by search vectors."""
        progress(f"scoring {counted(len(candidates.left), 'pair')}")
        return self.score(candidates.left, candidates.right)

    def groups(self, links: Links, least: float, rule: Rule, *, start: Merges | None = None) -> Ints:
        """Return (m,) groups by the links that reach a score.

        There are no merges to start with, as dense places are known by dot products.
        """
        assert start is None
        threshold = float(self.probability(np.array([least]))[0])
        by_probability = replace(links, similarity=self.probability(links.similarity))
        return merge(by_probability, rule=rule, threshold=threshold).cut(threshold)


PairScores: TypeAlias = PairsByVectors | PairsByModel


def pairs_of(
    model: LoadedModel,
    texts: Sequence[str],
    vectors: Vectors,
    *,
    measured: "DedupeThresholds | None",
) -> PairScores:
    """Return the pairs of distinct texts.

    Args:
        model: that made the vectors.
        texts: m distinct texts.
        vectors: their search vectors.
        measured: thresholds and calibration of dot products, if the model has them.
    """
    if measured is not None:
        return PairsByVectors(vectors, measured.decision, 0.0)
    if model.trained.read(texts[:1]).score_is_dot_product:
        return PairsByVectors(vectors, model.decision, constant(model.trained))
    return PairsByModel(model.trained.read(texts), model.decision)
