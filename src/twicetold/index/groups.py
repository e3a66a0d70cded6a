"""Numbers of the groups of an index when some are formed anew, and what became of those before.

A rule says which texts belong together (`neighbourhood`). A new group takes the number of the former one that most of
its texts come from.

Shape letters: m texts of the groups that are formed anew, in the order of the index, those that are added at the end;
L links.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.grouping import Ints

NO_GROUP = -1  # of a text that is being added


@dataclass(frozen=True)
class GroupChanges:
    """Groups of an index that have changed; a group that is not named has all the texts that it had.

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


def connected(former: Ints, left: Ints, right: Ints) -> Ints:
    """(m,) connected components, where the texts of a former group are connected and links connect further ones.

    Args:
        former: (m,) former groups; `NO_GROUP` of texts that had none.
        left: (L,) one text of each link.
        right: (L,) the other one.
    """
    there = former != NO_GROUP
    groups, place = np.unique(former[there], return_inverse=True)
    node = np.empty(len(former), np.int64)
    node[there] = place
    node[~there] = len(groups) + np.arange(np.count_nonzero(~there))
    codes = components(len(groups) + int(np.count_nonzero(~there)), node[left], node[right])
    return numbered(codes[node])


def _firsts(values: Ints) -> NDArray[np.bool_]:
    """The first of each run of equal values."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]
