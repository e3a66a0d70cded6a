"""Numbers of the groups of an index when some are formed anew, and merges that are proposed.

A rule says which texts belong together now (`neighbourhood`). Here this meets what was there: texts that a person has
put together stay together, groups that a person keeps apart stay apart, and a new group takes the number of the former
one that most of its texts come from. Where merges are only proposed, no text that was there changes its group.

Shape letters: m texts of the groups that are formed anew, in the order of the index, those that are added at the end;
L links; P pairs of groups.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.index.memberships import NO_GROUP, NO_TIE, Memberships, Pair
from twicetold.neighbours.grouping import Ints, components, numbered

Merges: TypeAlias = Literal["make", "propose"]
MERGES: tuple[Merges, ...] = get_args(Merges)
EQUAL = np.inf  # score of texts that are equal but for case and white space


@dataclass(frozen=True)
class TextLinks:
    """Pairs of texts whose score reaches the threshold."""

    left: Ints
    """(L,) the earlier text."""
    right: Ints
    """(L,) the later one."""
    score: NDArray[np.floating[Any]]
    """(L,)."""

    def at(self, kept: NDArray[Any] | slice) -> "TextLinks":
        """The links of these positions, or of this mask."""
        return TextLinks(self.left[kept], self.right[kept], self.score[kept])


@dataclass(frozen=True)
class Proposal:
    """Two groups that may be one, and the two texts that say so."""

    groups: Pair
    ids: tuple[str, str]
    """The later text, and the earlier one."""
    similarity: float
    """Of these two texts, the highest that was found between the groups."""


@dataclass(frozen=True)
class Settled:
    """Groups that were formed anew.

    Args:
        members: (m,) of the texts.
        proposed: the strongest link of each two groups that the rule would merge and that stay apart.
    """

    members: Memberships
    proposed: TextLinks


def settle(
    codes: Ints,
    former: Memberships,
    links: TextLinks,
    *,
    merges: Merges,
    ignored: Sequence[Pair],
    next_group: int,
) -> Settled:
    """Number groups that a rule has formed, and keep to what a person has decided.

    Args:
        codes: (m,) group of each text by the rule, from 0 without gaps.
        former: (m,) groups so far, with all of their texts.
        links: between the m texts.
        merges: make them, or propose them.
        ignored: pairs of groups that stay apart.
        next_group: the first number that no group has had.
    """
    codes = united(codes, former.tie)
    held = _several(codes, former.group) if merges == "propose" else _kept_apart(codes, former.group, ignored)
    labels = _labels(codes, former.group, held, links, all_stay=merges == "propose")
    now = renewed(labels, former.group, next_group=next_group)
    between = (codes[links.left] == codes[links.right]) & (now[links.left] != now[links.right])
    return Settled(former.regrouped(now), strongest_links(links.at(between & np.isfinite(links.score)), now))


def united(codes: Ints, tie: Ints) -> Ints:
    """(m,) groups, of which those that share a tie are one."""
    tied = np.flatnonzero(tie != NO_TIE)
    if not len(tied):
        return codes
    groups = int(codes.max()) + 1
    names, place = np.unique(tie[tied], return_inverse=True)
    return numbered(components(groups + len(names), codes[tied], groups + place)[codes])


def renewed(codes: Ints, former: Ints, *, next_group: int) -> Ints:
    """(m,) number of each text's group.

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


def followed(count: int, links: TextLinks) -> Ints:
    """(m,) the text that each one leads to, if each text with links follows the earlier one that is most alike."""
    parent = np.arange(count)
    order = np.lexsort((links.left, -links.score, links.right))
    texts, first = np.unique(links.right[order], return_index=True)
    parent[texts] = links.left[order[first]]
    while True:  # each round halves the steps to the end
        further = parent[parent]
        if np.array_equal(further, parent):
            return parent
        parent = further


