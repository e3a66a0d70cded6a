"""The pairs that a person should look at first: those nearest to the threshold, on both sides, spread over the groups.

Pairs between the same two groups, or within the same group, tell much the same. So of each such set the pair nearest to
the threshold comes first, then the second nearest of each, and so on.
"""

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.constraints import Constraints
from twicetold.neighbours.grouping import Floats, Ints, Links


def borderline(found: Links, least: float, codes: Ints, constraints: Constraints | None, *, count: int) -> Links:
    """Pairs to look at, those nearest to the threshold first; half of them reach it, if there are as many.

    Args:
        found: pairs of distinct texts on both sides of the threshold.
        least: score of a link.
        codes: (m,) group of each distinct text.
        constraints: pairs that need no further look.
        count: number of pairs.
    """
    if constraints is not None:
        found = constraints.without(found)
    one, other = codes[found.left], codes[found.right]
    reaches = found.similarity >= least
    distance = np.abs(found.similarity - least)
    turn = _turns(np.minimum(one, other), np.maximum(one, other), reaches, distance)
    order = np.lexsort((distance, turn))
    above, below = order[reaches[order]], order[~reaches[order]]
    upper = max(count - count // 2, count - len(below))
    chosen = np.concatenate([above[:upper], below[: count - min(upper, len(above))]])
    return found.take(chosen[np.argsort(distance[chosen], kind="stable")])


def _turns(low: Ints, high: Ints, reaches: NDArray[np.bool_], distance: Floats) -> Ints:
    """Place of each pair among those of the same two groups and the same side of the threshold, the nearest first."""
    order = np.lexsort((distance, reaches, high, low))
    changes = [np.diff(each[order].astype(np.int64)) != 0 for each in (low, high, reaches)]
    starts = np.flatnonzero(np.append(True, np.logical_or.reduce(changes))[: len(order)])
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return turn
