"""What an index holds, a manifest and parts, and what it holds after a change. Nothing is written; no model is needed.

Where groups change, pairs of groups that stay apart and proposed merges are named anew.

Shape letters: N texts, M texts of all parts with those that were removed.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.index.folder import IndexManifest
from twicetold.index.groups import Proposal, strongest
from twicetold.index.ids import distinct, names_of, some
from twicetold.index.memberships import GroupChanges, Memberships, Pair, pair_of
from twicetold.index.parts import alive_of, in_groups, members_of
from twicetold.index.segments import Segment
from twicetold.index.texts import SCHEMA, Texts
from twicetold.neighbours.nearest import Matrix

MERGE_BELOW = 2  # a part with fewer texts than this many times those of the next one is merged with it


def part_of(names: Sequence[str], texts: Sequence[str], documents: Matrix, groups: NDArray[np.int64]) -> Segment:
    """A part of (N,) texts, in this order."""
    table = pa.table([pa.array(names, pa.string()), pa.array(texts, pa.string()), pa.array(groups)], schema=SCHEMA)
    return Segment(documents, Texts.of(table), np.ones(len(texts), bool), Memberships.of(groups))


@dataclass(frozen=True)
class IndexState:
    """An index at one time.

    Args:
        manifest: what is known besides the parts.
        segments: the parts.
    """

    manifest: IndexManifest
    segments: Sequence[Segment] = ()

    def __len__(self) -> int:
        return sum(segment.count for segment in self.segments)

    @property
    def ids(self) -> list[str]:
        """Ids of all texts, part by part."""
        return [i for s in self.segments for i in s.texts.column("id").filter(pa.array(s.alive)).to_pylist()]

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of each text, in the order of `ids`."""
        return members_of(self.segments).group[alive_of(self.segments)]

    def new_ids(self, texts: Sequence[str], ids: Sequence[str] | None) -> list[str]:
        """(N,) names of texts that are to be added.

        Raises:
            ValueError: if a name is there already or given twice, or the numbers of ids and texts differ.
        """
        names = names_of(texts, ids, first=self.manifest.added)
        asked = pa.array(names, pa.string())
        if found := self._known(asked):
            taken = [name for name in names if name in found]
            hint = "give the texts ids of their own" if ids is None else "remove these texts first, or leave them out"
            raise ValueError(f"the index has a text with the id {some(taken)} already: {hint}. Nothing was added")
        return names

    def in_groups(self, members: Memberships) -> "IndexState":
        """With other groups of the (M,) texts."""
        return replace(self, segments=in_groups(self.segments, members))

    def with_part(self, fresh: Segment) -> "IndexState":
        """With a further part, merged with small ones before it, as a log-structured merge tree does.

        (O'Neil et al. 1996.)
        """
        kept, merging, size = list(self.segments), [fresh], fresh.count
        while kept and kept[-1].count < MERGE_BELOW * size:
            merging.insert(0, kept.pop())
            size += merging[0].count
        return replace(self, segments=[*kept, Segment.merged(merging)])

    def _known(self, ids: pa.Array) -> set[str]:
        """Those of these ids that the index has."""
        columns = [(segment.texts.column("id"), segment.alive) for segment in self.segments]
        there = [column.filter(pc.is_in(column, value_set=ids).to_numpy() & alive) for column, alive in columns]
        return {name for names in there for name in names.to_pylist()}

    def without(self, ids: Sequence[str]) -> "IndexState":
        """Without some texts. The groups of the others stay as they are, and so do their ids.

        Raises:
            ValueError: if there is no text of an id, or an id is given twice.
            TypeError: if one id is given in place of several.
        """
        names = distinct(ids)
        wanted = pa.array(names, pa.string())
        places = [pc.index_in(s.texts.column("id"), value_set=wanted).to_numpy() for s in self.segments]
        rows = [np.flatnonzero(~np.isnan(p) & s.alive) for p, s in zip(places, self.segments, strict=True)]
        there = [p[r].astype(np.int64) for p, r in zip(places, rows, strict=True)]
        missing = np.setdiff1d(np.arange(len(wanted)), np.concatenate(there) if there else [])
        if missing.size:
            unknown = some([names[number] for number in missing.tolist()])
            raise ValueError(f"the index has no text with the id {unknown}: nothing was removed")
        parts = [s.without(r) if r.size else s for s, r in zip(self.segments, rows, strict=True)]
        shrunk = [Segment.merged([s]) if 0 < 2 * s.count < len(s) else s for s in parts]
        gone = set(names)
        kept = [each for each in self.manifest.proposals if gone.isdisjoint(each.ids)]
        left = [segment for segment in shrunk if segment.count]
        return replace(self, manifest=replace(self.manifest, proposals=kept), segments=left)

    def merged(self, one: int, other: int) -> tuple["IndexState", int]:
        """With one group of two, and its number, which is the lower of theirs. Errors: `_pair`."""
        low, high = self._pair(one, other)
        ignored = [pair for pair in self.manifest.ignored if pair != (low, high)]
        found = self.in_groups(members_of(self.segments).merged(low, high))
        found = replace(found, manifest=replace(self.manifest, ignored=ignored))
        return found.after(GroupChanges(merged=((high, low),)), self.manifest.proposals), low

    def unmerged(self, group: int) -> tuple["IndexState", int]:
        """Without the merge of a group into another one, which is given; the two stay apart.

        Raises:
            ValueError: if the group was not merged into another one.
            TypeError: if it is no whole number.
        """
        group = operator.index(group)  # of `groups` it is one of NumPy, which JSON does not know
        members, alive = members_of(self.segments), np.flatnonzero(alive_of(self.segments))
        now, into = members.at(alive).unmerged(group)
        found, pair = self.in_groups(members.with_rows(alive, now)), pair_of(group, into)
        ignored = sorted({*self.manifest.ignored, pair})
        found = replace(found, manifest=replace(self.manifest, ignored=ignored))
        return found.after(GroupChanges(split=((into, pair),)), self.manifest.proposals), into

    def apart(self, one: int, other: int) -> "IndexState":
        """With two groups kept apart. Errors: `_pair`."""
        ignored = sorted({*self.manifest.ignored, self._pair(one, other)})
        proposals = strongest(self.manifest.proposals, ignored=ignored)
        return replace(self, manifest=replace(self.manifest, ignored=ignored, proposals=proposals))

    def after(self, changes: GroupChanges, proposals: Sequence[Proposal]) -> "IndexState":
        """With groups that stay apart, and those of proposals, named as they are after changes."""
        ignored = changes.renamed(self.manifest.ignored)
        if proposals and (changes.merged or changes.split):
            groups = self._groups_of_ids([name for each in proposals for name in each.ids])
            proposals = [replace(each, groups=pair_of(*(groups[name] for name in each.ids))) for each in proposals]
        manifest = replace(self.manifest, ignored=ignored, proposals=strongest(proposals, ignored=ignored))
        return replace(self, manifest=manifest)

    def _groups_of_ids(self, ids: Sequence[str]) -> dict[str, int]:
        """The groups of texts of the index."""
        wanted, found = pa.array(ids, pa.string()), dict[str, int]()
        for segment in self.segments:
            rows = np.flatnonzero(pc.is_in(segment.texts.column("id"), value_set=wanted).to_numpy() & segment.alive)
            names = segment.texts.column("id").take(pa.array(rows)).to_pylist()
            found.update(zip(names, segment.members.group[rows].tolist(), strict=True))
        return found

    def _pair(self, one: int, other: int) -> Pair:
        """Two groups, the lower one first.

        Raises:
            ValueError: if a group has no text, or both are the same.
            TypeError: if one is no whole number.
        """
        one, other = operator.index(one), operator.index(other)
        there = self.groups
        if missing := [group for group in (one, other) if not (there == group).any()]:
            raise ValueError(f"the index has no group {missing[0]}")
        if one == other:
            raise ValueError(f"expected two groups, got {one} twice")
        return pair_of(one, other)
