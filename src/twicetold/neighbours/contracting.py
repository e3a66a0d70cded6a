"""Dense places: texts that are as alike to a common mean as a link asks, joined before all pairs are compared.

Fifty thousand lines of one template may have a billion links, which say no more than that all are one group. Where the
links of a sample of the texts show that there are more than `most`, texts are taken together around those of the sample
with most links, as spherical k-means does (Dhillon and Modha 2001) with a least similarity: a text belongs to the cell
whose mean is most similar to it, if that reaches the threshold, which is what average linkage asks of a text and a
group. It keeps one link, with the text of the sample that is most similar to it. What is left, and the sample, is
compared in full.

The sample goes by a hash of the vectors, so it does not depend on the order of the texts.

Shape letters: n texts, A of them that are not joined yet, R sampled ones, C cells, D columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.dense_join import Pairs
from twicetold.neighbours.grouping import Floats, Ints, Merges
from twicetold.neighbours.nearest import Matrix, products, row_dots
from twicetold.neighbours.sample import hashed
from twicetold.neighbours.sparse_join import pairs_between

SAMPLED, FEWEST, HELD = 256, 64, 16_000_000  # texts of a sample, and similarities that are held (64 MB)
ROUNDS, MEANS = 8, 2  # samples, and times that means are computed
CLIQUE = 128  # texts of a cell that are compared with each other where only these can become a group
NONE = -1  # cell of a text that is in none
SEED = 0
_NO_MERGES: Pairs = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
Allowed = Callable[[Ints, Ints], NDArray[np.bool_]]


@dataclass(frozen=True)
class Contracted:
    """Texts that are joined before all pairs are compared.

    Args:
        rest: the texts that are still to be compared with each other, ascending.
        links: of the others, and of those that they are linked with.
        start: the merges of each cell, with the similarity of a text to the mean.
    """

    rest: Ints
    links: Pairs
    start: Merges


def contracted(
    rows: Matrix, threshold: float, *, most: int, cliques: bool = False, allowed: Allowed | None = None
) -> Contracted | None:
    """Join the texts of dense places; None if there are no such places.

    Args:
        rows: (n, D) vectors, dense or CSR, as queries and as documents.
        threshold: above 0, of dot products.
        most: links that are few.
        cliques: link texts of a cell with each other, and merge none.
        allowed: from pairs of texts to which of them may be linked; None: all.
    """
    count = rows.shape[0]
    if threshold <= 0 or count * (count - 1) / 2 <= most:
        return None
    order = np.argsort(_hashes(rows), kind="stable")
    waiting, held = np.ones(count, bool), np.ones(count, bool)
    links, merges = list[Pairs](), list[Pairs]()
    for _ in range(ROUNDS):
        some, active = order[waiting[order]][: _sampled(count)], np.flatnonzero(waiting)
        if not len(active):
            break
        to_some = _similar(rows, active, some, allowed)
        degree = (to_some >= threshold).sum(axis=0)
        if int(degree.sum()) * len(active) <= 2 * most * len(some):
            break
        place = np.searchsorted(active, some)
        chosen = _unlinked(to_some[place] >= threshold, degree, most / len(active))
        cell, similarity = _cells(rows, active, to_some[:, chosen], some[chosen], threshold)
        best = _partners(to_some, cell, cell[place], threshold)
        joined = np.flatnonzero(best != NONE)
        if not len(joined):
            break
        texts, partner = active[joined], some[best[joined]]
        waiting[texts] = held[texts] = False
        held[some] = True
        if cliques:
            links += _cliques(rows, texts, cell[joined], best[joined], threshold, allowed)
        else:
            links.append((texts, partner, row_dots(rows, texts, rows, partner)))
            merges.append(_merged(texts, cell[joined], similarity[joined]))
    if not links:
        return None
    left, right, dots = (np.concatenate(side) for side in zip(*links, strict=True))
    one, other, value = (np.concatenate(side) for side in zip(*(merges or [_NO_MERGES]), strict=True))
    return Contracted(np.flatnonzero(held), (left, right, dots), Merges(count, one, other, value))


def _sampled(count: int) -> int:
    return max(FEWEST, min(SAMPLED, HELD // count))


def _hashes(rows: Matrix) -> NDArray[np.uint64]:
    """Return (n,) of each vector, whatever its place."""
    weights = np.random.default_rng(SEED).standard_normal(rows.shape[1])
    # a product by BLAS depends on the place of a row in its last bits
    keys = np.einsum("nd,d->n", rows, weights) if isinstance(rows, np.ndarray) else rows @ weights
    return hashed(np.ascontiguousarray(keys, np.float64).view(np.int64), SEED)


def _similar(rows: Matrix, active: Ints, some: Ints, allowed: Allowed | None) -> NDArray[np.float32]:
    """Return (A, R) dot products; -inf to itself and where a link is not allowed."""
    dots = _products(rows[active], rows[some])
    if allowed is not None:
        for column, row in enumerate(some.tolist()):
            dots[~allowed(active, np.full(len(active), row)), column] = -np.inf
    dots[np.searchsorted(active, some), np.arange(len(some))] = -np.inf
    return dots


def _products(rows: Matrix, others: Matrix) -> NDArray[np.float32]:
    product = products(rows, others)
    step = max(1, HELD // max(1, 4 * others.shape[0]))
    parts = [product(slice(start, start + step)) for start in range(0, rows.shape[0], step)]
    return np.concatenate(parts)


def _unlinked(linked: NDArray[np.bool_], degree: Ints, least: float) -> Ints:
    """Return places of sampled texts with at least so many links, most first, without those linked with one before."""
    chosen = list[int]()
    for place in np.argsort(-degree, kind="stable").tolist():
        if degree[place] >= least and not linked[place, chosen].any():
            chosen.append(place)
    return np.array(chosen, np.int64)


def _cells(
    rows: Matrix, active: Ints, similarity: NDArray[np.float32], centre: Ints, threshold: float
) -> tuple[Ints, Floats]:
    """Return (A,) cell of each text, `NONE` if it is in no cell, and its similarity to the mean.

    Args:
        rows: (n, D) vectors.
        active: (A,) texts.
        similarity: (A, C) similarities to the centres; -inf where a link is not allowed, and of a centre to itself.
        centre: (C,) texts.
        threshold: least similarity to a mean.
    """
    own = rows[active]
    apart = similarity == -np.inf
    apart[np.searchsorted(active, centre), np.arange(len(centre))] = False
    score = np.where(apart | (similarity > -np.inf), similarity, np.inf)  # a centre is in its own cell
    for _ in range(MEANS):
        cell = _best(score, threshold)
        inside = np.flatnonzero(cell != NONE)
        size = np.maximum(np.bincount(cell[inside], minlength=len(centre)), 1)
        share = (1 / size[cell[inside]]).astype(np.float32)
        belongs = sparse.csr_matrix((share, (cell[inside], inside)), shape=(len(centre), len(active)))
        score = _products(own, belongs @ own)
        score[apart] = -np.inf
    return _best(score, threshold), score.max(axis=1).astype(np.float64)


def _best(score: NDArray[np.float32], threshold: float) -> Ints:
    return np.where(score.max(axis=1) >= threshold, score.argmax(axis=1), NONE)


def _partners(similarity: NDArray[np.float32], cell: Ints, of_some: Ints, threshold: float) -> Ints:
    """Return (A,) place of the most similar sampled text of the same cell, `NONE` if none is similar enough."""
    inside = np.where(of_some[None, :] == cell[:, None], similarity, -np.inf)
    return np.where(cell != NONE, _best(inside, threshold), NONE)


def _merged(rows: Ints, cell: Ints, similarity: Floats) -> Pairs:
    """Return each text with the one of its cell that is most similar to the mean."""
    order = np.lexsort((rows, -similarity, cell))
    first = np.append(True, np.diff(cell[order]) > 0)
    centre = rows[order][first][np.cumsum(first) - 1]
    return centre[~first], rows[order][~first], similarity[order][~first]


def _cliques(
    rows: Matrix, texts: Ints, cell: Ints, best: Ints, threshold: float, allowed: Allowed | None
) -> Iterator[Pairs]:
    """Yield links between texts of a cell, those with the same most similar sampled text beside each other."""
    order = np.lexsort((texts, best, cell))
    starts = np.flatnonzero(np.append(True, np.diff(cell[order]) > 0))
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        for start in range(begin, end, CLIQUE):
            some = np.sort(texts[order[start : min(start + CLIQUE, end)]])
            left, right, dots = pairs_between(rows[some], rows[some], threshold)
            keep = left < right if allowed is None else (left < right) & allowed(some[left], some[right])
            yield some[left[keep]], some[right[keep]], dots[keep]
