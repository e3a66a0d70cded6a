"""Texts of one topic: pairs by similarity from a threshold that the file itself shows, around the groups of `same`.

1. Almost all pairs of a file are unrelated, so the median and the 90th percentile of the similarities of all pairs are
   theirs. With x = (s - median) / (90th percentile - median), the share of unrelated pairs of at least similarity s is

       P(x) = 10^(-x^b)

2. More pairs than that are of one topic. With F unrelated and T other pairs for each text, the threshold is the lowest
   similarity with F <= a T². Average linkage takes the mean over all pairs of two groups, so the larger groups are, the
   more unrelated pairs among the links they bear.

It is an empirical null, as in Efron 2004 ("Large-scale simultaneous hypothesis testing", JASA 99).

Shape letters: m distinct texts, R sampled ones, C pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twicetold.dedupe.link_threshold import LinkThreshold
from twicetold.dedupe.pairs import PairsByVectors
from twicetold.evaluation.decision import Decision
from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Floats, Ints, Links, Merges, Vectors
from twicetold.neighbours.nearest import similarities
from twicetold.neighbours.sparse_join import has_dense_columns
from twicetold.trained.fitted import lowest_hashes

if TYPE_CHECKING:
    from twicetold.matching.comparison import Comparison

TERMS, BOTH, DENSE = 0.66, 0.7, 0.9  # b of letters and words, of these with vectors, and of vectors alone
UNRELATED = 0.05  # a
LEAST, HIGHEST, STEP = 1.5, 0.9, 0.01  # x of the lowest candidate, similarity of the highest one, and between two
FEWEST_TEXTS, FEWEST_PAIRS = 50, 20  # of which a threshold can be seen
NEAR_COPIES = 0.6  # where none shows
SMALL = 0.02  # probability at the 90th percentile
SAMPLED, HELD = 1000, 16_000_000  # texts that are compared with all, and similarities that are held (64 MB)


@dataclass(frozen=True)
class PairsOfTopics(PairsByVectors):
    """Pairs whose probability is that of their similarity, or that of being the same where this is higher.

    Args:
        same: the texts, compared by the matcher of the sense `same`.
        shown: whether the similarities show a threshold.
    """

    same: "Comparison"
    shown: bool

    @classmethod
    def of(cls, vectors: Vectors, texts: Sequence[str], same: "Comparison") -> "PairsOfTopics":
        """Pairs of m distinct texts, with a threshold that their similarities show, or that of near copies."""
        decision, shown = guessed(vectors, texts)
        return cls(vectors, decision, 0.0, same, shown)

    def score(self, left: Ints, right: Ints) -> Floats:
        """Return (C,) scores of pairs."""
        return np.maximum(super().score(left, right), self.as_similarity(self.same.score(left, right)))

    def around_same(self, link: LinkThreshold, scored: Links, start: Merges | None) -> tuple[Links, Merges | None]:
        """Return pairs and first merges that join the groups of the same further.

        Args:
            link: whose probability and rule make these groups.
            scored: pairs by similarity.
            start: merges of dense places.
        """
        first = Merges.of(self.same.groups(cut=link.probability, rule=link.rule))
        if start is not None:
            pairs = np.append(first.left, start.left), np.append(first.right, start.right)
            first = Merges.of(components(scored.count, *pairs))
        left, right = self.same.ends
        sides = np.append(scored.left, left), np.append(scored.right, right)
        similarity = np.append(scored.similarity, self.as_similarity(self.same.log_odds))
        return Links.of(scored.count, *sides, similarity), first

    def as_similarity(self, log_odds: Floats) -> Floats:
        """Return (C,) similarities that have the probability of these log odds."""
        return (log_odds - self.decision.intercept) / self.decision.slope


def guessed(vectors: Vectors, texts: Sequence[str]) -> tuple[Decision, bool]:
    """Threshold of the similarities of m distinct texts for groups by average linkage, and a calibration to match.

    The second is whether they show one.
    """
    rows = lowest_hashes(texts, min(len(texts), SAMPLED, 1 + HELD // len(texts)))
    similarity = np.maximum(similarities(vectors[0][rows], vectors[1])(slice(None)), 0)
    similarity[np.arange(len(rows)), rows] = np.nan
    known = np.sort(similarity[~np.isnan(similarity)], axis=None)
    if len(texts) < FEWEST_TEXTS:
        return _calibrated(NEAR_COPIES, 0.0), False
    median, upper = map(float, np.quantile(known, [0.5, 0.9]))
    spread = max(upper - median, STEP)
    tried = np.arange(median + LEAST * spread, HIGHEST, STEP)
    above = (len(known) - np.searchsorted(known, tried)) / len(rows)
    exponent = DENSE if isinstance(vectors[0], np.ndarray) else BOTH if has_dense_columns(vectors[0]) else TERMS
    unrelated = 10.0 ** -(((tried - median) / spread) ** exponent) * (len(texts) - 1)
    few = unrelated <= UNRELATED * np.maximum(above - unrelated, 0) ** 2
    good = tried[few & (above * len(rows) >= FEWEST_PAIRS)]
    return _calibrated(float(good[0]) if len(good) else max(NEAR_COPIES, upper), upper), len(good) > 0


def _calibrated(threshold: float, upper: float) -> Decision:
    slope = float(np.log(1 / SMALL - 1)) / max(threshold - upper, STEP)
    return Decision(threshold, slope, -slope * threshold)
