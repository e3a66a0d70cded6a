"""Texts that a search finds, and searches that leave copies out.

A search for what says the same wants near-copies first; a reader who has read a text does not. So texts are left out
that are equal to the query but for case and white space, or share most words with it or with a match above. The
search goes deeper until there are enough others.

Shape letters: Q queries, M texts, V words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from twicetold.dedupe.distinct import folded
from twicetold.features.splitting import words

COPY = 0.7  # share of their words (Jaccard) from which on two texts are near-copies
SPARE = 10  # matches that are looked at besides those that are asked for
DEEPER = 4  # times as many in the next search
DEEPEST = 1000  # nearest texts: of a text with more copies there may be fewer than `k` others


@dataclass(frozen=True)
class Match:
    """A text that a search found.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> twicetold.fit(texts, lexical=True).index(texts).search(["tents to buy"], k=1)
        [[Match(id='1', text='Where can I buy a tent?', ...)]]
    """

    id: str
    text: str
    similarity: float
    """The model's score of query and text; higher means more alike."""
    probability: float | None
    """That both say the same, by the calibration of a dedupe when the index was built: over all pairs of validation
    texts where the model folder holds one, which says less than `Model.predict_proba`, else on labelled pairs, among
    which duplicates are more frequent. None by a model that was fitted to texts without labels."""
    group: int


Search: TypeAlias = Callable[[Sequence[str], int], list[list[Match]]]


def without_copies(search: Search, texts: Sequence[str], k: int) -> list[list[Match]]:
    """The `k` nearest texts of each query that repeat neither it nor each other, nearest first.

    Args:
        search: finds a number of matches of each of some texts.
        texts: (Q,) queries.
        k: at least 1.
    """
    matches: list[list[Match]] = [[] for _ in texts]
    asked, depth = list(range(len(texts))), k + SPARE
    while asked:
        again = []
        for query, nearest in zip(asked, search([texts[query] for query in asked], depth), strict=True):
            matches[query] = _others(texts[query], nearest)[:k]
            if len(matches[query]) < k and len(nearest) >= depth and depth < DEEPEST:
                again.append(query)
        asked, depth = again, min(DEEPER * depth, max(DEEPEST, k))
    return matches


def _others(text: str, matches: list[Match]) -> list[Match]:
    """The matches that repeat neither the text nor a match above."""
    texts = [text, *(match.text for match in matches)]
    equal = folded(pa.array(texts, pa.large_string())).to_pylist()
    sets = _word_sets(equal)
    size = np.diff(sets.indptr)
    shared = (sets @ sets.T).toarray()
    either = size[:, None] + size - shared
    copy = (shared >= COPY * either) & (either > 0)
    kept = [0]
    for place in range(1, len(texts)):
        if not copy[place, kept].any() and equal[place] != equal[0]:
            kept.append(place)
    return [matches[place - 1] for place in kept[1:]]


def _word_sets(texts: Sequence[str]) -> sparse.csr_matrix:
    """(M, V) which words each text has, 0 or 1; case and marks do not count."""
    found = words(texts, lower_case=True)
    usable = np.asarray(pc.match_substring_regex(found.spellings, r"[\p{L}\p{N}]")).astype(bool)
    row = np.repeat(np.arange(len(texts)), np.diff(found.offsets))
    kept = usable[found.codes]
    vocabulary = max(len(found.spellings), 1)
    pair = np.unique(row[kept] * vocabulary + found.codes[kept])
    place = np.divmod(pair, vocabulary)
    return sparse.csr_matrix((np.ones(len(pair), np.float32), place), (len(texts), vocabulary))
