"""The search for pairs of near texts, with dense places taken together before.

Files whose texts have few links, and those whose scores are no dot products, are searched as `near` and `near_within`
do. Where many thousand texts are alike, such as lines of one template, these are joined to a common centre first
(`neighbours.contracting`), and have one link each.

Shape letters: m distinct texts.
"""

from dataclasses import replace

import numpy as np

from twicetold.dedupe.limits import Limits
from twicetold.dedupe.near import NearPairs, near_pairs
from twicetold.dedupe.near_within import near_pairs_within, of_rows
from twicetold.neighbours.contracting import Contracted, contracted
from twicetold.neighbours.grouping import Vectors
from twicetold.neighbours.rules import Rule

MOST_LINKS, LINKS_EACH = 1_000_000, 20  # links that are few, and of each text


def search_pairs(
    vectors: Vectors, least: float | None, *, neighbours: int, rule: Rule, limits: Limits | None = None
) -> NearPairs:
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
        return _plain(vectors, least, neighbours, limits)
    rest = dense.rest
    found = _plain(of_rows(vectors, rest), least, neighbours, None if limits is None else limits.take(rest))
    return _with_dense_places(found, dense)


def _plain(vectors: Vectors, least: float | None, neighbours: int, limits: Limits | None) -> NearPairs:
    if limits is None:
        return near_pairs(vectors, least, neighbours=neighbours)
    return near_pairs_within(vectors, limits, least, neighbours=neighbours)


def _with_dense_places(found: NearPairs, dense: Contracted) -> NearPairs:
    left, right, dots = dense.links
    return replace(
        found,
        left=np.append(dense.rest[found.left], left),
        right=np.append(dense.rest[found.right], right),
        dots=np.append(found.dots, dots),
        unfinished=found.unfinished + dense.start.count - len(dense.rest),
        start=dense.start,
    )
