"""An index of texts: search for those most alike, add and remove some, keep groups of those that say the same.

    index = model.index(texts, ids)
    index.search(["a text"], k=10)          # nearest first, with the model's scores and probabilities
    index.add(["another"], ids=["new"])     # groups what it is near to anew, by the rule that built the index
    index.save("faq.index")

    with changing("faq.index") as index:    # what `open_index` reads, saved at the end; one process at a time
        index.remove(["new"])

Shape letters: N texts that are added, Q queries, k neighbours.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.told import known_of_links
from twicetold.evaluation.decision import Decision
from twicetold.index.folder import IndexManifest, locked, new_folder, read, save_changes
from twicetold.index.groups import MERGES, Merges, Proposal, TextLinks, strongest
from twicetold.index.ids import distinct, names_of, some
from twicetold.index.memberships import NO_GROUP, GroupChanges, Memberships, Pair, pair_of
from twicetold.index.neighbourhood import GroupRule, grow, regroup
from twicetold.index.parts import alive_of, count_of, in_groups, members_of, rows_of, table_of
from twicetold.index.scored_search import ScoredSearch
from twicetold.index.segments import SCHEMA, Segment
from twicetold.neighbours.nearest import Matrix
from twicetold.neighbours.rules import RULES, Rule
from twicetold.tables.texts import texts_of
from twicetold.tracking.locate import folder_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import constant, search_vectors
from twicetold.trained.vectors_identity import fingerprint

MERGE_BELOW = 2  # a part with fewer texts than this many times those of the next one is merged with it


@dataclass(frozen=True)
class Match:
    """A text that was found."""

    id: str
    text: str
    similarity: float
    """The model's score of query and text; higher means more alike."""
    probability: float
    """That both say the same, calibrated on pairs like those of validation: among all texts duplicates are rarer."""
    group: int


@dataclass(frozen=True)
class Added:
    """What became of the texts that were added."""

    ids: list[str]
    groups: NDArray[np.int64]
    """(N,)."""
    joined: int
    """How many joined a group that was there before."""
    proposals: list[Proposal]
    """Merges of groups that these texts propose."""
    changes: GroupChanges
    """What became of the groups that were there."""


