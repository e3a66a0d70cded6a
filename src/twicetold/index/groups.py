"""Groups of texts that are added to an index, and merges of groups that they propose.

Texts are added one after another. A text joins the group of the earlier text with the highest score, if that reaches
the threshold, and opens a group of its own otherwise. Where it is as similar to a text of another group, a merge of
the two groups is proposed: no text that is there already changes its group.

Shape letters: N new texts, L links between a new text and an earlier one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
"""Two groups, the lower one first."""


@dataclass(frozen=True)
class NewLinks:
    """Pairs of texts whose score reaches the threshold.

    Texts are numbered through: those of the index first, then the new ones.
    """

    new: NDArray[np.int64]
    """(L,) a new text, numbered from 0."""
    earlier: NDArray[np.int64]
    """(L,) a text of the index, or an earlier new one."""
    score: NDArray[np.float32]
    """(L,)."""


@dataclass(frozen=True)
class Proposal:
    """Two groups that may be one, and the two texts that say so."""

    groups: Pair
    ids: tuple[str, str]
    """The text that was added, and the earlier one."""
    similarity: float
    """Of these two texts, the highest that was found between the groups."""


def join(count: int, links: NewLinks, known: NDArray[np.int64], *, next_group: int) -> NDArray[np.int64]:
    """The group of each new text.

    Args:
        count: N.
        links: of these texts.
        known: groups of the texts of the index.
        next_group: the first number that no group has had.

    Returns:
        (N,) groups; new ones are numbered in the order of the texts that open them.
    """
    parent = np.arange(count) + len(known)
    order = np.lexsort((links.earlier, -links.score, links.new))
    texts, first = np.unique(links.new[order], return_index=True)
    parent[texts] = links.earlier[order[first]]
    opening = parent == np.arange(count) + len(known)
    groups = np.concatenate([known, np.full(count, -1)])
    groups[len(known) :][opening] = next_group + np.arange(np.count_nonzero(opening))
    parent = np.concatenate([np.arange(len(known)), parent])
    while True:  # each round halves the steps to the text that opened the group
        further = parent[parent]
        if np.array_equal(further, parent):
            return groups[parent][len(known) :]
        parent = further


def propose(links: NewLinks, groups: NDArray[np.int64], *, known: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Links between two groups, the strongest of each pair of groups.

    Args:
        links: of the new texts.
        groups: of all texts, the new ones at the end.
        known: number of texts that were there before.

    Returns:
        Numbers of the links, and their (P, 2) groups, the lower one first; sorted by groups.
    """
    between = np.flatnonzero(groups[links.new + known] != groups[links.earlier])
    pairs = np.sort(np.stack([groups[links.new[between] + known], groups[links.earlier[between]]], axis=1), axis=1)
    order = np.lexsort((links.earlier[between], links.new[between], -links.score[between], pairs[:, 1], pairs[:, 0]))
    pairs, between = pairs[order], between[order]
    first = np.ones(len(pairs), bool)
    first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return between[first], pairs[first]


def strongest(proposals: Iterable[Proposal], *, ignored: Sequence[Pair]) -> list[Proposal]:
    """One proposal for each pair of different groups that is not ignored, sorted by groups."""
    best: dict[Pair, Proposal] = {}
    for proposal in proposals:
        pair = proposal.groups
        if pair[0] != pair[1] and pair not in ignored:
            best[pair] = max(best.get(pair, proposal), proposal, key=lambda each: each.similarity)
    return [best[pair] for pair in sorted(best)]
