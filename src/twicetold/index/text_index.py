"""An index of texts: search for those most alike, add and remove some, keep groups of those that say the same.

    index = model.index(texts, ids)
    index.search(["a text"], k=10)          # nearest first, with the model's scores and probabilities
    index.add(["another"], ids=["new"])     # groups what it is near to anew, by the rule that built the index
    index.save("faq.index")

    with changing("faq.index") as index:    # `twicetold.index.opening`: saved at the end; one process at a time
        index.remove(["new"])

Shape letters: N texts, Q queries, k neighbours.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.errors import require_number
from twicetold.evaluation.decision import Decision
from twicetold.index.building import OTHER_MODEL, built, started
from twicetold.index.folder import IndexManifest, locked, new_folder, save_changes
from twicetold.index.groups import Merges, Proposal
from twicetold.index.growing import Added, grown, regrouped
from twicetold.index.memberships import GroupChanges, Pair
from twicetold.index.neighbourhood import GroupRule
from twicetold.index.parts import rows_of, table_of
from twicetold.index.related import related_texts
from twicetold.index.scored_search import ScoredSearch
from twicetold.index.segments import Segment
from twicetold.index.state import IndexState
from twicetold.neighbours.rules import RULES, Rule
from twicetold.printable import counted
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import constant, search_vectors
from twicetold.trained.vectors_identity import fingerprint


@dataclass(frozen=True)
class Match:
    """A text that was found.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> twicetold.fit(texts, lexical=True).index(texts).search(["tents to buy"], k=1)
        [[Match(id='1', text='Where can I buy a tent?', ...)]]
    """

    id: str
    text: str
    similarity: float
    """The model's score of query and text; higher means more alike."""
    probability: float | None
    """That both say the same, by the calibration of a dedupe when the index was built: over all pairs of validation
    texts where the model folder holds one, which says less than `Model.predict_proba`, else on labelled pairs, among
    which duplicates are more frequent. None by a model that was fitted to texts without labels."""
    group: int


