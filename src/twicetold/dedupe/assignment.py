"""One to one: of all sets of pairs in which each row is once at most, the one with the largest sum of gains.

Solved exactly (Jonker and Volgenant 1987, as in SciPy) in each connected component of the pairs.

Shape letters: L pairs of rows.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from twicetold.neighbours.grouping import Floats, Ints

LEAST_GAIN = 1e-9  # of a link at the threshold itself, so that it is one


def assignment(left: Ints, right: Ints, gain: Floats) -> NDArray[np.bool_]:
    """Return (L,) which pairs make the sum of their gains the largest, if each row may be in one pair at most.

    Args:
        left: (L,) rows of one table.
        right: (L,) rows of the other; no pair is there twice.
        gain: (L,) at least 0.
    """
    rows, one = np.unique(left, return_inverse=True)
    columns, other = np.unique(right, return_inverse=True)
    graph = csr_array((np.ones(len(one)), (one, len(rows) + other)), shape=(len(rows) + len(columns),) * 2)
    component = connected_components(graph, directed=False)[1][one]
    order = np.argsort(component, kind="stable")
    chosen = np.zeros(len(one), bool)
    for part in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        chosen[part] = True if len(part) == 1 else _best(one[part], other[part], gain[part])
    return chosen


def _best(left: Ints, right: Ints, gain: Floats) -> NDArray[np.bool_]:
    """Choose pairs of one component. Each row on the left may also go to a column that stands for none."""
    rows, one = np.unique(left, return_inverse=True)
    columns, other = np.unique(right, return_inverse=True)
    alone = np.arange(len(rows))
    value = np.concatenate([1 + LEAST_GAIN + gain, np.ones(len(rows))])  # SciPy takes 0 for no pair
    places = np.append(one, alone), np.append(other, len(columns) + alone)
    matched = min_weight_full_bipartite_matching(
        csr_array((value, places), shape=(len(rows), len(columns) + len(rows))), maximize=True
    )
    partner = np.empty(len(rows), np.int64)
    partner[matched[0]] = matched[1]
    return np.asarray(partner[one] == other)
