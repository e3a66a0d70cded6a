"""Given pairs of texts by the matcher, as a dedupe of all these texts compares them.

Shape letters: n pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.options import DEFAULTS
from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.dedupe.prepared import Prepared
from twicetold.dedupe.thresholds import Thresholds
from twicetold.neighbours.grouping import Floats
from twicetold.trained.loaded import LoadedModel


@dataclass(frozen=True)
class ComparedPairs:
    """Answers of a dedupe of the texts of n pairs about each of them, also about those that are no links.

    Args:
        score: (n,) log odds; NaN where both texts are equal in their normal form.
        probability: (n,) that both are duplicates; 1 where they are equal.
        duplicate: (n,) whether it reaches the threshold.
        threshold: score from which it does.
        evidence: what threshold and probabilities rest on, in words.
        warnings: of the dedupe.
    """

    score: Floats
    probability: Floats
    duplicate: NDArray[np.bool_]
    threshold: float
    evidence: str
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, model: LoadedModel, left: Sequence[str], right: Sequence[str]) -> "ComparedPairs":
        """Compare pairs.

        Args:
            model: whose dedupe compares by the matcher.
            left: n texts.
            right: n texts.

        Raises:
            ValueError: if the two sides differ in length, or a text is blank.
        """
        if len(left) != len(right):
            raise ValueError(f"expected equal numbers of left and right texts, got {len(left)} and {len(right)}")
        if not left:
            nothing, thresholds = np.empty(0), Thresholds.of(model, DEFAULTS, by_matcher=True)
            return cls(nothing, nothing, nothing > 0, LOG_ODDS.threshold, thresholds.evidence, ())
        prepared = Prepared.of(model, [*left, *right], DEFAULTS, progress=lambda step: None)
        one, other = np.split(prepared.distinct.place, 2)
        equal, pairs, link = one == other, prepared.pairs, prepared.link
        score = np.full(len(equal), np.nan)
        score[~equal] = pairs.score(one[~equal], other[~equal])
        probability = np.where(equal, 1.0, pairs.probability(score))
        return cls(score, probability, equal | (score >= link.score), link.score, link.evidence, prepared.warnings)