def strongest_links(links: TextLinks, groups: Ints) -> TextLinks:
    """The strongest of the links between each two groups, sorted by groups."""
    pairs = np.sort(np.stack([groups[links.left], groups[links.right]], axis=1), axis=1)
    order = np.lexsort((links.left, links.right, -links.score, pairs[:, 1], pairs[:, 0]))
    first = np.ones(len(order), bool)
    first[1:] = (pairs[order][1:] != pairs[order][:-1]).any(axis=1)
    return links.at(order[first])


def strongest(proposals: Iterable[Proposal], *, ignored: Iterable[Pair]) -> list[Proposal]:
    """One proposal for each pair of different groups that is not ignored, sorted by groups."""
    best: dict[Pair, Proposal] = {}
    apart = set(ignored)
    for proposal in proposals:
        pair = proposal.groups
        if pair[0] != pair[1] and pair not in apart:
            best[pair] = max(best.get(pair, proposal), proposal, key=lambda each: each.similarity)
    return [best[pair] for pair in sorted(best)]


def codes_by_links(former: Ints, links: TextLinks) -> Ints:
    """(m,) connected components, where the texts of a former group are connected and links name the others."""
    there = former != NO_GROUP
    groups, place = np.unique(former[there], return_inverse=True)
    node = np.empty(len(former), np.int64)
    node[there] = place
    node[~there] = len(groups) + np.arange(np.count_nonzero(~there))
    found = components(len(groups) + int(np.count_nonzero(~there)), node[links.left], node[links.right])
    return numbered(found[node])


def _several(codes: Ints, former: Ints) -> NDArray[np.bool_]:
    """Which groups have texts of several former ones."""
    return np.asarray(_shares(codes, former)[0].sum(axis=1) > 1)


def _kept_apart(codes: Ints, former: Ints, ignored: Sequence[Pair]) -> NDArray[np.bool_]:
    """Which groups have texts of two former ones that stay apart."""
    held = np.zeros(int(codes.max()) + 1, bool)
    pairs = np.array(ignored, np.int64).reshape(-1, 2)
    pairs = pairs[np.isin(pairs, former).all(axis=1)]
    if len(pairs):
        has, names = _shares(codes, former)
        one, other = (has[:, np.searchsorted(names, side)] for side in pairs.T)
        held[one.multiply(other).tocoo().row] = True
    return held


def _shares(codes: Ints, former: Ints) -> tuple[Any, Ints]:
    """Which of the former groups each group has texts of, as a CSC matrix of ones, and the numbers of its columns."""
    there = former != NO_GROUP
    names, place = np.unique(former[there], return_inverse=True)
    pairs = np.unique(np.stack([codes[there], place], axis=1), axis=0).T
    shape = int(codes.max()) + 1, len(names)
    return sparse.csc_array((np.ones(pairs.shape[1], np.int64), (pairs[0], pairs[1])), shape=shape), names


def _labels(codes: Ints, former: Ints, held: NDArray[np.bool_], links: TextLinks, *, all_stay: bool) -> Ints:
    """(m,) groups, where texts of the ones that are held stay with their former group, and new texts follow one.

    Args:
        codes: (m,) groups by the rule.
        former: (m,) former groups.
        held: which groups may not take the place of the former ones.
        links: between the texts.
        all_stay: whether all texts stay with their former group.
    """
    if not all_stay and not held.any():
        return codes
    count, there = len(codes), former != NO_GROUP
    stay = there if all_stay else there & held[codes]
    inside = np.where(all_stay, 0, codes)[stay]
    labels = codes.copy()
    labels[stay] = count + np.unique(np.stack([inside, former[stay]], axis=1), axis=0, return_inverse=True)[1].ravel()
    if all_stay:  # the first text of a group by the rule that has one former group says its label
        rows = np.flatnonzero(stay)
        label = np.arange(len(held))
        label[codes[rows[::-1]]] = labels[rows[::-1]]
        labels = np.where(stay, labels, label[codes])
    new = ~there & held[codes]
    leads = followed(count, links.at(new[links.right] & (codes[links.left] == codes[links.right])))
    return np.where(new, np.where(there[leads], labels[leads], 2 * count + leads), labels)


def _firsts(values: Ints) -> NDArray[np.bool_]:
    """The first of each run of equal values."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]
