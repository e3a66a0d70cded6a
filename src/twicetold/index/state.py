"""What an index holds, a manifest and parts, and what it holds after a change. Nothing is written; no model is needed.

Where groups change, pairs of groups that stay apart and proposed merges are named anew.

Shape letters: N texts, M texts of all parts with those that were removed, C cells, D columns.
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from twicetold.index.centres import Centres, TextSample
from twicetold.index.folder import IndexManifest
from twicetold.index.groups import Proposal, strongest
from twicetold.index.ids import distinct, names_of, some
from twicetold.index.memberships import GroupChanges, Memberships, Pair, pair_of
from twicetold.index.parts import alive_of, in_groups, members_of, vectors_of
from twicetold.index.probing import NPROBE
from twicetold.index.recall import measured
from twicetold.index.segments import Segment
from twicetold.index.texts import SCHEMA, Texts
from twicetold.neighbours.cells import cells_for
from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import TextsLike

CELLS_FROM = 100_000  # dense texts of an index: below, the exact search takes milliseconds
FEWER_CELLS = 2  # times as many cells as there are would fit the texts: centres are chosen anew
LARGER = 1.5  # times as many texts as when recall was measured: it is measured again
MERGE_BELOW = 2  # a part with fewer texts than this many times those of the next one is merged with it

NAME = re.compile(r"[\w.][\w. -]{0,99}")  # of an attached part


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
        centres: of the cells of a large dense index.
    """

    manifest: IndexManifest
    segments: Sequence[Segment] = ()
    centres: Centres | None = None

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

    def new_ids(self, texts: Sequence[str], ids: TextsLike | None) -> list[str]:
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

        (O'Neil et al. 1996.) Parts that were attached stay as they are.
        """
        kept, merging, size = list(self.segments), [fresh], fresh.count
        while kept and kept[-1].source is None and kept[-1].count < MERGE_BELOW * size:
            merging.insert(0, kept.pop())
            size += merging[0].count
        return replace(self, segments=[*kept, Segment.merged(merging, self.centres)])._in_cells()

    def attached(self, other: "IndexState", source: str) -> "IndexState":
        """With the texts of another index as a part; each has a group of its own, as in both indexes.

        Args:
            other: made by the same model.
            source: name of the part.

        Raises:
            ValueError: if an index has groups, or the other one merges by hand; the name is none or taken, or a text
                has the id of one that is there.
        """
        if self.manifest.groups or other.manifest.groups:
            raise ValueError("expected indexes without groups: build both with --no-groups")
        if not NAME.fullmatch(source):
            raise ValueError(f"expected 1 to 100 letters, digits, points, dashes or spaces as a name, got {source!r}")
        if source in self.sources:
            raise ValueError(f"the index has a part {source!r} already: detach it first, or give this one another name")
        if not other.segments:
            raise ValueError(f"expected texts in the part {source!r}, there are none")
        if len(np.unique(other.groups)) < len(other):
            raise ValueError(
                f"expected a group for each text of the part {source!r}, got merges by hand, which would be lost: undo "
                "them with `twicetold index unmerge`, and merge the groups of the index that it is attached to"
            )
        if found := self._known(pa.chunked_array([pa.array(other.ids, pa.string())]).combine_chunks()):
            raise ValueError(
                f"the index has a text with the id {some(sorted(found))} already: build parts with ids that are "
                "distinct in all of them (--id). Nothing was attached"
            )
        centres = self.centres if self.segments or self.centres is not None else other.centres
        one, another = (np.empty(0) if each is None else each.vectors for each in (centres, other.centres))
        whole = other.segments[0]
        if len(other.segments) > 1 or not np.array_equal(one, another) or not whole.alive.all():
            whole = Segment.merged(other.segments, centres)
        part = whole.numbered_from(self.manifest.next_group).changed(source=source)
        manifest = replace(
            self.manifest,
            added=self.manifest.added + other.manifest.added,
            next_group=self.manifest.next_group + len(part),
        )
        return replace(self, manifest=manifest, segments=[*self.segments, part], centres=centres)._in_cells()

    def detached(self, source: str) -> "IndexState":
        """Without a part that was attached.

        Raises:
            ValueError: if there is no such part.
        """
        if source not in self.sources:
            there = ", ".join(map(repr, self.sources)) or "none"
            raise ValueError(f"the index has no part {source!r}; attached are: {there}")
        return replace(self, segments=[segment for segment in self.segments if segment.source != source])

    @property
    def nprobe(self) -> int:
        """Cells that a query visits, unless it says how many."""
        return NPROBE if self.manifest.recall is None else self.manifest.recall.nprobe

    @property
    def sources(self) -> list[str]:
        """Names of the parts that were attached."""
        return [segment.source for segment in self.segments if segment.source is not None]

    def _in_cells(self) -> "IndexState":
        """With cells if there are many dense texts, and their recall if there are many more than before.

        Centres are chosen once, and anew only if the index is one part and too large for them.
        """
        state, total = self, len(self)
        if not self.segments or sparse.issparse(self.segments[0].vectors):
            return self
        first = self.centres is None and total >= CELLS_FROM
        fit = self.centres is None or cells_for(total) <= FEWER_CELLS * len(self.centres)
        if first or (not fit and len(self.segments) == 1 and self.segments[0].source is None):
            centres = self._chosen()
            parts = [Segment.merged([segment], centres) for segment in self.segments]
            manifest = replace(self.manifest, centres=None, recall=None)
            state = replace(self, segments=parts, centres=centres, manifest=manifest)
        known = state.manifest.recall
        if state.centres is None or (known is not None and total < LARGER * known.texts):
            return state
        return replace(state, manifest=replace(state.manifest, recall=measured(state.segments, state.centres)))

    def _chosen(self) -> Centres:
        """Centres of cells for these texts."""
        sample, alive = TextSample(), np.flatnonzero(alive_of(self.segments))
        for segment in self.segments:
            sample.add(segment.texts.column("text").filter(pa.array(segment.alive)).to_pylist())
        rows = alive[sample.lowest()[0]]
        order = np.argsort(rows)
        vectors = np.asarray(vectors_of(self.segments, rows[order]))[np.argsort(order)]
        return Centres.of(vectors, len(alive))

    def _centres_of(self, segment: Segment) -> Centres | None:
        return None if segment.cells is None else self.centres

    def _known(self, ids: pa.Array) -> set[str]:
        """Those of these ids that the index has."""
        columns = [(segment.texts.column("id"), segment.alive) for segment in self.segments]
        there = [column.filter(pc.is_in(column, value_set=ids).to_numpy() & alive) for column, alive in columns]
        return {name for names in there for name in names.to_pylist()}

    def without(self, ids: TextsLike) -> "IndexState":
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
        shrunk = [Segment.merged([s], self._centres_of(s)) if 0 < 2 * s.count < len(s) else s for s in parts]
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
