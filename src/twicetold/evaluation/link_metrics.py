"""The links of a dedupe, and how right they are: by pair, as statistics of the groups that are drawn, and by text.

Shape letters: M documents, G groups, R resamples.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors
from twicetold.evaluation.intervals import (
    Interval,
    Statistic,
    bounded_interval,
    effective_degrees,
    jackknife_variance,
    logit_interval,
)
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.grouping import Links
from twicetold.neighbours.nearest import BLOCK, similarities
from twicetold.neighbours.parallel import in_parallel

FEWEST_LINKS = 100  # a precision of fewer links is not taken for one that can be kept


def link_statistics(codes: Any, links: Links) -> tuple[Statistic, Statistic]:
    """Compute precision and recall of links, from (R, G) counts of each group in each resample; NaN where none.

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
    """Average over linked texts the share of their links that is right, and (G,) the same without each group.

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


def text_precision_with_interval(codes: Any, links: Links) -> tuple[float, Interval | None]:
    """Return `text_precision`, and its interval; NaN without one where no text is linked.

    Args:
        codes: (M,) group of each document.
        links: of the documents.
    """
    value, without = text_precision(codes, links)
    if not len(links):
        return value, None
    interval = logit_interval(value, jackknife_variance(without), effective_degrees(without))
    return value, bounded_interval(interval, value, codes[np.unique([links.left, links.right])])


def links_above(vectors: DocumentVectors, threshold: float) -> Links:
    """Return the pairs i < j with similarity ⟨left_i, right_j⟩ >= threshold; a block of rows is compared at a time."""
    count = len(vectors)
    similar = similarities(vectors.left, vectors.right)
    step = max(1, BLOCK // count)
    columns = np.arange(count)

    def search(block: int) -> tuple[Any, Any, Any]:
        rows = np.arange(block * step, min((block + 1) * step, count))
        scores = similar(rows)
        above = (scores >= threshold) & (columns > rows[:, None])
        row, column = np.nonzero(above)
        return rows[row], column, scores[above]

    left, right, similarity = zip(*in_parallel(search, math.ceil(count / step)), strict=True)
    return Links(  # in order, each pair once
        count,
        np.concatenate(left).astype(np.int64),
        np.concatenate(right).astype(np.int64),
        np.concatenate(similarity).astype(np.float64),
    )


def with_known(vectors: DocumentVectors, group: str) -> DocumentVectors:
    """Return the documents whose group is known, with this group alone."""
    rows = np.flatnonzero(vectors.groups[group] != UNKNOWN)
    part = vectors if len(rows) == len(vectors) else vectors.take(rows)
    return DocumentVectors(part.left, part.right, {group: part.groups[group]})
