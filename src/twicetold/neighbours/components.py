"""Connected components of texts under pairs: by themselves, as trainings and corpora need them, and no groups.

Shape letters: n texts.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Ints: TypeAlias = NDArray[np.int64]


def components(count: int, left: Ints, right: Ints) -> Ints:
    """Return (n,) connected component of each text under the pairs left-right, numbered by each one's first text."""
    edges = sparse.coo_array((np.ones(len(left), np.int8), (left, right)), shape=(count, count))
    _, labels = connected_components(edges.tocsr(), directed=False)
    return numbered(labels)


def numbered(codes: NDArray[Any]) -> Ints:
    """Return (n,) the same groups, numbered from 0 by the position of each one's first text."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    by_first = np.empty(len(first), np.int64)
    by_first[np.argsort(first)] = np.arange(len(first))
    return by_first[place]
