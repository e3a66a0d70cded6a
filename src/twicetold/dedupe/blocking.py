"""The search for candidates: within limits, and with dense places taken together before.

Limits are blocks of equal values and windows of numbers. Texts are sorted by block, and in it by the value of the first
window. Those that a text may be linked with then follow each other, so a piece of consecutive texts is compared with
one slice of the others, and each pair is met once. The other windows mask the pairs of a piece. So no allowed pair is
lost to nearer ones that are not allowed, and no more than a piece is held. A block too large for that is searched by
itself as if there were no limits (`candidates`).

Where many thousand texts are alike, such as lines of one template, these are joined to a common centre first
(`neighbours.contracting`), and have one link each.

Shape letters: m distinct texts, b texts of a piece, w texts of its slice.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe import candidates
from twicetold.dedupe.candidates import candidate_pairs
from twicetold.dedupe.distinct import of_rows
from twicetold.dedupe.limits import Limits
from twicetold.dedupe.pairs import Candidates
from twicetold.neighbours.contracting import contracted
from twicetold.neighbours.dense_join import Pairs, gathered, once
from twicetold.neighbours.exact_search import nearest_rows
from twicetold.neighbours.grouping import Ints, Vectors
from twicetold.neighbours.nearest import similarities
from twicetold.neighbours.parallel import in_parallel
from twicetold.neighbours.rules import Rule
from twicetold.neighbours.sparse_join import pairs_between

MOST_LINKS, LINKS_EACH = 1_000_000, 20  # links that are few, and of each text
PIECE = 512  # least number of texts that are compared at a time, if there are as many
CELLS = 16_000_000  # similarities held at a time by each thread (64 MB)
LARGE = 4096  # texts of a block that is searched by itself, as that may cost less than to compare all its pairs


def search_pairs(
    vectors: Vectors, least: float | None, *, neighbours: int, rule: Rule, limits: Limits | None = None
) -> Candidates:
    """Find pairs of texts that are near each other.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        least: dot product of a link; None: scores are no dot products, so the nearest texts are found.
        neighbours: of each text, where they are.
        rule: by which links make groups.
        limits: of the distinct texts; None: there are none.
    """
    dense = None
    if least is not None and vectors[0] is vectors[1]:
        most = max(MOST_LINKS, LINKS_EACH * vectors[0].shape[0])
        allowed = None if limits is None else limits.allow
        dense = contracted(vectors[0], least, most=most, cliques=rule == "complete", allowed=allowed)
    if dense is None:
        return pairs_within(vectors, limits, least, neighbours=neighbours)
    rest = dense.rest
    inner = None if limits is None else limits.take(rest)
    pairs = pairs_within(of_rows(vectors, rest), inner, least, neighbours=neighbours)
    left, right, dots = dense.links
    return replace(
        pairs,
        left=np.append(rest[pairs.left], left),
        right=np.append(rest[pairs.right], right),
        dots=np.append(pairs.dots, dots),
        unfinished=pairs.unfinished + dense.start.count - len(rest),
        start=dense.start,
    )


def pairs_within(vectors: Vectors, limits: Limits | None, least: float | None, *, neighbours: int) -> Candidates:
    """Find pairs of texts that are near each other and within limits, if there are any.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        limits: of the distinct texts; None: there are none.
        least: dot product of a link: all pairs that reach it are found, unless there are more than are held; None: as
            many as `neighbours` of each text.
        neighbours: of each text.
    """
    if limits is None:
        return candidate_pairs(vectors, least, neighbours=neighbours)
    apart, packed = large_blocks(limits)
    parts = []
    for texts in apart:
        part = candidate_pairs(of_rows(vectors, texts), least, neighbours=neighbours)
        parts.append(Candidates(texts[part.left], texts[part.right], part.dots, part.unfinished, part.approximate))
    if len(packed):
        parts.append(_by_pieces(of_rows(vectors, packed), limits.take(packed), packed, least, neighbours))
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("left", "right", "dots"))
    pairs = once(len(limits.block), *columns)
    unfinished, approximate = sum(part.unfinished for part in parts), any(part.approximate for part in parts)
    return Candidates(*pairs, unfinished, approximate)


def large_blocks(limits: Limits) -> tuple[list[Ints], Ints]:
    """Return the texts of each block that is searched by itself, and all other texts."""
    size = np.bincount(limits.block)
    alone = np.zeros(len(size), bool) if limits.values else size > LARGE
    searched = [np.flatnonzero(limits.block == block) for block in np.flatnonzero(alone)]
    return searched, np.flatnonzero(~alone[limits.block])


@dataclass(frozen=True)
class _Reach:
    """Places that each place in the sorted order may be linked with: from `start` to before `stop`."""

    start: Ints
    stop: Ints


def _by_pieces(vectors: Vectors, limits: Limits, names: Ints, least: float | None, neighbours: int) -> Candidates:
    order = np.lexsort((*(value for value in limits.values[:1]), limits.block))
    vectors, limits, names = of_rows(vectors, order), limits.take(order), names[order]
    reach = _reach(limits)
    above = None if least is None else _above(vectors, limits, reach, least)
    left, right, dots, unfinished = (
        _nearest(vectors, limits, reach, least, neighbours) if above is None else (*above, 0)
    )
    return Candidates(names[left], names[right], dots, unfinished, False)


def _above(vectors: Vectors, limits: Limits, reach: "_Reach", least: float) -> Pairs | None:
    """Return the allowed pairs of sorted texts from a dot product on; None if they are more than are held."""
    queries, documents = vectors
    pieces = _pieces(reach, both=False)

    def search(number: int) -> Pairs:
        start, stop = pieces[number]
        last = int(reach.stop[stop - 1])
        left, right, dots = pairs_between(queries[start:stop], documents[start:last], least)
        left, right = left + start, right + start
        allowed = (right > left) & (right < reach.stop[left])
        for value, size in zip(limits.values[1:], limits.sizes[1:], strict=True):
            allowed &= np.abs(value[left] - value[right]) <= size
        return left[allowed], right[allowed], dots[allowed]

    return gathered(in_parallel(search, len(pieces)), candidates.MOST_PAIRS)


def _nearest(
    vectors: Vectors, limits: Limits, reach: "_Reach", least: float | None, neighbours: int
) -> tuple[Ints, Ints, NDArray[Any], int]:
    """Return the allowed pairs of each sorted text with its nearest ones, and how many texts may have more links.

    With `least` they are as many of each as are held, among the texts after it.
    """
    queries, documents = vectors
    both = least is None  # each text needs its nearest, on either side
    pieces = _pieces(reach, both=both)
    most = neighbours if both else candidates.held(len(limits.block), neighbours)

    def search(number: int) -> tuple[Ints, Ints, NDArray[Any], int]:
        start, stop = pieces[number]
        first = int(reach.start[start]) if both else start
        last = int(reach.stop[stop - 1])
        scores = similarities(queries[start:stop], documents[first:last])(slice(None))
        rows, columns = np.arange(start, stop)[:, None], np.arange(first, last)[None, :]
        allowed = columns < reach.stop[rows]
        allowed &= (columns != rows) & (columns >= reach.start[rows]) if both else columns > rows
        for value, size in zip(limits.values[1:], limits.sizes[1:], strict=True):
            allowed &= np.abs(value[rows] - value[columns]) <= size
        allowed &= scores > -np.inf if least is None else scores >= least
        scores[~allowed] = -np.inf
        hits = nearest_rows(lambda *_: scores, scores.shape, most, tile=scores.shape)
        full = 0 if both else int((allowed.sum(axis=1) > most).sum())
        return hits.query + start, hits.row + first, hits.similarity, full

    left, right, dots, unfinished = zip(*in_parallel(search, len(pieces)), strict=True)
    return np.concatenate(left), np.concatenate(right), np.concatenate(dots), sum(unfinished)


def _reach(limits: Limits) -> _Reach:
    """Return the reach of each of the sorted texts."""
    value, size = (limits.values[0], limits.sizes[0]) if limits.values else (np.zeros(len(limits.block)), 0.0)
    values, code = np.unique(value, return_inverse=True)
    first = limits.block * (len(values) + 1)  # in ascending keys of block and value
    ends = np.searchsorted(values, value - size), np.searchsorted(values, value + size, side="right")
    return _Reach(*(np.searchsorted(first + code, first + end) for end in ends))


def _pieces(reach: _Reach, *, both: bool) -> list[tuple[int, int]]:
    """Return consecutive texts that are compared at a time."""
    pieces, start, count = [], 0, len(reach.stop)
    while start < count:
        size = max(PIECE, int(reach.stop[start]) - start)
        stop = min(count, start + size)
        first = int(reach.start[start]) if both else start
        stop = start + max(1, min(stop - start, CELLS // (int(reach.stop[stop - 1]) - first)))
        pieces.append((start, stop))
        start = stop
    return pieces
