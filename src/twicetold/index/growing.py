"""An index begins and grows: texts and pairs are added, and grouped by the rule of the index.

Shape letters: N texts that are added, M of the index with them, P pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from twicetold.dedupe.constraints import Constraints, Contradiction
from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.options import DEFAULTS, NEIGHBOURS, DedupeOptions
from twicetold.index.folder import IdPair, IndexManifest
from twicetold.index.groups import NO_GROUP, Decided, GroupChanges, Grouping, grow
from twicetold.index.search import links as links_of
from twicetold.index.search import score_constant
from twicetold.index.state import IndexState, count_of, groups_of, listed, names_of, part_of, rows_of_ids, some
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import Matrix
from twicetold.printable import counted
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors

IdPairs: TypeAlias = tuple[TextsLike, TextsLike, ArrayLike]
"""Ids of texts, (P,) each, and (P,) whether each pair says the same."""


@dataclass(frozen=True)
class Added:
    """Ids and groups of texts that were added.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> index = twicetold.fit(texts, lexical=True).index(texts)
        >>> index.add(["how do I learn to swim"])
        Added(ids=['2'], groups=array([0]), joined=1, ...)
    """

    ids: list[str]
    groups: NDArray[np.int64]
    """(N,)."""
    joined: int
    """How many joined a group that was there before."""
    changes: GroupChanges
    """What became of the groups that were there."""


def built(
    model: LoadedModel,
    texts: TextsLike,
    ids: TextsLike | None,
    *,
    grouped_by: DedupeOptions | None,
    pairs: IdPairs | None,
    progress: Callable[[str], None] | None,
) -> IndexState:
    """An index of texts.

    Args:
        model: that makes the vectors.
        texts: N of them, none empty.
        ids: (N,) distinct names; None: numbers from 0.
        grouped_by: which texts say the same; None: each text has a group of its own.
        pairs: that hold in the groups.
        progress: is called with a description of each step.

    Raises:
        ValueError: if an id is given twice, or pairs are given without groups; and as `decided_on` and `dedupe` do.
        TypeError: as `score_constant`, `decided_on` and `dedupe` do.
    """
    texts = texts_of(texts)
    names = names_of(texts, ids, first=0)
    manifest, codes = _manifest(model, grouped_by), np.arange(len(texts))

    @cache
    def encoded() -> tuple[Matrix, Matrix]:
        if progress is not None:
            progress(f"encoding {counted(len(texts), 'text')}")
        return search_vectors(model.trained, texts)

    if pairs is not None:
        _require_groups(manifest)
        place = pa.array(names, pa.string())
        decided, known = decided_on(pairs, (), len(texts), lambda ids: _places(ids, place))
        manifest = replace(manifest, pairs=known)
    if grouped_by is not None:
        if pairs is not None:
            constraints = decided.constraints
            grouped_by = replace(grouped_by, pairs=(constraints.left, constraints.right, constraints.same))
        found = dedupe(model, texts, grouped_by, encoded=encoded, by_matcher=False, progress=progress)
        codes = found.group
        threshold = found.summary.threshold
        manifest = replace(
            manifest,
            decision=replace(manifest.decision, threshold=float(threshold.score)),
            evidence=[f"the threshold rests on {threshold.evidence}", *threshold.sentences()],
        )
    if not len(texts):
        return IndexState(manifest)
    manifest = replace(manifest, added=len(texts), next_group=int(codes.max()) + 1)
    return IndexState(manifest).with_part(part_of(names, texts, encoded()[1], codes))


def grown(
    state: IndexState,
    model: LoadedModel,
    texts: Sequence[str],
    ids: TextsLike | None,
    *,
    constant: float,
    pairs: IdPairs | None,
) -> tuple[IndexState, Added]:
    """The index with further texts and pairs.

    Args:
        state: the index.
        model: that made its vectors.
        texts: (N,).
        ids: (N,) distinct names that no text of the index has. None: numbers, counted through.
        constant: see `score_constant`.
        pairs: that hold in the groups from now on, besides those that do already.

    Raises:
        ValueError: as `TextIndex.add`.
        TypeError: as `decided_on`, and if the family scores pairs only.
    """
    names, manifest = state.new_ids(texts, ids), state.manifest
    parts, known, links = list(state.segments), count_of(state.segments), Hits.joined([])
    if len(texts):
        queries, documents = search_vectors(model.trained, texts)
        parts.append(part_of(names, texts, documents, np.full(len(texts), NO_GROUP)))
        if manifest.groups:
            least, near = manifest.decision.threshold, manifest.neighbours
            links = links_of(parts, texts, queries, constant=constant, threshold=least, neighbours=near)
    before, changes = groups_of(parts), GroupChanges()
    if manifest.groups:
        decided, kept = decided_on(pairs, manifest.pairs, len(before), lambda ids: rows_of_ids(parts, ids))
        manifest = replace(manifest, pairs=kept)
        after = grow(Grouping(model, manifest, constant), parts, links, decided, known=known)
        changes = GroupChanges.between(before[:known], after[:known])
    else:
        if pairs is not None:
            _require_groups(manifest)
        after = np.append(before[:known], manifest.next_group + np.arange(len(texts)))
    next_group = max(manifest.next_group, int(after.max(initial=-1)) + 1)
    manifest = replace(manifest, added=manifest.added + len(texts), next_group=next_group)
    larger, groups = replace(state.in_groups(after[:known]), manifest=manifest), after[known:]
    if len(texts):
        larger = larger.with_part(part_of(names, texts, documents, groups))
    return larger, Added(names, groups, int(np.count_nonzero(groups < state.manifest.next_group)), changes)


def decided_on(
    pairs: IdPairs | None, known: Sequence[IdPair], count: int, places: Callable[[Sequence[str]], Ints]
) -> tuple[Decided, list[IdPair]]:
    """Pairs that a person has decided on now and before; a new answer replaces the one before.

    Args:
        pairs: given now.
        known: given before.
        count: M.
        places: from distinct ids to the numbers of their texts, -1 where there is none.

    Returns:
        The pairs by numbers of texts, and by ids.

    Raises:
        ValueError: if no text has an id, the pairs contradict each other, an answer is neither yes nor no, or there are
            not as many ids and answers.
        TypeError: if an id is no text.
    """
    left, right = (listed(side) for side in (pairs or ((), ()))[:2])
    answers = () if pairs is None else pairs[2]
    ids = list(dict.fromkeys([*left, *right, *(name for pair in known for name in pair[:2])]))
    place = dict(zip(ids, places(ids).tolist(), strict=True))
    if unknown := [name for name in ids if place[name] < 0]:
        raise ValueError(f"pairs: the index has no text with the id {some(unknown)}")
    given = Constraints.of(count, [place[name] for name in left], [place[name] for name in right], answers)
    every = {_key(*pair): pair for pair in zip(left, right, given.same.tolist(), strict=True)}
    before = {_key(*pair): pair[2] for pair in known}
    now = [*every.values(), *(pair for pair in known if _key(*pair) not in every)]
    try:
        one, other = ([place[pair[side]] for pair in now] for side in (0, 1))
        constraints = Constraints.of(count, one, other, [pair[2] for pair in now])
    except Contradiction as error:
        joined = ", ".join(f"{now[each][0]!r} and {now[each][1]!r}" for each in error.must_link)
        texts = f"{now[error.cannot_link][0]!r} and {now[error.cannot_link][1]!r}"
        raise ValueError(
            f"pairs: {texts} do not say the same, but pairs join them, given now or before: {joined}"
        ) from error
    fresh = [before.get(_key(*pair)) != pair[2] for pair in now]
    return Decided(constraints, np.array(fresh, bool)), now


def _key(left: str, right: str, _: bool) -> tuple[str, str]:
    return min(left, right), max(left, right)


def _places(ids: Sequence[str], names: pa.Array) -> Ints:
    place: Ints = pc.fill_null(pc.index_in(pa.array(ids, pa.string()), names), -1).to_numpy().astype(np.int64)
    return place


def _require_groups(manifest: IndexManifest) -> None:
    if not manifest.groups:
        raise ValueError("pairs say which texts are in one group, and the index has no groups: build it with groups")


def _manifest(model: LoadedModel, grouped_by: DedupeOptions | None) -> IndexManifest:
    options, measured = grouped_by or DEFAULTS, model.thresholds
    score_constant(model, by_vectors=measured is not None)
    return IndexManifest(
        str(model.folder.resolve()),
        fingerprint="",
        decision=model.decision if measured is None else measured.decision,
        groups=grouped_by is not None,
        by_vectors=measured is not None,
        rule=options.rule,
        neighbours=NEIGHBOURS,
        guessed=model.decisions.of().unlabelled,
    )
