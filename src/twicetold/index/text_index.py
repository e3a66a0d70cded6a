"""An index of texts: search for those most alike, add and remove some, keep groups of those that say the same.

    index = model.index(texts, ids)
    index.search(["a text"], k=10)          # nearest first, with the model's scores and probabilities
    index.add(["another"], ids=["new"])     # joins the best group
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
from twicetold.evaluation.decision import Decision
from twicetold.index.folder import IndexManifest, locked, new_folder, read, save_changes
from twicetold.index.groups import NewLinks, Pair, Proposal, join, propose, strongest
from twicetold.index.segments import SCHEMA, Hits, Segment, groups_of, numbered
from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import texts_of
from twicetold.tracking.locate import folder_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import ENCODED, constant, search_vectors
from twicetold.trained.vectors_identity import fingerprint

CHUNK = 4096  # texts that are compared with each other at once
LINKS = 10  # nearest texts that a new text may join
CANDIDATES = 50  # texts whose pairs are scored, by a family whose scores are no dot products
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
        codes = np.arange(len(texts))
        names = _names(texts, ids, first=0)

        @cache
        def encoded() -> tuple[Matrix, Matrix]:
            if progress is not None:
                progress(f"encoding {len(texts):,} texts")
            return search_vectors(model.trained, texts)

        if grouped_by is not None:
            found = dedupe(model, texts, grouped_by, encoded=encoded, progress=progress)
            codes, decision = found.group, replace(decision, threshold=found.summary.threshold)
        place = str(model.folder.resolve())
        grouped, by_vectors = grouped_by is not None, measured is not None
        state = IndexManifest(place, fingerprint="", decision=decision, groups=grouped, by_vectors=by_vectors)
        index = cls(model, state)
        if len(texts):
            index._insert(names, texts, encoded()[1], codes, [])
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
        alive = [segment.alive for segment in self._segments]
        return self._groups()[np.concatenate(alive)] if alive else np.empty(0, np.int64)

    @property
    def proposals(self) -> list[Proposal]:
        """Merges of groups that are proposed, sorted by groups."""
        return list(self._state.proposals)

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
        hits = self._scored(texts, self._nearest(search_vectors(self.model.trained, texts)[0], k, exact=exact)).nearest(
            k
        )
        if not len(hits.row):
            return [[] for _ in texts]
        found = self._rows(hits.row)
        columns = (found["id"].to_pylist(), found["text"].to_pylist(), hits.similarity.tolist())
        probability = self.decision.probability(hits.similarity).tolist()
        matches = [Match(*row) for row in zip(*columns, probability, self._groups()[hits.row].tolist(), strict=True)]
        ends = np.searchsorted(hits.query, np.arange(len(texts) + 1))
        return [matches[start:end] for start, end in pairwise(ends)]

    def add(self, texts: Sequence[str], ids: Sequence[str] | None = None) -> Added:
        """Add texts, one after another: each joins the group of the earlier text that is most alike.

        Args:
            texts: (N,).
            ids: (N,) distinct names that no text of the index has. None: numbers, counted through.

        Raises:
            ValueError: if an id is there already or given twice, or the numbers of ids and texts differ.
            TypeError: if the family scores pairs only, or one text is given in place of several.
        """
        texts = texts_of(texts)
        names = self._new_ids(texts, ids)
        if not len(texts):
            return Added([], np.empty(0, np.int64), 0, [])
        queries, documents = search_vectors(self.model.trained, texts)
        links = self._links(texts, queries, documents)
        known, state = self._groups(), self._state
        groups = join(len(texts), links, known, next_group=state.next_group)
        proposals = self._proposals(links, np.concatenate([known, groups]), names)
        proposals = [each for each in proposals if each.groups not in state.ignored]
        self._insert(names, texts, documents, groups, proposals)
        return Added(names, groups, int(np.count_nonzero(groups < state.next_group)), proposals)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove texts. The groups of the others stay as they are, and so do their ids.

        Raises:
            ValueError: if the index has no text of an id, or an id is given twice; then nothing is removed.
            TypeError: if one id is given in place of several.
        """
        wanted = pa.array(_distinct(ids), pa.string())
        places = [pc.index_in(segment.table["id"], value_set=wanted).to_numpy() for segment in self._segments]
        rows = [np.flatnonzero(~np.isnan(p) & s.alive) for p, s in zip(places, self._segments, strict=True)]
        there = [p[r].astype(np.int64) for p, r in zip(places, rows, strict=True)]
        missing = np.setdiff1d(np.arange(len(wanted)), np.concatenate(there) if there else [])
        if missing.size:
            names = _some([ids[number] for number in missing.tolist()])
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
        state = self._state

        def renamed(pair: Pair) -> Pair:
            first, second = sorted(low if group == high else group for group in pair)
            return first, second

        merged = {group: low if now == high else now for group, now in state.merged.items()} | {high: low}
        ignored = sorted({renamed(pair) for pair in state.ignored if pair != (low, high)})
        proposals = [replace(each, groups=renamed(each.groups)) for each in state.proposals]
        proposals = strongest(proposals, ignored=ignored)
        self._state = replace(state, merged=merged, ignored=ignored, proposals=proposals)
        return low

    def ignore(self, one: int, other: int) -> None:
        """Keep two groups apart: their merge is not proposed any more. Errors: `merge`."""
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
                parts = [replace(segment, name=None, removed_file=None) for segment in self._segments]
                self._state, self._segments = save_changes(target, replace(state, parts=[], saved=0), parts)
            self.folder = Path(folder)

    def _insert(
        self,
        names: Sequence[str],
        texts: Sequence[str],
        documents: Matrix,
        groups: NDArray[np.int64],
        proposals: Sequence[Proposal],
    ) -> None:
        """Append a part, merged with small ones before it, as a log-structured merge tree does (O'Neil et al. 1996)."""
        columns = [pa.array(names, pa.string()), pa.array(texts, pa.string()), pa.array(groups)]
        kept, merging, size = (
            list(self._segments),
            [Segment.of(documents, pa.table(columns, schema=SCHEMA))],
            len(texts),
        )
        while kept and kept[-1].count < MERGE_BELOW * size:
            merging.insert(0, kept.pop())
            size += merging[0].count
        state = self._state
        parts = [*kept, Segment.merged(merging) if len(merging) > 1 else merging[0]]
        self._segments, self._state = (
            parts,
            replace(
                state,
                added=state.added + len(texts),
                next_group=max(state.next_group, int(groups.max()) + 1),
                proposals=strongest([*state.proposals, *proposals], ignored=state.ignored),
            ),
        )

    def _new_ids(self, texts: Sequence[str], ids: Sequence[str] | None) -> list[str]:
        names = _names(texts, ids, first=self._state.added)
        asked = pa.array(names, pa.string())
        there = [pc.is_in(asked, value_set=s.table["id"].filter(pa.array(s.alive))) for s in self._segments]
        if taken := [name for found in there for name in asked.filter(found).to_pylist()]:
            hint = "give the texts ids of their own" if ids is None else "remove these texts first, or leave them out"
            raise ValueError(f"the index has a text with the id {_some(taken)} already: {hint}. Nothing was added")
        return names

    def _groups(self) -> NDArray[np.int64]:
        """Groups of all texts, also of those that were removed."""
        return groups_of(self._segments, self._state.merged)

    def _pair(self, one: int, other: int) -> Pair:
        there = self.groups
        if missing := [group for group in (one, other) if not (there == group).any()]:
            raise ValueError(f"the index has no group {missing[0]}")
        if one == other:
            raise ValueError(f"expected two groups, got {one} twice")
        return min(one, other), max(one, other)

    def _nearest(self, queries: Matrix, k: int, *, exact: bool = False) -> Hits:
        """The `k` nearest of each query, or as many more as are scored again."""
        reach, found = self._reach(k), []
        for first, segment in numbered(self._segments):
            hits = segment.search(queries, reach, exact=exact)
            found.append(replace(hits, row=hits.row + first))
        return Hits.joined(found).nearest(reach)

    def _reach(self, k: int) -> int:
        return k if self._constant is not None else max(k, CANDIDATES)

    def _rows(self, numbers: NDArray[np.int64]) -> pa.Table:
        """Ids and texts of these texts."""
        order, parts = np.argsort(numbers, kind="stable"), [SCHEMA.empty_table()]
        for first, segment in numbered(self._segments):
            start, end = np.searchsorted(numbers[order], [first, first + segment.table.num_rows])
            parts.append(segment.table.take(pa.array(numbers[order[start:end]] - first)))
        return pa.concat_tables(parts).take(pa.array(np.argsort(order)))

    def _scored(self, texts: Sequence[str], hits: Hits, added: Sequence[str] = ()) -> Hits:
        """The model's scores in place of dot products; rows beyond the index are those of the texts being added."""
        if self._constant is not None:
            return replace(hits, similarity=hits.similarity + np.float32(self._constant))
        known = sum(segment.table.num_rows for segment in self._segments)
        right = np.empty(len(hits.row), object)
        right[hits.row < known] = self._rows(hits.row[hits.row < known])["text"].to_pylist()
        right[hits.row >= known] = [added[row - known] for row in hits.row[hits.row >= known].tolist()]
        left = [texts[query] for query in hits.query.tolist()]
        step = range(0, len(left), ENCODED)
        scores = [self.model.similarity(left[at : at + ENCODED], right[at : at + ENCODED].tolist()) for at in step]
        return replace(hits, similarity=np.concatenate([np.empty(0, np.float32), *scores]))

    def _links(self, texts: Sequence[str], queries: Matrix, documents: Matrix) -> NewLinks:
        """Each new text with the nearest of the texts before it whose score reaches the threshold."""
        found = [Hits.joined([])]
        known = sum(segment.table.num_rows for segment in self._segments)
        for start in range(0, len(texts) if self._state.groups else 0, CHUNK):
            stop = min(start + CHUNK, len(texts))
            asked = queries[start:stop]
            fresh = Segment(documents[:stop], SCHEMA.empty_table(), np.ones(stop, bool))
            reach = self._reach(LINKS)
            among = fresh.search(asked, reach, before=np.arange(start, stop))
            hits = Hits.joined([self._nearest(asked, LINKS), replace(among, row=among.row + known)]).nearest(reach)
            hits = self._scored(texts[start:stop], hits, added=texts).nearest(LINKS)
            hits = hits.at(hits.similarity >= self.decision.threshold)
            found.append(replace(hits, query=hits.query + start))
        hits = Hits.joined(found)
        return NewLinks(hits.query, hits.row, hits.similarity)

    def _proposals(self, links: NewLinks, groups: NDArray[np.int64], names: Sequence[str]) -> list[Proposal]:
        known = len(groups) - len(names)
        numbers, pairs = propose(links, groups, known=known)
        earlier = links.earlier[numbers]
        other = np.empty(len(earlier), object)
        other[earlier < known] = self._rows(earlier[earlier < known])["id"].to_pylist()
        other[earlier >= known] = [names[row - known] for row in earlier[earlier >= known].tolist()]
        new, score = links.new[numbers].tolist(), links.score[numbers].tolist()
        found = zip(pairs.tolist(), new, other.tolist(), score, strict=True)
        return [Proposal((low, high), (names[text], name), value) for (low, high), text, name, value in found]


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


def _names(texts: Sequence[str], ids: Sequence[str] | None, *, first: int) -> list[str]:
    """The ids of new texts: those given, or numbers from `first` on."""
    if ids is None:
        return [str(first + number) for number in range(len(texts))]
    if len(ids) != len(texts):
        raise ValueError(f"expected as many ids as texts, got {len(ids)} and {len(texts)}")
    return _distinct(ids)


def _distinct(ids: Sequence[str]) -> list[str]:
    if isinstance(ids, str):
        raise TypeError(f"expected a list of ids, got one: put it in a list, [{ids!r}]")
    if other := [name for name in ids if not isinstance(name, str)]:
        raise TypeError(f"expected ids that are texts, got {other[0]!r}")
    counts = pa.array(ids, pa.string()).value_counts()
    if twice := counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist():
        raise ValueError(f"the id {_some(twice)} is given twice: ids are distinct")
    return list(ids)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} others"
