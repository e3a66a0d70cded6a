"""Groups of an index that grows, formed by the rule that built it.

New texts have links to texts of some groups. These groups, the neighbourhood, and the new texts are grouped anew by the
rule; the others stay as they are. That is what a build would do, as far as the groups of the neighbourhood have no
business with others: by the rules of `neighbours.grouping` the texts of a finished group, by themselves, form this
group again, and so do those of several. By components, texts and links that are added can but connect groups, so
nothing is compared again and the result is exactly that of a build.

New texts are taken some at a time, so that a neighbourhood stays small however many there are.

Shape letters: M texts of the index with the new ones, R of a neighbourhood.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from twicetold.dedupe.dense_places import search_pairs
from twicetold.dedupe.distinct import first_of, folded
from twicetold.dedupe.pairs import PairsByModel
from twicetold.dedupe.pairs_by_vectors import PairsByVectors
from twicetold.evaluation.decision import Decision
from twicetold.index.groups import EQUAL, Merges, Settled, TextLinks, codes_by_links, settle
from twicetold.index.memberships import NO_GROUP, GroupChanges, Memberships, Pair
from twicetold.index.parts import alive_of, count_of, members_of, rows_of, vectors_of
from twicetold.index.segments import Segment
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

    def group(self, segments: Sequence[Segment], rows: Ints) -> tuple[Ints, TextLinks]:
        """(R,) groups of some texts of an index, numbered by their first texts, and the links between positions.

        Args:
            segments: the parts.
            rows: (R,) ascending.
        """
        texts = rows_of(segments, rows)["text"].cast(pa.large_string())
        first = first_of(folded(texts.combine_chunks()))
        distinct, place = np.unique(first, return_inverse=True)
        floor = self.decision.threshold
        vectors = self._vectors(segments, rows[distinct], texts.take(pa.array(distinct)))
        pairs: PairsByModel | PairsByVectors
        if self.constant is None:
            pairs = PairsByModel(self.model.trained.read(texts.take(pa.array(distinct)).to_pylist()), self.decision)
        else:
            pairs = PairsByVectors(vectors, self.decision, self.constant)
        near = search_pairs(vectors, pairs.least_dot(floor), neighbours=self.neighbours, rule=self.rule)
        scores = pairs.score_near(near, lambda _: None)
        every = Links.of(len(distinct), near.left, near.right, scores)
        links, codes = every.at_least(floor), pairs.groups(every, floor, self.rule, start=near.start)(floor)
        again = np.flatnonzero(first != np.arange(len(first)))
        found = TextLinks(
            np.append(distinct[links.left], first[again]),
            np.append(distinct[links.right], again),
            np.append(links.similarity, np.full(len(again), EQUAL)),
        )
        return codes[place], found

    def _vectors(self, segments: Sequence[Segment], rows: Ints, texts: pa.ChunkedArray) -> Vectors:
        """Vectors of texts as queries and as documents; the parts have the latter."""
        queries, documents = search_vectors(self.model.trained, texts[:1].to_pylist())
        if queries is documents:
            vectors = vectors_of(segments, rows)
            return vectors, vectors
        return search_vectors(self.model.trained, texts.to_pylist())


@dataclass(frozen=True)
class Regrouped:
    """What became of groups.

    Args:
        members: (M,) of all texts.
        proposed: links between groups whose merge is proposed; texts are numbered through.
        next_group: the first number that no group has had.
    """

    members: Memberships
    proposed: TextLinks
    next_group: int


def grow(
    rule: GroupRule,
    segments: Sequence[Segment],
    links: TextLinks,
    *,
    merges: Merges,
    ignored: Sequence[Pair],
    next_group: int,
) -> Regrouped:
    """Groups of all texts once those of the last part belong to the index.

    Args:
        rule: that built the index.
        segments: the parts; texts of the last one have no group yet.
        links: of these with earlier ones, see `ScoredSearch.links`.
        merges: of groups that were there: make them, or propose them.
        ignored: pairs of groups that stay apart.
        next_group: the first number that no group has had.
    """
    found = Regrouped(members_of(segments), _NO_LINKS, next_group)
    alive, total = alive_of(segments), count_of(segments)
    for start in range(count_of(segments[:-1]), total, AT_ONCE):
        stop = min(start + AT_ONCE, total)
        own = links.at(slice(*np.searchsorted(links.right, [start, stop])))
        former = found.members.group
        reached = np.zeros(found.next_group + 1, bool)
        reached[former[own.left]] = True
        reached[NO_GROUP] = False  # the last one
        rows = np.append(np.flatnonzero(alive[:start] & reached[former[:start]]), np.arange(start, stop))
        if rule.rule == "components":
            near = TextLinks(np.searchsorted(rows, own.left), np.searchsorted(rows, own.right), own.score)
            codes = codes_by_links(former[rows], near)
        else:
            codes, near = rule.group(segments, rows)
        found = _settled(found, rows, codes, near, merges=merges, ignored=ignored)
        known = rows[former[rows] != NO_GROUP]
        ignored = GroupChanges.between(former[known], found.members.group[known]).renamed(ignored)
    return found


def regroup(rule: GroupRule, segments: Sequence[Segment], *, ignored: Sequence[Pair], next_group: int) -> Regrouped:
    """All groups anew; arguments as in `grow`, but that all texts have a group."""
    found = Regrouped(members_of(segments), _NO_LINKS, next_group)
    rows = np.flatnonzero(alive_of(segments))
    if not len(rows):
        return found
    codes, near = rule.group(segments, rows)
    return _settled(found, rows, codes, near, merges="make", ignored=ignored)


def _settled(
    found: Regrouped, rows: Ints, codes: Ints, near: TextLinks, *, merges: Merges, ignored: Sequence[Pair]
) -> Regrouped:
    former = found.members.at(rows)
    settled: Settled = settle(codes, former, near, merges=merges, ignored=ignored, next_group=found.next_group)
    now, more = settled.members.group, settled.proposed
    proposed = TextLinks(
        np.append(found.proposed.left, rows[more.left]),
        np.append(found.proposed.right, rows[more.right]),
        np.append(found.proposed.score, more.score),
    )
    members = found.members.with_rows(rows, settled.members)
    return Regrouped(members, proposed, max(found.next_group, int(now.max()) + 1))


_NO_LINKS = TextLinks(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
