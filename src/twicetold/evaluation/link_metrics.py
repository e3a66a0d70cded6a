"""How right the links of a dedupe are: by pair, as statistics of the groups that are drawn, and by text.

Shape letters: M documents, G groups, R resamples.
"""

from typing import Any

import numpy as np
from scipy import sparse

from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.resampling import Statistic
from twicetold.neighbours.grouping import Links

FEWEST_LINKS = 100  # a precision of fewer links is not taken for one that can be kept


def link_statistics(codes: Any, links: Links) -> tuple[Statistic, Statistic]:
    """Precision and recall of links, from (R, G) counts of each group in each resample; NaN where there are none.

    Args:
        codes: (M,) group of each document.
        links: of the documents.
    """
    _, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    one, other = place[links.left], place[links.right]
    right = np.bincount(one[one == other], minlength=len(sizes)).astype(np.float64)
    across = one != other
    shape = (len(sizes), len(sizes))
    wrong = sparse.coo_array((np.ones(int(across.sum())), (one[across], other[across])), shape=shape).tocsr()
    pairs = sizes * (sizes - 1) / 2

    def precision(weights: Floats) -> Floats:
        true = weights @ right
        false = np.asarray((wrong @ weights.T).T * weights).sum(axis=1)
        return np.asarray(np.divide(true, true + false, out=np.full(len(true), np.nan), where=true + false > 0))

    def recall(weights: Floats) -> Floats:
        every = weights @ pairs
        return np.asarray(np.divide(weights @ right, every, out=np.full(len(every), np.nan), where=every > 0))

    return precision, recall


def text_precision(codes: Any, links: Links) -> tuple[float, Floats]:
    """Mean over linked texts of the share of their links that is right, and (G,) the same without each group.

    NaN where no text is linked.

    Args:
        codes: (M,) group of each document.
        links: of the documents.
    """
    _, place = np.unique(codes, return_inverse=True)
    groups = int(place.max()) + 1
    text, mate = np.append(links.left, links.right), np.append(links.right, links.left)
    same = place[text] == place[mate]
    right, every = (np.bincount(each, minlength=len(place)).astype(np.float64) for each in (text[same], text))
    linked = np.flatnonzero(every)
    share = right[linked] / every[linked]
    own, texts = (np.bincount(place[linked], weights=each, minlength=groups) for each in (share, None))
    pair, count = np.unique(text[~same] * groups + place[mate[~same]], return_counts=True)
    one, other = np.divmod(pair, groups)  # a text, and a group with texts that it is linked to
    left = every[one] - count
    kept = np.divide(right[one], left, out=np.zeros(len(one)), where=left > 0)
    gained = np.bincount(other, weights=kept - right[one] / every[one], minlength=groups)
    alone = np.bincount(other[left == 0], minlength=groups)  # texts that are linked to this group alone
    number = len(linked) - texts - alone
    without = np.divide(share.sum() - own + gained, number, out=np.full(groups, np.nan), where=number > 0)
    return float(share.mean()) if len(share) else np.nan, without