class TextIndex:
    """Texts with ids, vectors and groups. `Model.index` makes one, `open_index` reads one.

    Args:
        model: whose vectors and scores are used.
        manifest: what is known besides the parts.
        segments: the parts.
        folder: where it was read from; None if it is in memory alone.
    """

    def __init__(
        self, model: LoadedModel, manifest: IndexManifest, segments: Sequence[Segment] = (), folder: Path | None = None
    ) -> None:
        self.model = model
        self.folder = folder
        self._state = manifest
        self._segments = list(segments)
        dots = manifest.by_vectors or model.trained.read(["a"]).score_is_dot_product
        self._constant = (0.0 if manifest.by_vectors else constant(model.trained)) if dots else None

    @classmethod
    def build(
        cls,
        model: LoadedModel,
        texts: Sequence[str],
        ids: Sequence[str] | None = None,
        *,
        grouped_by: DedupeOptions | None = DEFAULTS,
        progress: Callable[[str], None] | None = None,
    ) -> "TextIndex":
        """A new index in memory.

        Args:
            model: that makes the vectors.
            texts: N of them, none empty.
            ids: (N,) distinct names; None: numbers from 0.
            grouped_by: which texts say the same; None: each text has a group of its own.
            progress: is called with a description of each step.

        Raises:
            ValueError: if an id is given twice; and as `dedupe` does.
            TypeError: as `dedupe` does.
        """
        measured = model.thresholds
        decision = model.decision if measured is None else measured.decision
        texts = texts_of(texts)
        codes, evidence = np.arange(len(texts)), list[str]()
        names = names_of(texts, ids, first=0)

        @cache
        def encoded() -> tuple[Matrix, Matrix]:
            if progress is not None:
                progress(f"encoding {len(texts):,} texts")
            return search_vectors(model.trained, texts)

        if grouped_by is not None:
            found = dedupe(model, texts, grouped_by, encoded=encoded, progress=progress)
            codes, decision = found.group, replace(decision, threshold=found.summary.threshold)
            evidence = [f"the threshold rests on {found.summary.evidence}", *known_of_links(found.summary)]
        options = DEFAULTS if grouped_by is None else grouped_by
        state = IndexManifest(
            str(model.folder.resolve()),
            fingerprint="",
            decision=decision,
            groups=grouped_by is not None,
            by_vectors=measured is not None,
            rule=options.rule,
            neighbours=options.neighbours,
            evidence=evidence,
            built_by=options.rule,
        )
        index = cls(model, state)
        if len(texts):
            index._append(_part(names, texts, encoded()[1], codes))
            index._state = replace(state, added=len(texts), next_group=int(codes.max()) + 1)
        return index

    def __repr__(self) -> str:
        return f"TextIndex({len(self)} texts, {self.model!r})"

    def __len__(self) -> int:
        return sum(segment.count for segment in self._segments)

    @property
    def threshold(self) -> float | None:
        """Score from which two texts belong to one group; None if the index has no groups."""
        return self._state.decision.threshold if self._state.groups else None

    @property
    def rule(self) -> Rule:
        """How links make groups; `average` if the index does not say it, as an earlier version made it."""
        return self._state.rule or DEFAULTS.rule

    @property
    def decision(self) -> Decision:
        """Threshold and calibration, as they were when the index was built."""
        return self._state.decision

    @property
    def ids(self) -> list[str]:
        """Ids of all texts, part by part."""
        return [i for s in self._segments for i in s.table["id"].filter(pa.array(s.alive)).to_pylist()]

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of each text, in the order of `ids`."""
        return members_of(self._segments).group[alive_of(self._segments)]

    @property
    def proposals(self) -> list[Proposal]:
        """Merges of groups that are proposed, sorted by groups."""
        return list(self._state.proposals)

    @property
    def apart(self) -> list[Pair]:
        """Pairs of groups that stay apart."""
        return list(self._state.ignored)

    @property
    def parts(self) -> int:
        """Number of parts that a search goes through."""
        return len(self._segments)

    def search(self, texts: Sequence[str], k: int = 10, *, exact: bool = False) -> list[list[Match]]:
        """The `k` texts most alike to each query, nearest first.

        A lexical family finds only texts that share a term with the query, so there may be fewer. A family whose
        scores are no dot products scores the 50 texts with the nearest vectors and returns the best of them.

        Args:
            texts: (Q,) queries.
            k: at least 1.
            exact: compare with every text, also where a large index has cells.

        Raises:
            ValueError: if `k` is below 1, or the index is damaged.
            TypeError: if one text is given in place of several.
        """
        if k < 1:
            raise ValueError(f"expected k, the number of texts to find, to be at least 1, got {k}")
        texts = texts_of(texts)
        if not len(texts) or not self._segments:
            return [[] for _ in texts]
        hits = self._search(self._segments).nearest(texts, search_vectors(self.model.trained, texts)[0], k, exact=exact)
        if not len(hits.row):
            return [[] for _ in texts]
        found = rows_of(self._segments, hits.row)
        columns = (found["id"].to_pylist(), found["text"].to_pylist(), hits.similarity.tolist())
        probability = self.decision.probability(hits.similarity).tolist()
        groups = members_of(self._segments).group[hits.row].tolist()
        matches = [Match(*row) for row in zip(*columns, probability, groups, strict=True)]
        ends = np.searchsorted(hits.query, np.arange(len(texts) + 1))
        return [matches[start:end] for start, end in pairwise(ends)]

    def table(self) -> pa.Table:
        """`id`, `text` and `group` of all texts, sorted by group."""
        return table_of(self._segments)

    def add(self, texts: Sequence[str], ids: Sequence[str] | None = None, *, merges: Merges = "make") -> Added:
        """Add texts, and group them and the groups that they have links to anew, by the rule that built the index.

        Args:
            texts: (N,).
            ids: (N,) distinct names that no text of the index has. None: numbers, counted through.
            merges: `make` merges and splits groups that were there as the rule says; `propose` leaves all texts that
                were there in their groups, and proposes merges.

        Raises:
            ValueError: if an id is there already or given twice, the numbers of ids and texts differ, a text is blank
                and the index has groups, or `merges` is unknown.
            TypeError: if the family scores pairs only, or one text is given in place of several.
        """
        if merges not in MERGES:
            raise ValueError(f"expected one of {MERGES} as what becomes of merges, got {merges!r}")
        texts = texts_of(texts)
        names, state = self._new_ids(texts, ids), self._state
        if not len(texts):
            return Added([], np.empty(0, np.int64), 0, [], GroupChanges())
        queries, documents = search_vectors(self.model.trained, texts)
        fresh = _part(names, texts, documents, np.full(len(texts), NO_GROUP))
        parts, known, proposals = [*self._segments, fresh], count_of(self._segments), list(state.proposals)
        before, changes = members_of(parts), GroupChanges()
        if state.groups:
            links = self._search(parts).links(
                texts, queries, threshold=state.decision.threshold, neighbours=state.neighbours
            )
            found = grow(
                self._grouping, parts, links, merges=merges, ignored=state.ignored, next_group=state.next_group
            )
            after, proposed = found.members, _proposals(found.proposed, found.members, parts)
            alive = np.flatnonzero(alive_of(self._segments))
            changes = GroupChanges.between(before.group[alive], after.group[alive])
        else:
            own = before.group.copy()
            own[known:] = state.next_group + np.arange(len(texts))
            after, proposed = Memberships.of(own), []
        groups = after.group[known:]
        self._segments = in_groups(self._segments, after.at(slice(known)))
        self._append(_part(names, texts, documents, groups))
        next_group = max(state.next_group, int(after.group.max()) + 1)
        self._state = replace(state, added=state.added + len(texts), next_group=next_group)
        self._keep_up(changes, [*proposals, *proposed])
        there = {each.groups for each in self._state.proposals}
        return Added(
            names,
            groups,
            int(np.count_nonzero(groups < state.next_group)),
            [each for each in strongest(proposed, ignored=()) if each.groups in there],
            changes,
        )

    def regroup(self, rule: Rule | None = None) -> GroupChanges:
        """Group all texts anew, by the rule that built the index or another one, which is that of the index then.

        What a person has merged stays together, what is kept apart stays apart, and groups keep their numbers where
        most of their texts stay together.

        Args:
            rule: `components`, `average` or `complete`; None: that of the index.

        Raises:
            ValueError: if the index has no groups, or the rule is unknown.
        """
        if not self._state.groups:
            raise ValueError("the index was built without groups: build it again with them")
        if rule is not None and rule not in RULES:
            raise ValueError(f"expected one of the rules {RULES}, got {rule!r}")
        self._state = replace(self._state, rule=rule or self.rule)
        state, before, alive = self._state, members_of(self._segments), alive_of(self._segments)
        found = regroup(self._grouping, self._segments, ignored=state.ignored, next_group=state.next_group)
        changes = GroupChanges.between(before.group[alive], found.members.group[alive])
        proposed = _proposals(found.proposed, found.members, self._segments)
        self._segments = in_groups(self._segments, found.members)
        self._state = replace(state, next_group=found.next_group)
        self._keep_up(changes, proposed)
        return changes

    def remove(self, ids: Sequence[str]) -> None:
        """Remove texts. The groups of the others stay as they are, and so do their ids.

        Raises:
            ValueError: if the index has no text of an id, or an id is given twice; then nothing is removed.
            TypeError: if one id is given in place of several.
        """
        wanted = pa.array(distinct(ids), pa.string())
        places = [pc.index_in(segment.table["id"], value_set=wanted).to_numpy() for segment in self._segments]
        rows = [np.flatnonzero(~np.isnan(p) & s.alive) for p, s in zip(places, self._segments, strict=True)]
        there = [p[r].astype(np.int64) for p, r in zip(places, rows, strict=True)]
        missing = np.setdiff1d(np.arange(len(wanted)), np.concatenate(there) if there else [])
        if missing.size:
            names = some([ids[number] for number in missing.tolist()])
            raise ValueError(f"the index has no text with the id {names}: nothing was removed")
        parts = [s.without(r) if r.size else s for s, r in zip(self._segments, rows, strict=True)]
        shrunk = [Segment.merged([s]) if 0 < 2 * s.count < s.table.num_rows else s for s in parts]
        gone = set(ids)
        self._segments = [segment for segment in shrunk if segment.count]
        kept = [each for each in self._state.proposals if gone.isdisjoint(each.ids)]
        self._state = replace(self._state, proposals=kept)

    def merge(self, one: int, other: int) -> int:
        """Make one group of two. It has the lower of their numbers, which is returned.

        Raises:
            ValueError: if a group has no text, or both are the same.
        """
        low, high = self._pair(one, other)
        self._segments = in_groups(self._segments, members_of(self._segments).merged(low, high))
        ignored = [pair for pair in self._state.ignored if pair != (low, high)]
        self._state = replace(self._state, ignored=ignored)
        self._keep_up(GroupChanges(merged=((high, low),)), self._state.proposals)
        return low

    def unmerge(self, group: int) -> int:
        """Undo the merge of a group into another one, whether a person has made it or the rule.

        The texts that were in the group are in it again, and the two stay apart until they are merged by `merge`. Once
        a group is merged into another one, those that were merged into it before cannot be taken out again.

        Args:
            group: the number that is no more.

        Returns:
            The group that it was part of.

        Raises:
            ValueError: if the group was not merged into another one.
        """
        members, alive = members_of(self._segments), np.flatnonzero(alive_of(self._segments))
        found, into = members.at(alive).unmerged(group)
        self._segments = in_groups(self._segments, members.with_rows(alive, found))
        pair = pair_of(group, into)
        self._state = replace(self._state, ignored=sorted({*self._state.ignored, pair}))
        self._keep_up(GroupChanges(split=((into, pair),)), self._state.proposals)
        return into

    def ignore(self, one: int, other: int) -> None:
        """Keep two groups apart: they are not merged by the rule, and their merge is not proposed. Errors: `merge`."""
        pair = self._pair(one, other)
        ignored = sorted({*self._state.ignored, pair})
        self._state = replace(self._state, ignored=ignored, proposals=strongest(self._state.proposals, ignored=ignored))

    def save(self, folder: str | Path | None = None) -> None:
        """Write the index to a folder, or what has changed to the folder that it was read from.

        A process that is killed meanwhile leaves what was there before.

        Args:
            folder: a new one; None for the one it was read from.

        Raises:
            FileExistsError: if there is something in the new folder.
            ValueError: if no folder is given and the index was not read from one.
            OSError: if another process has changed the index since it was read, or changes it now.
        """
        state = (
            self._state if self._state.fingerprint else replace(self._state, fingerprint=fingerprint(self.model.folder))
        )
        if folder is None and self.folder is None:
            raise ValueError("this index is in memory alone: give the folder to save it in")
        if folder is None or (self.folder is not None and Path(folder).resolve() == self.folder.resolve()):
            assert self.folder is not None
            with locked(self.folder):
                self._state, self._segments = save_changes(self.folder, state, self._segments)
        else:
            with new_folder(Path(folder)) as target:
                parts = [s.changed(name=None, removed_file=None, groups_file=None) for s in self._segments]
                self._state, self._segments = save_changes(target, replace(state, parts=[], saved=0), parts)
            self.folder = Path(folder)

    def _append(self, fresh: Segment) -> None:
        """Append a part, merged with small ones before it, as a log-structured merge tree does (O'Neil et al. 1996)."""
        kept, merging, size = list(self._segments), [fresh], fresh.count
        while kept and kept[-1].count < MERGE_BELOW * size:
            merging.insert(0, kept.pop())
            size += merging[0].count
        self._segments = [*kept, Segment.merged(merging)]

    def _keep_up(self, changes: GroupChanges, proposals: Sequence[Proposal]) -> None:
        """Name groups that stay apart, and those of proposals, as they are after changes."""
        now = dict(changes.merged)
        ignored = {pair_of(*(now.get(group, group) for group in pair)) for pair in self._state.ignored}
        if proposals and (changes.merged or changes.split):
            groups = self._groups_of_ids([name for each in proposals for name in each.ids])
            proposals = [replace(each, groups=pair_of(*(groups[name] for name in each.ids))) for each in proposals]
        self._state = replace(
            self._state,
            ignored=sorted(pair for pair in ignored if pair[0] != pair[1]),
            proposals=strongest(proposals, ignored=ignored),
        )

    def _groups_of_ids(self, ids: Sequence[str]) -> dict[str, int]:
        """The groups of texts of the index."""
        wanted, found = pa.array(ids, pa.string()), dict[str, int]()
        for segment in self._segments:
            rows = np.flatnonzero(pc.is_in(segment.table["id"], value_set=wanted).to_numpy() & segment.alive)
            names = segment.table["id"].take(pa.array(rows)).to_pylist()
            found.update(zip(names, segment.members.group[rows].tolist(), strict=True))
        return found

    def _new_ids(self, texts: Sequence[str], ids: Sequence[str] | None) -> list[str]:
        names = names_of(texts, ids, first=self._state.added)
        asked = pa.array(names, pa.string())
        there = [
            s.table["id"].filter(pc.is_in(s.table["id"], value_set=asked).to_numpy() & s.alive) for s in self._segments
        ]
        if found := {name for names in there for name in names.to_pylist()}:
            taken = [name for name in names if name in found]
            hint = "give the texts ids of their own" if ids is None else "remove these texts first, or leave them out"
            raise ValueError(f"the index has a text with the id {some(taken)} already: {hint}. Nothing was added")
        return names

    def _pair(self, one: int, other: int) -> Pair:
        there = self.groups
        if missing := [group for group in (one, other) if not (there == group).any()]:
            raise ValueError(f"the index has no group {missing[0]}")
        if one == other:
            raise ValueError(f"expected two groups, got {one} twice")
        return pair_of(one, other)

    @property
    def _grouping(self) -> GroupRule:
        state = self._state
        return GroupRule(self.model, state.decision, self._constant, self.rule, state.neighbours)

    def _search(self, segments: Sequence[Segment]) -> ScoredSearch:
        return ScoredSearch(self.model, self._constant, segments)


def _part(names: Sequence[str], texts: Sequence[str], documents: Matrix, groups: NDArray[np.int64]) -> Segment:
    """A part of some texts, in this order."""
    table = pa.table([pa.array(names, pa.string()), pa.array(texts, pa.string()), pa.array(groups)], schema=SCHEMA)
    return Segment(documents, table, np.ones(len(texts), bool), Memberships.of(groups))


def _proposals(links: TextLinks, members: Memberships, parts: Sequence[Segment]) -> list[Proposal]:
    """Links between texts of two groups as proposals to merge these."""
    ends = np.stack([members.group[links.left], members.group[links.right]], axis=1)
    pairs, score = np.sort(ends, axis=1).tolist(), links.score.tolist()
    earlier, later = (rows_of(parts, side)["id"].to_pylist() for side in (links.left, links.right))
    found = zip(pairs, later, earlier, score, strict=True)
    return [Proposal((low, high), (new, old), value) for (low, high), new, old, value in found]


def open_index(folder: str | Path, model: LoadedModel | str | Path | None = None) -> TextIndex:
    """Read an index that was saved. Dense vectors are memory-mapped.

    Args:
        folder: the index.
        model: that made it, or where it is; None: where it was when the index was built.

    Raises:
        FileNotFoundError: if there is no index, or no model.
        ValueError: if the index is damaged, or the model is another one.
    """
    folder = Path(folder)
    manifest, segments = read(folder)
    if not isinstance(model, LoadedModel):
        try:
            model = LoadedModel.from_folder(folder_of(model or manifest.model))
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"the index {folder} needs the model that made it. {error}; if the model is "
                "elsewhere now, name its folder with model=... (--model)"
            ) from error
    if (found := fingerprint(model.folder)) != manifest.fingerprint:
        raise ValueError(
            f"the index {folder} was made by the model {manifest.model} (fingerprint {manifest.fingerprint}), and "
            f"{model.folder} is another one (fingerprint {found}): vectors of two models cannot be compared. Name the "
            "model that made the index, or build the index again"
        )
    return TextIndex(model, manifest, segments, folder)


@contextmanager
def changing(folder: str | Path, model: LoadedModel | str | Path | None = None) -> Iterator[TextIndex]:
    """Read an index, and save it at the end of the block; no other process can change it meanwhile.

    Errors: `open_index`, and BlockingIOError if another process changes the index. After an error in the block
    nothing is saved.
    """
    with locked(Path(folder)):
        index = open_index(folder, model)
        yield index
        index._state, index._segments = save_changes(Path(folder), index._state, index._segments)
