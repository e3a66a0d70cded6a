"""Pairs of texts that may be links: those whose search vectors are near each other.

All pairs that reach a dot product are found: of sparse vectors, with or without dense columns beside them
(`neighbours.sparse_join`), and of dense ones (`dense_join`). Of more than `EXACT_UP_TO` texts, dense vectors are
compared in cells, which may miss pairs. Where there is no threshold, or more pairs reach it than are held,
each text is compared with its nearest ones.

Shape letters: m distinct texts, C pairs.
"""

import numpy as np

from twicetold.dedupe.options import EXACT_UP_TO as EXACT_UP_TO
from twicetold.dedupe.pairs import Candidates
from twicetold.neighbours.dense_join import Pairs, dense_self_pairs, most_self_pairs, once
from twicetold.neighbours.grouping import Vectors
from twicetold.neighbours.nearest import NOBODY, Index
from twicetold.neighbours.sparse_join import by_all_columns, by_prefixes, has_dense_columns

MOST_PAIRS = 30_000_000  # pairs that are held


def candidate_pairs(vectors: Vectors, least: float | None, *, neighbours: int) -> Candidates:
    """Find pairs of texts that are near each other.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        least: dot product of a link: all pairs that reach it are found, unless there are more than are held; None: as
            many as `neighbours` of each text.
        neighbours: of each text.
    """
    queries, documents = vectors
    count = documents.shape[0]
    large = count > EXACT_UP_TO
    if least is not None:
        joined, approximate = _joined(vectors, least, large=large)
        if joined is not None:
            return Candidates(*joined, unfinished=0, approximate=approximate)
        neighbours = held(count, neighbours)
    approximate = large and isinstance(documents, np.ndarray)
    nearest = Index(documents, approximate=approximate).search(queries, k=min(neighbours + 1, count))
    kept = (nearest.index != NOBODY) & (nearest.index != np.arange(count)[:, None])
    if least is not None:
        kept &= nearest.similarity >= least
    row, column = np.nonzero(kept)
    unfinished = 0 if least is None else int((kept.sum(axis=1) >= neighbours).sum())
    pairs = once(count, row, nearest.index[row, column], nearest.similarity[row, column])
    return Candidates(*pairs, unfinished, approximate)


def held(count: int, neighbours: int) -> int:
    """Count the neighbours held for each text, at least `neighbours`, if there are more pairs than `MOST_PAIRS`."""
    return max(neighbours, MOST_PAIRS // count)


def _joined(vectors: Vectors, least: float, *, large: bool) -> tuple[Pairs | None, bool]:
    """Return all pairs that reach a dot product, or most of them, and whether some may be missing; None if too many."""
    queries, documents = vectors
    if isinstance(documents, np.ndarray):
        return (most_self_pairs if large else dense_self_pairs)(vectors, least, most=MOST_PAIRS), large
    if least > 0 and documents is queries and not has_dense_columns(documents):
        pairs = by_prefixes(documents, least, most=MOST_PAIRS)
        if pairs is not None:
            return pairs, False
    return by_all_columns(vectors, least, most=MOST_PAIRS), False
