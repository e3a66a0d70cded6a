"""Duplicate clusters: the transitive closure of the duplicate pairs of train.

Shape letters: N texts, P pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import UNKNOWN


def duplicate_clusters(
    count: int, *, left: NDArray[np.int64], right: NDArray[np.int64], members: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return cluster of each text that follows from the given duplicate pairs.

    Args:
        count: N, the number of texts.
        left: (P,) texts of the duplicate pairs of train. Pairs of other splits must not be here: the closure
            would carry their labels into training.
        right: (P,) their duplicates.
        members: the texts of train. One without a duplicate is a cluster of its own.

    Returns:
        (N,) codes from 0 for members, `UNKNOWN` for every other text.
    """
    codes = np.full(count, UNKNOWN, np.int64)
    # Numbered over the members alone, so that the codes have no gaps.
    _, codes[members] = np.unique(components(count, left, right)[members], return_inverse=True)
    return codes


def cluster_card(clusters: NDArray[np.int64], *, left: NDArray[np.int64], right: NDArray[np.int64]) -> dict[str, Any]:
    """Return counts of the clusters, and of contradictory labels.

    Args:
        clusters: (N,) codes of `duplicate_clusters`.
        left: (P,) texts of the pairs of train that are labelled as *not* saying the same.
        right: (P,) the other texts.

    Returns:
        `clusters` (of two texts or more), `singletons`, `largest`, and `contradictions`: labelled non-duplicates
        that the closure puts into one cluster.
    """
    sizes = np.bincount(clusters[clusters != UNKNOWN])
    return {
        "clusters": int(np.count_nonzero(sizes > 1)),
        "singletons": int(np.count_nonzero(sizes == 1)),
        "largest": int(sizes.max(initial=0)),
        "contradictions": int(np.count_nonzero((clusters[left] == clusters[right]) & (clusters[left] != UNKNOWN))),
    }
