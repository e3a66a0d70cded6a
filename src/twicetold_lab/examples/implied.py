"""Unlabelled pairs whose label follows from labelled pairs by transitivity.

If a and b are duplicates, and b and c, then so are a and c; and if a is not a duplicate of x, neither is b. So the
label of a pair holds for every pair of a text of the one duplicate cluster and a text of the other. The clusters are of
train's own labels (`data.clusters`), so nothing of validation or test is in them.

Shape letters: P labelled pairs, M texts, I implied pairs.
"""

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import UNKNOWN, pair_keys

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]
"""Left texts, right texts, and whether they say the same."""

SEED = 0  # the draw belongs to the data: it is the same for every run


def implied_pairs(labelled: Pairs, *, copies: int, cluster: NDArray[np.int64], code: NDArray[np.int64]) -> Pairs:
    """Draw implied pairs: for each labelled pair, `copies` times, a random text of either cluster.

    A pair that is labelled itself, or of two equal texts, or drawn twice, or whose labels contradict each other, is
    left out, so there are fewer than `copies` · P.

    Args:
        labelled: P pairs.
        copies: draws for each of them.
        cluster: (N,) of every text of the corpus; a text of unknown cluster is drawn itself.
        code: (N,) the same for equal texts.
    """
    left, right = (np.tile(side, copies) for side in labelled[:2])
    same = np.tile(labelled[2], copies)
    rng = np.random.default_rng(SEED)
    texts = np.unique(np.concatenate(labelled[:2]))
    order = texts[np.argsort(cluster[texts], kind="stable")]  # (M,), cluster after cluster
    clusters = cluster[order]

    def another(text: NDArray[np.int64]) -> NDArray[np.int64]:
        begin, end = (np.searchsorted(clusters, cluster[text], side=side) for side in ("left", "right"))
        drawn: NDArray[np.int64] = order[begin + (rng.random(len(text)) * (end - begin)).astype(np.int64)]
        return np.where(cluster[text] == UNKNOWN, text, drawn)

    left, right = another(left), another(right)
    one_cluster = (cluster[left] == cluster[right]) & (cluster[left] != UNKNOWN)
    kept = (code[left] != code[right]) & (one_cluster == same)
    left, right, same = left[kept], right[kept], same[kept]
    keys, first = np.unique(pair_keys(code[left], code[right]), return_index=True)
    given = pair_keys(code[labelled[0]], code[labelled[1]])
    fresh = np.sort(first[~np.isin(keys, given)])
    return left[fresh], right[fresh], same[fresh]
