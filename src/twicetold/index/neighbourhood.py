"""Groups of an index that grows, formed by the rule that built it.

New texts have links to texts of some groups. These groups, the neighbourhood, and the new texts are grouped anew by the
rule; the others stay as they are. That is what a build would do, as far as the groups of the neighbourhood have no
business with others: by the rules of `neighbours.grouping` the texts of a finished group, by themselves, form this
group again, and so do those of several. By components, texts and links that are added can but connect groups, so
nothing is compared again, unless texts are in one group that a person keeps apart, and the result is exactly that of a
build.

Pairs that a person has decided on hold as in a dedupe (`dedupe.said`). A neighbourhood has both groups of each pair
that has a text in it, so parts of a group that such pairs divide are in it together.

New texts are taken some at a time, so that a neighbourhood stays small however many there are.

Shape letters: M texts of the index with the new ones, R of a neighbourhood, P pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.blocking import search_pairs
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.pairs import PairsByModel, PairsByVectors
from twicetold.dedupe.said import Said
from twicetold.evaluation.decision import Decision
from twicetold.index.groups import connected, renewed
from twicetold.index.parts import alive_of, groups_of, rows_of, vectors_of
from twicetold.index.segments import Segment
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.grouping import Ints, Links, Vectors
from twicetold.neighbours.rules import Rule
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import search_vectors

AT_ONCE = 512  # new texts whose neighbourhood is grouped at once


@dataclass(frozen=True)
class GroupRule:
    """How the texts of an index are grouped.

    Args:
        model: that made the vectors.
        decision: score from which two texts are a link, and calibration.
        constant: score minus dot product; None if scores are no dot products.
        rule: how links make groups.
        neighbours: of each text that are compared.
    """

    model: LoadedModel
    decision: Decision
    constant: float | None
    rule: Rule
    neighbours: int

    def group(self, segments: Sequence[Segment], rows: Ints, said: Said) -> Ints:
        """(R,) groups of some texts of an index, numbered by their first texts.

        Args:
            segments: the parts.
            rows: (R,) ascending.
            said: pairs of these texts, by their positions.
        """
        distinct = DistinctTexts.of(rows_of(segments, rows)["text"].to_pylist())
        if len(said):
            distinct = distinct.apart((said.key(distinct.place),))
        floor = self.decision.threshold
        vectors = self._vectors(segments, rows[distinct.rows], distinct.texts)
        pairs: PairsByModel | PairsByVectors
        if self.constant is None:
            pairs = PairsByModel(self.model.trained.read(distinct.texts), self.decision)
        else:
            pairs = PairsByVectors(vectors, self.decision, self.constant)
        near = search_pairs(vectors, pairs.least_dot(floor), neighbours=self.neighbours, rule=self.rule)
        scores = pairs.score_near(near, lambda _: None)
        links = Links.of(len(distinct), near.left, near.right, scores)
        codes = pairs.groups(links, floor, self.rule, start=near.start)(floor)
        if len(said):
            codes = said.of_distinct(distinct.place).hold(links.at_least(floor), codes, pairs.score)[1]
        return codes[distinct.place]

    def _vectors(self, segments: Sequence[Segment], rows: Ints, texts: Sequence[str]) -> Vectors:
        """Vectors of texts as queries and as documents; the parts have the latter."""
        queries, documents = search_vectors(self.model.trained, texts[:1])
        if queries is documents:
            vectors = vectors_of(segments, rows)
            return vectors, vectors
        return search_vectors(self.model.trained, texts)


@dataclass(frozen=True)
class Decided:
    """Pairs that a person has decided on, of the texts of an index.

    Args:
        said: P pairs of the M texts.
        fresh: (P,) which of them the groups do not heed yet.
    """

    said: Said
    fresh: NDArray[np.bool_]

    @property
    def later(self) -> Ints:
        """(P,) the later text of each pair."""
        return np.maximum(self.said.left, self.said.right)

    def reach(self, reached: NDArray[np.bool_], group: Ints, stop: int) -> None:
        """Extend a mask of groups by those that pairs of earlier texts than `stop` connect them with.

        Args:
            reached: (groups + 1,) the mask; its last entry is of texts without a group.
            group: (M,) of each text.
            stop: pairs with a later text do not count.
        """
        kept = self.later < stop
        one, other = group[self.said.left[kept]], group[self.said.right[kept]]
        while True:
            some = reached[one] | reached[other]
            if (reached[one[some]] & reached[other[some]]).all():
                return
            reached[one[some]] = reached[other[some]] = True

    def within(self, rows: Ints) -> Said:
        """The pairs of these (R,) ascending texts, by their positions."""
        kept = np.isin(self.said.left, rows) & np.isin(self.said.right, rows)
        left, right = (np.searchsorted(rows, side[kept]) for side in (self.said.left, self.said.right))
        return Said(left, right, self.said.same[kept])


def grow(
    rule: GroupRule, segments: Sequence[Segment], links: Hits, decided: Decided, *, known: int, next_group: int
) -> Ints:
    """(M,) groups of all texts once those from `known` on belong to the index.

    Args:
        rule: that built the index.
        segments: the parts; texts from `known` on have no group yet.
        links: of these, as queries, with earlier ones, see `ScoredSearch.links`.
        decided: pairs that hold in the groups.
        known: number of the first new text.
        next_group: the first number that no group has had.
    """
    group, alive = groups_of(segments), alive_of(segments)
    for start, stop in _steps(known, len(group)):
        own = links.at(slice(*np.searchsorted(links.query, [start, stop])))
        reached = np.zeros(next_group + 1, bool)  # the last one is of texts without a group
        reached[group[own.row]] = True
        reached[-1] = True
        if start == stop:
            due = decided.fresh & (decided.later < known)
            reached[group[np.append(decided.said.left[due], decided.said.right[due])]] = True
        decided.reach(reached, group, stop)
        rows = np.append(np.flatnonzero(alive[:start] & reached[group[:start]]), np.arange(start, stop))
        if not len(rows):
            continue
        said = decided.within(rows)
        codes = None
        if rule.rule == "components":
            ends = [np.searchsorted(rows, side) for side in (own.row, own.query)]
            codes = _connected(group[rows], ends, said)
        if codes is None:
            codes = rule.group(segments, rows, said)
        group[rows] = renewed(codes, group[rows], next_group=next_group)
        next_group = max(next_group, int(group.max()) + 1)
    return group


def _connected(former: Ints, ends: Sequence[Ints], said: Said) -> Ints | None:
    """(R,) groups that links and pairs connect; None where that joins texts that do not say the same."""
    left, right = (np.append(end, side[said.same]) for end, side in zip(ends, (said.left, said.right), strict=True))
    codes = connected(former, left, right)
    apart = ~said.same
    return None if (codes[said.left[apart]] == codes[said.right[apart]]).any() else codes


def _steps(known: int, total: int) -> list[tuple[int, int]]:
    """First and last new texts of each step; the first one is of pairs of known texts alone."""
    return [(known, known), *((start, min(start + AT_ONCE, total)) for start in range(known, total, AT_ONCE))]
