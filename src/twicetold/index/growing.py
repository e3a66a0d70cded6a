"""How an index grows: texts are added, or all are grouped anew, by the rule of the index.

Shape letters: N texts that are added.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twicetold.index.groups import MERGES, Merges, Proposal, TextLinks, strongest
from twicetold.index.memberships import NO_GROUP, GroupChanges, Memberships
from twicetold.index.neighbourhood import GroupRule, grow, regroup
from twicetold.index.parts import alive_of, count_of, members_of, rows_of
from twicetold.index.scored_search import ScoredSearch
from twicetold.index.segments import Segment
from twicetold.index.state import IndexState, part_of
from twicetold.tables.texts import TextsLike
from twicetold.trained.vectors import search_vectors


@dataclass(frozen=True)
class Added:
    """What became of the texts that were added.

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
    proposals: list[Proposal]
    """Merges of groups that these texts propose."""
    changes: GroupChanges
    """What became of the groups that were there."""


def grown(
    state: IndexState, rule: GroupRule, texts: Sequence[str], ids: TextsLike | None, *, merges: Merges
) -> tuple[IndexState, Added]:
    """The index with further texts.

    Args:
        state: the index.
        rule: of its groups.
        texts: (N,).
        ids: (N,) distinct names that no text of the index has. None: numbers, counted through.
        merges: of groups that were there: make them, or propose them.

    Raises:
        ValueError: as `TextIndex.add`.
        TypeError: if the family scores pairs only.
    """
    if merges not in MERGES:
        raise ValueError(f"expected one of {MERGES} as what becomes of merges, got {merges!r}")
    names, manifest = state.new_ids(texts, ids), state.manifest
    if not len(texts):
        return state, Added([], np.empty(0, np.int64), 0, [], GroupChanges())
    queries, documents = search_vectors(rule.model.trained, texts)
    fresh = part_of(names, texts, documents, np.full(len(texts), NO_GROUP))
    parts, known = [*state.segments, fresh], count_of(state.segments)
    before, changes = members_of(parts), GroupChanges()
    if manifest.groups:
        links = ScoredSearch(rule.model, rule.constant, parts, state.centres, state.nprobe).links(
            texts, queries, threshold=manifest.decision.threshold, neighbours=manifest.neighbours
        )
        found = grow(rule, parts, links, merges=merges, ignored=manifest.ignored, next_group=manifest.next_group)
        after, proposed = found.members, _proposals(found.proposed, found.members, parts)
        alive = np.flatnonzero(alive_of(state.segments))
        changes = GroupChanges.between(before.group[alive], after.group[alive])
    else:
        own = before.group.copy()
        own[known:] = manifest.next_group + np.arange(len(texts))
        after, proposed = Memberships.of(own), []
    groups = after.group[known:]
    larger = state.in_groups(after.at(slice(known))).with_part(part_of(names, texts, documents, groups))
    next_group = max(manifest.next_group, int(after.group.max()) + 1)
    larger = replace(
        larger, manifest=replace(larger.manifest, added=manifest.added + len(texts), next_group=next_group)
    ).after(changes, [*manifest.proposals, *proposed])
    there = {each.groups for each in larger.manifest.proposals}
    return larger, Added(
        names,
        groups,
        int(np.count_nonzero(groups < manifest.next_group)),
        [each for each in strongest(proposed, ignored=()) if each.groups in there],
        changes,
    )


def regrouped(state: IndexState, rule: GroupRule) -> tuple[IndexState, GroupChanges]:
    """The index with all texts grouped anew by a rule, which is that of the index then, and what has changed."""
    manifest, before, alive = state.manifest, members_of(state.segments), alive_of(state.segments)
    found = regroup(rule, state.segments, ignored=manifest.ignored, next_group=manifest.next_group)
    changes = GroupChanges.between(before.group[alive], found.members.group[alive])
    proposed = _proposals(found.proposed, found.members, state.segments)
    now = state.in_groups(found.members)
    now = replace(now, manifest=replace(manifest, rule=rule.rule, next_group=found.next_group))
    return now.after(changes, proposed), changes


def _proposals(links: TextLinks, members: Memberships, parts: Sequence[Segment]) -> list[Proposal]:
    """Links between texts of two groups as proposals to merge these."""
    ends = np.stack([members.group[links.left], members.group[links.right]], axis=1)
    pairs, score = np.sort(ends, axis=1).tolist(), links.score.tolist()
    earlier, later = (rows_of(parts, side)["id"].to_pylist() for side in (links.left, links.right))
    found = zip(pairs, later, earlier, score, strict=True)
    return [Proposal((low, high), (new, old), value) for (low, high), new, old, value in found]
