"""Groups of an index that grows, formed by the rule that built it.

By the matcher all texts are compared anew (`regrouped`). By similarity a neighbourhood is (`grow`):

New texts have links to texts of some groups. These groups, the neighbourhood, and the new texts are grouped anew by the
rule; the others stay as they are. That is what a build would do, as far as the groups of the neighbourhood have no
business with others: by the rules of `neighbours.grouping` the texts of a finished group, by themselves, form this
group again, and so do those of several. By components, texts and links that are added can but connect groups, so
nothing is compared again, and the result is exactly that of a build.

New texts are taken some at a time, so that a neighbourhood stays small however many there are. A new group takes the
number of the former one that most of its texts come from.

Shape letters: M texts of the index with the new ones, R of a neighbourhood, m of the groups that are formed anew, L
links.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from twicetold.dedupe.blocking import search_pairs
from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.link_threshold import LinkThreshold
from twicetold.dedupe.options import DedupeOptions
from twicetold.dedupe.pairs import PairsByVectors, half_at
from twicetold.evaluation.decision import Decision
from twicetold.index.folder import IndexManifest
from twicetold.index.segments import REMOVED, Segment
from twicetold.index.state import groups_of, rows_of, vectors_of
from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.grouping import Ints, Links
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors

NO_GROUP = -1  # of a text that is being added
AT_ONCE = 512  # new texts whose neighbourhood is grouped at once


@dataclass(frozen=True)
class GroupChanges:
    """Groups of an index that have changed; a group that is not named has all the texts that it had.

    Args:
        merged: groups that are part of another one now, each with that one; sorted.
        split: groups whose texts are in several groups now, each with these; sorted.
        moved: number of texts that are in a group of another number than before.
    """

    merged: tuple[tuple[int, int], ...] = ()
    split: tuple[tuple[int, tuple[int, ...]], ...] = ()
    moved: int = 0

    @classmethod
    def between(cls, before: Ints, after: Ints) -> "GroupChanges":
        """Build from the (n,) groups of texts before and after."""
        moved = before != after
        touched = np.isin(before, np.unique(before[moved]))
        pairs = np.unique(np.stack([before, after], axis=1)[touched], axis=0)
        starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        parts = [tuple(part.tolist()) for part in np.split(pairs[:, 1], starts[1:])]
        now = list(zip(pairs[starts, 0].tolist(), parts, strict=False))
        return cls(
            merged=tuple((group, into[0]) for group, into in now if len(into) == 1),
            split=tuple((group, into) for group, into in now if len(into) > 1),
            moved=int(moved.sum()),
        )


@dataclass(frozen=True)
class Grouping:
    """The rule by which the texts of an index are grouped.

    Args:
        model: that made the vectors.
        manifest: of the index: threshold, calibration, rule and neighbours.
        constant: score minus dot product.
    """

    model: LoadedModel
    manifest: IndexManifest
    constant: float

    def group(self, segments: Sequence[Segment], rows: Ints) -> Ints:
        """Return (R,) groups of some texts of an index, numbered by their first texts.

        Args:
            segments: the parts.
            rows: (R,) ascending.
        """
        distinct = DistinctTexts.of(rows_of(segments, rows)["text"].to_pylist())
        decision, rule = self.manifest.decision, self.manifest.rule
        floor = decision.threshold
        vectors = search_vectors(self.model.trained, distinct.texts[:1])
        if vectors[0] is vectors[1]:  # the parts have them
            vectors = (vectors_of(segments, rows[distinct.rows]),) * 2
        else:
            vectors = search_vectors(self.model.trained, distinct.texts)
        pairs = PairsByVectors(vectors, decision, self.constant)
        candidates = search_pairs(vectors, pairs.least_dot(floor), neighbours=self.manifest.neighbours, rule=rule)
        scores = pairs.score_candidates(candidates, lambda _: None)
        links = Links.of(len(distinct), candidates.left, candidates.right, scores)
        codes = pairs.groups(links, floor, rule, start=candidates.start)
        return codes[distinct.place]


def grow(grouping: Grouping, segments: Sequence[Segment], links: Hits, *, known: int) -> Ints:
    """Return (M,) groups of all texts once those from `known` on belong to the index.

    Args:
        grouping: of the index.
        segments: the parts; texts from `known` on have no group yet.
        links: of these, as queries, with earlier ones, see `search.links`.
        known: number of the first new text.
    """
    group, next_group = groups_of(segments), grouping.manifest.next_group
    alive = group != REMOVED
    for start in range(known, len(group), AT_ONCE):
        stop = min(start + AT_ONCE, len(group))
        own = links.at(slice(*np.searchsorted(links.query, [start, stop])))
        reached = np.zeros(next_group + 1, bool)  # the last one is of texts without a group
        reached[group[own.row]] = True
        rows = np.append(np.flatnonzero(alive[:start] & reached[group[:start]]), np.arange(start, stop))
        if grouping.manifest.rule == "components":
            codes = connected(group[rows], *(np.searchsorted(rows, side) for side in (own.row, own.query)))
        else:
            codes = grouping.group(segments, rows)
        group[rows] = renewed(codes, group[rows], next_group=next_group)
        next_group = max(next_group, int(group.max()) + 1)
    return group


def regrouped(model: LoadedModel, manifest: IndexManifest, segments: Sequence[Segment]) -> tuple[Ints, Decision]:
    """Compare all texts anew: (M,) groups of a build, with former numbers where `renewed` keeps them, and the decision.

    Frequencies of words, and how a pair stands among the candidates of its texts, are of the whole of an index, so
    the matcher says nothing of a neighbourhood by itself.

    Args:
        model: that the index was built with.
        manifest: of the index.
        segments: the parts; new texts have `NO_GROUP`.
    """
    group, decision = groups_of(segments), manifest.decision
    alive = np.flatnonzero(group != REMOVED)
    options = DedupeOptions(threshold=float(decision.probability([decision.threshold])[0]), rule=manifest.rule)
    found = dedupe(model, rows_of(segments, alive)["text"].to_pylist(), options)
    group[alive] = renewed(found.group, group[alive], next_group=manifest.next_group)
    return group, decided(found.summary.threshold, decision)


def decided(threshold: LinkThreshold, decision: Decision) -> Decision:
    """Return a decision with a threshold; without labels the texts themselves show which log odds are one half."""
    score = float(threshold.score)
    if threshold.calibrated:
        return replace(decision, threshold=score)
    return replace(half_at(score - float(logit(threshold.probability))), threshold=score)


def renewed(codes: Ints, former: Ints, *, next_group: int) -> Ints:
    """Return (m,) number of each text's group.

    A group has the number of the former one that most of its texts come from, of equal ones the lowest. Where several
    would have the same, it is that of the one with most texts from there, of equal ones the first. The others have new
    numbers, by their first texts.

    Args:
        codes: (m,) groups, in any numbers.
        former: (m,) former numbers; `NO_GROUP` of texts that had none.
        next_group: the first new number.
    """
    codes = numbered(codes)
    there = former != NO_GROUP
    pairs, count = np.unique(np.stack([codes[there], former[there]], axis=1), axis=0, return_counts=True)
    favourite = np.lexsort((pairs[:, 1], -count, pairs[:, 0]))
    favourite = favourite[_firsts(pairs[favourite, 0])]
    taken = favourite[np.lexsort((pairs[favourite, 0], -count[favourite], pairs[favourite, 1]))]
    taken = taken[_firsts(pairs[taken, 1])]
    numbers = np.full(codes.max(initial=-1) + 1, NO_GROUP)
    numbers[pairs[taken, 0]] = pairs[taken, 1]
    free = np.flatnonzero(numbers == NO_GROUP)
    numbers[free] = next_group + np.arange(len(free))
    return numbers[codes]


def connected(former: Ints, left: Ints, right: Ints) -> Ints:
    """Return (m,) connected components, where the texts of a former group are connected and links connect further ones.

    Args:
        former: (m,) former groups; `NO_GROUP` of texts that had none.
        left: (L,) one text of each link.
        right: (L,) the other one.
    """
    there = former != NO_GROUP
    groups, place = np.unique(former[there], return_inverse=True)
    node = np.empty(len(former), np.int64)
    node[there] = place
    node[~there] = len(groups) + np.arange(np.count_nonzero(~there))
    codes = components(len(groups) + int(np.count_nonzero(~there)), node[left], node[right])
    return numbered(codes[node])


def _firsts(values: Ints) -> NDArray[np.bool_]:
    """Return the first of each run of equal values."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]
