"""An index begins and grows: texts are added, and grouped by the rule of the index, as a dedupe or near them alone.

Shape letters: N texts that are added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.distinct import folded, require_texts
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.dedupe.thresholds import Thresholds
from twicetold.index.folder import IndexManifest
from twicetold.index.groups import NO_GROUP, GroupChanges, Grouping, decided, grow, regrouped
from twicetold.index.search import links as links_of
from twicetold.index.search import score_constant
from twicetold.index.segments import Segment
from twicetold.index.state import IndexState, count_of, groups_of, names_of, rows_of_ids, some
from twicetold.neighbours.nearest import Matrix
from twicetold.printable import counted
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors


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
    progress: Callable[[str], None] | None,
) -> IndexState:
    """Return an index of texts.

    Args:
        model: that makes the vectors.
        texts: N of them, none empty.
        ids: (N,) distinct names; None: numbers from 0.
        grouped_by: which texts are duplicates; None: each text has a group of its own.
        progress: is called with a description of each step.

    Raises:
        ValueError: if an id is given twice; and as `dedupe` does.
        TypeError: as `score_constant` and `dedupe` do.
    """
    texts = texts_of(texts)
    names = names_of(texts, ids, first=0)
    options, measured = grouped_by or DEFAULTS, model.thresholds
    score_constant(model, by_vectors=measured is not None)
    codes, thresholds = np.arange(len(texts)), Thresholds.of(model, options, by_matcher=True)
    decision = model.decision if measured is None else measured.decision
    if thresholds.by_matcher:
        decision = LOG_ODDS if thresholds.matched is None else thresholds.matched.decision
    manifest = IndexManifest(
        str(model.folder.resolve()),
        fingerprint="",
        decision=decision,
        groups=grouped_by is not None,
        by_vectors=measured is not None,
        rule=options.rule,
        matched=thresholds.by_matcher,
    )

    @cache
    def encoded() -> tuple[Matrix, Matrix]:
        if progress is not None:
            progress(f"encoding {counted(len(texts), 'text')}")
        return search_vectors(model.trained, texts)

    if grouped_by is not None:
        found = dedupe(model, texts, grouped_by, encoded=encoded, progress=progress)
        codes = found.group
        threshold = found.summary.threshold
        manifest = replace(
            manifest,
            decision=decided(threshold, decision),
            evidence=[f"the threshold rests on {threshold.evidence}", *threshold.sentences()],
        )
    if not len(texts):
        return IndexState(manifest)
    manifest = replace(manifest, added=len(texts), next_group=int(codes.max()) + 1)
    return IndexState(manifest).with_part(Segment.of(encoded()[1], names, texts, codes))


def grown(
    state: IndexState, model: LoadedModel, texts: Sequence[str], ids: TextsLike | None, *, constant: float
) -> tuple[IndexState, Added]:
    """Return the index with further texts.

    Args:
        state: the index.
        model: that made its vectors.
        texts: (N,).
        ids: (N,) distinct names that no text of the index has. None: consecutive numbers.
        constant: see `score_constant`.

    Raises:
        ValueError: as `TextIndex.add`.
        TypeError: as `names_of`.
    """
    manifest, known = state.manifest, count_of(state.segments)
    names = names_of(texts, ids, first=manifest.added)
    if taken := [names[place] for place in np.flatnonzero(rows_of_ids(state.segments, names) >= 0).tolist()]:
        hint = "give the texts ids of their own" if ids is None else "remove these texts first, or leave them out"
        raise ValueError(f"the index has a text with the id {some(taken)} already: {hint}. Nothing was added")
    if not len(texts):
        return state, Added([], np.empty(0, np.int64), 0, GroupChanges())
    require_texts(folded(pa.array(texts, pa.large_string())))
    queries, documents = search_vectors(model.trained, texts)
    parts = [*state.segments, Segment.of(documents, names, texts, np.full(len(texts), NO_GROUP))]
    before = groups_of(parts)
    if manifest.groups and manifest.matched:
        after, decision = regrouped(model, manifest, parts)
        manifest = replace(manifest, decision=decision)
    elif manifest.groups:
        least, near = manifest.decision.threshold, manifest.neighbours
        links = links_of(parts, texts, queries, constant=constant, threshold=least, neighbours=near)
        after = grow(Grouping(model, manifest, constant), parts, links, known=known)
    else:
        after = np.append(before[:known], manifest.next_group + np.arange(len(texts)))
    next_group = max(manifest.next_group, int(after.max()) + 1)
    manifest = replace(manifest, added=manifest.added + len(texts), next_group=next_group)
    larger, groups = replace(state.in_groups(after[:known]), manifest=manifest), after[known:]
    larger = larger.with_part(Segment.of(documents, names, texts, groups))
    joined = int(np.count_nonzero(groups < state.manifest.next_group))
    return larger, Added(names, groups, joined, GroupChanges.between(before[:known], after[:known]))
