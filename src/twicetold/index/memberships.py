"""Which group each text of an index is in, where it came from, and what a person has put together.

A text has three numbers: of its group; of its origin, the group that it was in before that one was merged into another,
so that the last merge of each group can be undone; and of its tie, which it shares with the texts that a person has put
in one group with it, and that stay together when groups are formed anew.

Shape letters: n texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.grouping import Ints

Pair = tuple[int, int]
"""Two groups, the lower one first."""
NO_GROUP = -1  # of a text that is being added
NO_TIE = -1


def pair_of(one: int, other: int) -> Pair:
    """Two groups as a pair."""
    return min(one, other), max(one, other)


@dataclass(frozen=True)
class Memberships:
    """Groups of some texts.

    Args:
        group: (n,) number of the group; `NO_GROUP` of a text that is being added.
        origin: (n,) of the group before its last merge; that of its group if there was none.
        tie: (n,) of the tie, `NO_TIE` if there is none. Texts of one tie are in one group.
    """

    group: Ints
    origin: Ints
    tie: Ints

    @classmethod
    def of(cls, group: Ints) -> "Memberships":
        """Groups that were never merged."""
        return cls(group, group, np.broadcast_to(np.int64(NO_TIE), len(group)))

    @classmethod
    def joined(cls, parts: Sequence["Memberships"]) -> "Memberships":
        """Those of several parts, one after another."""
        empty = np.empty(0, np.int64)
        names = ("group", "origin", "tie")
        return cls(*(np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in names))

    @classmethod
    def from_array(cls, array: NDArray[np.int64]) -> "Memberships":
        """What `array` gives."""
        return cls(*np.ascontiguousarray(array.T))

    def array(self) -> NDArray[np.int64]:
        """(n, 3) group, origin and tie."""
        return np.stack([self.group, self.origin, self.tie], axis=1)

    def __len__(self) -> int:
        return len(self.group)

    def at(self, rows: Ints | slice | NDArray[np.bool_]) -> "Memberships":
        """Those of some texts."""
        return Memberships(self.group[rows], self.origin[rows], self.tie[rows])

    def same_as(self, other: "Memberships") -> bool:
        """Whether all numbers are equal."""
        return all(map(np.array_equal, self._columns, other._columns))

    def within(self, groups: int) -> bool:
        """Whether all are numbers of so many groups."""
        least = (0, 0, NO_TIE)
        every = zip(self._columns, least, strict=True)
        return all(column.min(initial=0) >= low and column.max(initial=low) < groups for column, low in every)

    def with_rows(self, rows: Ints, members: "Memberships") -> "Memberships":
        """The same, but for some texts."""
        columns = []
        for former, now in zip(self._columns, members._columns, strict=True):
            column = former.copy()
            column[rows] = now
            columns.append(column)
        return Memberships(*columns)

    @property
    def _columns(self) -> tuple[Ints, Ints, Ints]:
        return self.group, self.origin, self.tie

    def regrouped(self, now: Ints) -> "Memberships":
        """The same texts in other groups, by a rule.

        A group whose texts are all in one other group now was merged, and its number is their origin.

        Args:
            now: (n,) new groups; these are all texts of their former groups.
        """
        moved = self.group != now
        pairs = np.unique(np.stack([self.group, now], axis=1)[self.group != NO_GROUP], axis=0)
        former, several = np.unique(pairs[:, 0], return_counts=True)
        whole = former[(several == 1) & ~np.isin(former, now)]
        merged = np.isin(self.group, whole)
        origin = np.where(merged, self.group, np.where(moved, now, self.origin))
        return Memberships(now, origin, self.tie)

    def merged(self, low: int, high: int) -> "Memberships":
        """A group as part of another, because a person says so."""
        gone = self.group == high
        both = gone | (self.group == low)
        taken = set(self.tie[~both].tolist())  # texts of a former merge may have left the group of this number
        tie = next(number for number in chain((low, high), count()) if number not in taken)
        return Memberships(
            np.where(gone, low, self.group), np.where(gone, high, self.origin), np.where(both, tie, self.tie)
        )

    def unmerged(self, number: int) -> tuple["Memberships", int]:
        """Undo the merge of a group, and say which one it was part of.

        Raises:
            ValueError: if the group was not merged into another.
        """
        out = (self.origin == number) & (self.group != number)
        if not out.any():
            raise ValueError(f"group {number} was not merged into another one: there is nothing to undo")
        into = int(self.group[out][0])
        rest = (self.group == into) & ~out
        cut = np.isin(self.tie, np.setdiff1d(np.intersect1d(self.tie[out], self.tie[rest]), NO_TIE))
        free = out & cut
        if len(np.unique(self.origin[rest & cut])) == 1:  # nothing is left that it holds together
            free |= rest & cut
        group = np.where(out, number, self.group)
        return Memberships(group, self.origin, np.where(free, NO_TIE, self.tie)), into

    def after_merges(self, merged: Mapping[int, int]) -> "Memberships":
        """What merges by a person make of groups, as an index of the first form has them.

        Args:
            merged: from a group to the one that it belongs to now.
        """
        if not merged:
            return self
        renamed, now = np.array(sorted(merged.items()), np.int64).T
        place = np.minimum(np.searchsorted(renamed, self.group), len(renamed) - 1)
        group = np.where(renamed[place] == self.group, now[place], self.group)
        return Memberships(group, self.group, np.where(np.isin(group, now), group, NO_TIE))


@dataclass(frozen=True)
class GroupChanges:
    """What became of groups that were there; a group that is not named has all the texts that it had.

    Args:
        merged: groups that are part of another one now, each with that one; sorted.
        split: groups whose texts are in several groups now, each with these; sorted.
        moved: number of texts that are in a group of another number than before.
    """

    merged: tuple[tuple[int, int], ...] = ()
    split: tuple[tuple[int, tuple[int, ...]], ...] = ()
    moved: int = 0

    @classmethod
    def between(cls, before: Ints, after: Ints) -> "GroupChanges":
        """From the (n,) groups of texts before and after."""
        moved = before != after
        touched = np.isin(before, np.unique(before[moved]))
        pairs = np.unique(np.stack([before, after], axis=1)[touched], axis=0)
        starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        parts = [tuple(part.tolist()) for part in np.split(pairs[:, 1], starts[1:])]
        now = list(zip(pairs[starts, 0].tolist(), parts, strict=False))
        return cls(
            merged=tuple((group, into[0]) for group, into in now if len(into) == 1),
            split=tuple((group, into) for group, into in now if len(into) > 1),
            moved=int(moved.sum()),
        )

    def renamed(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Pairs of groups by the numbers that the groups have now, sorted; without those that are one group."""
        now = dict(self.merged)
        found = {pair_of(*(now.get(group, group) for group in pair)) for pair in pairs}
        return sorted(pair for pair in found if pair[0] != pair[1])
