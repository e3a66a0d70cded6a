"""Texts of an index to go on with after some text: those most alike, without the text itself and, if asked, its copies.

A search for what says the same wants near-copies first; a reader who has read a text does not. So texts that are equal
to it but for case and white space are left out, and on request those that share most words (`topics.near_copies`) with
it or with one that is already suggested. The search goes deeper until there are enough others.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twicetold.dedupe.distinct import folded
from twicetold.topics.near_copies import COPY, word_sets

if TYPE_CHECKING:
    from twicetold.index.text_index import Match

SPARE = 10  # texts that are looked at besides those that are asked for
DEEPER = 4  # times as many in the next search
DEEPEST = 1000  # nearest texts; who has more copies gets fewer suggestions


def related_texts(
    search: Callable[[Sequence[str], int], "list[list[Match]]"], texts: Sequence[str], k: int, *, not_copies: bool
) -> "list[list[Match]]":
    """The `k` texts most alike to each text but other than it, nearest first; fewer where there are no more.

    Args:
        search: from texts and a number to so many matches of each.
        texts: queries.
        k: at least 1.
        not_copies: leave near-copies out.
    """
    found: list[list[Match]] = [[] for _ in texts]
    asked, depth = list(range(len(texts))), k + SPARE
    while asked:
        again = []
        for query, matches in zip(asked, search([texts[query] for query in asked], depth), strict=True):
            found[query] = _others(texts[query], matches, not_copies=not_copies)[:k]
            if len(found[query]) < k and len(matches) >= depth and depth < DEEPEST:
                again.append(query)
        asked, depth = again, min(DEEPER * depth, max(DEEPEST, k))
    return found


def _others(text: str, matches: "list[Match]", *, not_copies: bool) -> "list[Match]":
    """The matches that are no repetition of the text, or of one above."""
    said = [text, *(match.text for match in matches)]
    equal = folded(pa.array(said, pa.large_string())).to_pylist()
    if not not_copies:
        return [match for match, words in zip(matches, equal[1:], strict=True) if words != equal[0]]
    sets = word_sets(equal)
    size = np.diff(sets.indptr)
    shared = (sets @ sets.T).toarray()
    either = size[:, None] + size - shared
    copy = (shared >= COPY * either) & (either > 0)
    kept = [0]
    for place in range(1, len(said)):
        if not copy[place, kept].any() and equal[place] != equal[0]:
            kept.append(place)
    return [matches[place - 1] for place in kept[1:]]