class TextIndex:
    """Texts with ids, vectors and groups. `Model.index` makes one, `open_index` reads one.

    Args:
        model: whose vectors and scores are used.
        state: what it holds.
        folder: where it was read from; None if it is in memory alone.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> model = twicetold.fit(texts, lexical=True)
        >>> index = model.index(texts)  # or twicetold.index.TextIndex.build(model, texts)
        >>> index.ids, index.groups, index.rule, index.parts
        (['0', '1', '2'], array([0, 0, 1]), 'average', 1)
        >>> [match.text for match in index.related(["How do I learn to swim?"], k=1)[0]]
        ['how do I learn to swim']
        >>> index.merge(0, 1)  # what a person knows better
        0
        >>> index.unmerge(1)
        0
        >>> index.apart
        [(0, 1)]
        >>> index.ignore(0, 1)  # it is not proposed, either
        >>> index.proposals
        []
        >>> changes = index.regroup("complete")
        >>> index.remove(["1"])
        >>> len(index)
        2

        Parts of an index over common centres, of a model with dense vectors:

        >>> whole = twicetold.index.TextIndex.start(dense, [texts])  # doctest: +SKIP
        >>> whole.attach(twicetold.index.open_index("old", dense), "old")  # doctest: +SKIP
        >>> whole.attached, whole.cells  # doctest: +SKIP
        (['old'], 1)
        >>> whole.detach("old")  # doctest: +SKIP
    """

    def __init__(self, model: LoadedModel, state: IndexState, folder: Path | None = None) -> None:
        self.model = model
        self.folder = folder
        self._state, manifest = state, state.manifest
        dots = manifest.by_vectors or model.trained.read(["a"]).score_is_dot_product
        self._constant = (0.0 if manifest.by_vectors else constant(model.trained)) if dots else None

    @classmethod
    def build(
        cls,
        model: LoadedModel,
        texts: TextsLike,
        ids: TextsLike | None = None,
        *,
        grouped_by: DedupeOptions | None = DEFAULTS,
        centres: "TextIndex | None" = None,
        progress: Callable[[str], None] | None = None,
    ) -> "TextIndex":
        """A new index in memory.

        Args:
            model: that makes the vectors.
            texts: N of them, none empty.
            ids: (N,) distinct names; None: numbers from 0.
            grouped_by: which texts say the same; None: each text has a group of its own.
            centres: an index of the same model, whose centres of cells are taken; None: a large index chooses its own.
            progress: is called with a description of each step.

        Raises:
            ValueError: if an id is given twice; and as `dedupe` does.
            TypeError: as `dedupe` does.
        """
        taken = None if centres is None else (centres.model, centres._state.centres)
        return cls(model, built(model, texts, ids, grouped_by=grouped_by, centres=taken, progress=progress))

    @classmethod
    def start(cls, model: LoadedModel, texts: Iterable[Sequence[str]]) -> "TextIndex":
        """An index without texts and groups, with centres of cells for these texts, whose parts are to be attached.

        Args:
            model: that makes the vectors, which are dense.
            texts: some at a time; a sample of them is kept.

        Raises:
            ValueError: if there is no text, or vectors are sparse and need no cells.
            TypeError: if the family scores pairs only, or texts are given one by one.
        """
        return cls(model, started(model, texts))

    def __repr__(self) -> str:
        return f"TextIndex({counted(len(self), 'text')}, {self.model!r})"

    def __len__(self) -> int:
        return len(self._state)

    @property
    def threshold(self) -> float | None:
        """Score from which two texts belong to one group; None if the index has no groups."""
        return self._manifest.decision.threshold if self._manifest.groups else None

    @property
    def rule(self) -> Rule:
        """How links make groups; `average` if the index does not say it, as an earlier version made it."""
        return self._manifest.rule or DEFAULTS.rule

    @property
    def decision(self) -> Decision:
        """Threshold and calibration, as they were when the index was built."""
        return self._manifest.decision

    @property
    def ids(self) -> list[str]:
        """Ids of all texts, part by part."""
        return self._state.ids

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of each text, in the order of `ids`."""
        return self._state.groups

    @property
    def proposals(self) -> list[Proposal]:
        """Merges of groups that are proposed, sorted by groups."""
        return list(self._manifest.proposals)

    @property
    def apart(self) -> list[Pair]:
        """Pairs of groups that stay apart."""
        return list(self._manifest.ignored)

    @property
    def parts(self) -> int:
        """Number of parts that a search goes through."""
        return len(self._segments)

    @property
    def cells(self) -> int:
        """Number of cells of a large dense index, of which a search looks at some; 0 if all texts are compared."""
        return 0 if self._state.centres is None else len(self._state.centres)

    @property
    def attached(self) -> list[str]:
        """Names of the parts that were attached."""
        return self._state.sources

    def search(
        self, texts: TextsLike, k: int = 10, *, exact: bool = False, nprobe: int | None = None
    ) -> list[list[Match]]:
        """The `k` texts most alike to each query, nearest first.

        A lexical family finds only texts that share a term with the query, so there may be fewer. A family whose
        scores are no dot products scores the 50 texts with the nearest vectors and returns the best of them.

        Args:
            texts: (Q,) queries.
            k: at least 1.
            exact: compare with every text, also where a large index has cells.
            nprobe: cells of a large index that are searched for each query; None: as many as found 0.95 of the ten
                nearest when that was measured.

        Raises:
            ValueError: if `k` or `nprobe` is below 1, or the index is damaged.
            TypeError: if one text is given in place of several.
        """
        _require_counts(k, nprobe)
        texts = texts_of(texts)
        if not len(texts) or not self._segments:
            return [[] for _ in texts]
        queries = search_vectors(self.model.trained, texts)[0]
        state = self._state
        among = ScoredSearch(self.model, self._constant, state.segments, state.centres, nprobe or state.nprobe)
        hits = among.nearest(texts, queries, k, exact=exact)
        if not len(hits.row):
            return [[] for _ in texts]
        found = rows_of(self._segments, hits.row)
        columns = (found["id"].to_pylist(), found["text"].to_pylist(), hits.similarity.tolist())
        guessed = self._state.manifest.guessed
        probability = [None] * len(hits.row) if guessed else self.decision.probability(hits.similarity).tolist()
        matches = [Match(*row) for row in zip(*columns, probability, found["group"].to_pylist(), strict=True)]
        ends = np.searchsorted(hits.query, np.arange(len(texts) + 1))
        return [matches[start:end] for start, end in pairwise(ends)]

    def related(
        self,
        texts: TextsLike,
        k: int = 10,
        *,
        not_copies: bool = False,
        exact: bool = False,
        nprobe: int | None = None,
    ) -> list[list[Match]]:
        """The `k` texts to go on with after each text: the most alike that are other than it, nearest first.

        Args:
            texts: (Q,) that were read, in the index or not.
            k: at least 1.
            not_copies: leave out also what shares seven of ten words with the text, or with a suggestion above. Of a
                text with a thousand copies, there may be fewer than `k` others.
            exact: see `search`.
            nprobe: see `search`.

        Raises:
            ValueError: if `k` or `nprobe` is below 1, or the index is damaged.
            TypeError: if one text is given in place of several.
        """
        _require_counts(k, nprobe)
        return related_texts(
            lambda asked, depth: self.search(asked, depth, exact=exact, nprobe=nprobe),
            texts_of(texts),
            k,
            not_copies=not_copies,
        )

    def table(self) -> pa.Table:
        """`id`, `text` and `group` of all texts, sorted by group."""
        return table_of(self._segments)

    def add(self, texts: TextsLike, ids: TextsLike | None = None, *, merges: Merges = "make") -> Added:
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
        self._state, added = grown(self._state, self._grouping, texts_of(texts), ids, merges=merges)
        return added

    def regroup(self, rule: Rule | None = None) -> GroupChanges:
        """Group all texts anew, by the rule that built the index or another one, which is that of the index then.

        What a person has merged stays together, what is kept apart stays apart, and groups keep their numbers where
        most of their texts stay together.

        Args:
            rule: `components`, `average` or `complete`; None: that of the index.

        Raises:
            ValueError: if the index has no groups, or the rule is unknown.
        """
        if not self._manifest.groups:
            raise ValueError("the index was built without groups: build it again with them")
        if rule is not None and rule not in RULES:
            raise ValueError(f"expected one of the rules {RULES}, got {rule!r}")
        self._state, changes = regrouped(self._state, replace(self._grouping, rule=rule or self.rule))
        return changes

    def remove(self, ids: TextsLike) -> None:
        """Remove texts. The groups of the others stay as they are, and so do their ids.

        Raises:
            ValueError: if the index has no text of an id, or an id is given twice; then nothing is removed.
            TypeError: if one id is given in place of several.
        """
        self._state = self._state.without(ids)

    def attach(self, part: "TextIndex", name: str) -> None:
        """Add the texts of another index as a part, which stays by itself and can be taken away again.

        If both have the same centres, nothing is computed: the part's files are copied when the index is saved, and a
        search finds what it finds in one build with these centres, if it visits as many cells (`nprobe`). Otherwise
        the part's vectors are sorted anew.

        Args:
            part: an index by the same model; neither index has groups.
            name: of the part.

        Raises:
            ValueError: if the models differ, an index has groups, the name is taken, or an id is in both indexes.
        """
        same = part.model.trained is self.model.trained  # a model in memory alone has no folder to compare
        if not same and len({each._manifest.fingerprint or _identity(each.model) for each in (self, part)}) > 1:
            raise ValueError(f"the part was made by another model: {OTHER_MODEL}")
        self._state = self._state.attached(part._state, name)

    def detach(self, name: str) -> None:
        """Take a part away that was attached.

        Raises:
            ValueError: if there is no such part.
        """
        self._state = self._state.detached(name)

    def merge(self, one: int, other: int) -> int:
        """Make one group of two. It has the lower of their numbers, which is returned.

        Raises:
            ValueError: if a group has no text, or both are the same.
            TypeError: if one is no whole number.
        """
        self._state, low = self._state.merged(one, other)
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
            TypeError: if it is no whole number.
        """
        self._state, into = self._state.unmerged(group)
        return into

    def ignore(self, one: int, other: int) -> None:
        """Keep two groups apart: they are not merged by the rule, and their merge is not proposed. Errors: `merge`."""
        self._state = self._state.apart(one, other)

    def save(self, folder: str | Path | None = None) -> None:
        """Write the index to a folder, or what has changed to the folder that it was read from.

        A process that is killed meanwhile leaves what was there before.

        Args:
            folder: a new one; None for the one it was read from.

        Raises:
            FileExistsError: if there is something in the new folder.
            FileNotFoundError: if the model is in memory alone.
            ValueError: if no folder is given and the index was not read from one.
            OSError: if another process has changed the index since it was read, or changes it now.
        """
        if folder is None and self.folder is None:
            raise ValueError("this index is in memory alone: give the folder to save it in")
        if not self._manifest.fingerprint:
            known = replace(self._manifest, fingerprint=_identity(self.model))
            self._state = replace(self._state, manifest=known)
        if self.folder is not None and (folder is None or Path(folder).resolve() == self.folder.resolve()):
            with locked(self.folder):
                save_locked(self)
        elif folder is not None:
            with new_folder(Path(folder)) as target:
                parts = [s.changed(name=None, removed_file=None, groups_file=None) for s in self._segments]
                known = replace(self._manifest, parts=[], centres=None, saved=0)
                self._state = _saved(target, replace(self._state, manifest=known, segments=parts))
            self.folder = Path(folder).absolute()

    @property
    def _manifest(self) -> IndexManifest:
        return self._state.manifest

    @property
    def _segments(self) -> Sequence[Segment]:
        return self._state.segments

    @property
    def _grouping(self) -> GroupRule:
        known = self._manifest
        return GroupRule(self.model, known.decision, self._constant, self.rule, known.neighbours)


def save_locked(index: TextIndex) -> None:
    """Write what has changed to the folder that an index was read from; the caller holds its lock."""
    assert index.folder is not None
    index._state = _saved(index.folder, index._state)


def _identity(model: LoadedModel) -> str:
    """The fingerprint of a model that has a folder."""
    try:
        return fingerprint(model.folder)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"an index knows its model by the folder of the model. {error}; a model that `fit` makes has one if you "
            "name it (folder=...)"
        ) from error


def _saved(folder: Path, state: IndexState) -> IndexState:
    return IndexState(*save_changes(folder, state.manifest, state.segments, state.centres), state.centres)


def _require_counts(k: int, nprobe: int | None) -> None:
    require_number("k", k, whole=True)
    if nprobe is not None:
        require_number("nprobe", nprobe, whole=True)
    if k < 1:
        raise ValueError(f"expected k, the number of texts to find, to be at least 1, got {k}")
    if nprobe is not None and nprobe < 1:
        raise ValueError(f"expected nprobe, the number of cells to search, to be at least 1, got {nprobe}")
