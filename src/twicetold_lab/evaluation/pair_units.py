"""The unit of sampling of labelled pairs: pairs that share texts, directly or by way of others, are not independent.

Shape letters: P pairs.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components


def units_of(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P,) connected component of each pair, where texts are nodes and pairs are edges; numbered by its first pair.

    Args:
        left: (P,) text of each pair.
        right: (P,) the other one.
    """
    texts, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    one, other = place.reshape(2, -1)
    edges = sparse.coo_matrix((np.ones(len(one), np.int8), (one, other)), shape=(len(texts), len(texts)))
    _, component = connected_components(edges, directed=False)
    _, first, unit = np.unique(component[one], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[unit], np.int64)
