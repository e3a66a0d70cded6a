"""Groups of texts after answers about pairs of them, and which of the groups are least certain.

A pair of near texts is as doubtful as its log odds are near to those of the cut; answers, and what follows from them,
leave no doubt. A group is as doubtful as the most doubtful pair of its texts, or of one of them and a text outside.

Shape letters: n texts, m distinct texts, C candidates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from twicetold.dedupe.constraints import Constraints
from twicetold.matching.comparison import Comparison
from twicetold.neighbours.grouping import Ints, Links
from twicetold.neighbours.rules import Rule

OUTSIDE = 2  # near texts outside of a group that are shown with it
MEMBERS = 10  # texts of a group that are shown besides the first
Pair = tuple[int, int, float]  # two distinct texts, and the probability that they are duplicates


@dataclass(frozen=True)
class AnsweredGroups:
    """Groups of distinct texts.

    Args:
        codes: (m,) group of each.
        size: number of texts of each group, equal ones included.
        doubt: (C,) distance of the log odds of each candidate from the cut; infinite where answers decide.
        comparison: of the texts, after the answers.
    """

    codes: Ints
    size: Ints
    doubt: NDArray[np.float64]
    comparison: Comparison

    @classmethod
    def of(
        cls, comparison: Comparison, known: Constraints, place: Ints, *, rule: Rule, threshold: float | None
    ) -> "AnsweredGroups":
        """Group by a comparison after answers.

        Args:
            comparison: after the answers.
            known: the answers.
            place: (n,) the distinct text of each.
            rule: how links make groups.
            threshold: minimum probability of a link; None: from which expected F1 is highest.
        """
        least = (
            comparison.best_cut(known.left, known.right, known.same) if threshold is None else float(logit(threshold))
        )
        ends, score = comparison.ends, comparison.log_odds
        links = Links.of(len(comparison), *ends, score).at_least(least)
        _, codes = known.apply(links, comparison.groups(cut=float(expit(least)), rule=rule), comparison.score)
        doubt = np.where(np.isnan(known.implied(len(comparison), *ends)), np.abs(score - least), np.inf)
        return cls(codes, np.bincount(codes[place]), doubt, comparison)

    @property
    def counts(self) -> tuple[int, int]:
        """Number of groups of two or more texts, and of texts in them."""
        larger = self.size[self.size > 1]
        return len(larger), int(larger.sum())

    def doubtful_first(self, most: int) -> list[tuple[list[Pair], list[Pair]]]:
        """Return the least certain groups: pairs of the first text with others, and of texts with some outside.

        Args:
            most: groups; fewer where others are certain.
        """
        left, right = self.comparison.ends
        one, other = self.codes[left], self.codes[right]
        distinct = np.bincount(self.codes)
        owner = np.where(distinct[other] > distinct[one], other, one)  # a near pair is shown with the larger group
        doubt = np.full(len(distinct), np.inf)
        np.minimum.at(doubt, owner, self.doubt)
        order = np.argsort(doubt, kind="stable")[:most]
        groups = order[np.isfinite(doubt[order])].tolist()
        near = np.flatnonzero((one != other) & np.isfinite(self.doubt) & np.isin(owner, groups))
        near = near[np.argsort(self.doubt[near], kind="stable")]
        return [(self._inside(group), self._pairs(near[owner[near] == group][:OUTSIDE], group)) for group in groups]

    def _inside(self, group: int) -> list[Pair]:
        """Return the first text of a group with each other one, the least probable first."""
        first, *others = np.flatnonzero(self.codes == group)[: MEMBERS + 1].tolist()
        score = self.comparison.score(np.full(len(others), first), np.array(others, np.int64))
        pairs = [(first, text, float(value)) for text, value in zip(others, expit(score), strict=True)]
        return sorted(pairs, key=lambda pair: pair[2])

    def _pairs(self, candidates: Ints, group: int) -> list[Pair]:
        """Return candidates as pairs, the text of the group first."""
        probability = expit(self.comparison.log_odds[candidates])
        ends = np.stack([side[candidates] for side in self.comparison.ends], axis=1)
        ends = np.where(self.codes[ends[:, :1]] == group, ends, ends[:, ::-1])
        return [(*pair, each) for pair, each in zip(map(tuple, ends.tolist()), probability.tolist(), strict=True)]
