"""Count of nearly equal texts of different groups, which may be one.

A precision counts a link between two groups as wrong. Where labels are incomplete, as stories that were collected twice
or questions of which nobody said that they are duplicates, some of these links are right, and the precision is a lower
bound. Near-equal texts show how often: two texts are near-equal here if the cosine of their sets of words is at least
0.85, which is one word of seven that differs, and both have four words or more.

Shape letters: M texts of a split, L near-equal pairs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import NOBODY, Index
from twicetold.neighbours.sparse_join import by_prefixes
from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.scoring.duplicates import duplicate_groups

SPLITS = ("val", "test")  # whose groups precisions rest on
CLASSES = ("category",)  # groups of which texts are no duplicates
LEAST_COSINE, FEWEST_WORDS = 0.85, 4
MOST_PAIRS, NEIGHBOURS = 5_000_000, 50


def count_near_equal(corpus: Corpus) -> dict[str, dict[str, int]]:
    """Count near-equal pairs of one group and of two, for a corpus's card; empty without groups of duplicates.

    Returns:
        `near_equal_pairs_in_one_group` and `near_equal_pairs_of_two_groups`, each split -> count.
    """
    within: dict[str, int] = {}
    between: dict[str, int] = {}
    for split in SPLITS:
        groups = duplicate_groups(corpus, split, classes=CLASSES)
        if groups is None:
            continue
        left, right = (groups[1][side] for side in near_equal(corpus.texts.take(corpus.members[split]).to_pylist()))
        known = (left != UNKNOWN) & (right != UNKNOWN)
        within[split], between[split] = int((known & (left == right)).sum()), int((known & (left != right)).sum())
    if not within:
        return {}
    return {"near_equal_pairs_in_one_group": within, "near_equal_pairs_of_two_groups": between}


def near_equal(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """The earlier and the later text of each near-equal pair, each (L,)."""
    from sklearn.feature_extraction.text import CountVectorizer  # imported here: most reports have no need of them
    from sklearn.preprocessing import normalize

    try:
        words = CountVectorizer(binary=True, dtype=np.float32).fit_transform(texts)
    except ValueError:  # no text has a word
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.flatnonzero(np.diff(words.indptr) >= FEWEST_WORDS)
    if not len(rows):
        return rows, rows
    unit = normalize(words[rows])
    joined = by_prefixes(unit, LEAST_COSINE, most=MOST_PAIRS)
    left, right = joined[:2] if joined is not None else _nearest(unit)
    return rows[left], rows[right]


def _nearest(unit: Any) -> tuple[Ints, Ints]:
    """The same of each text's nearest ones alone, where so many words are shared that a join costs more."""
    near = Index(unit).search(unit, k=NEIGHBOURS + 1)
    row, place = np.nonzero((near.similarity >= LEAST_COSINE) & (near.index != NOBODY))
    column = near.index[row, place]
    pairs = np.unique(np.sort(np.stack([row, column], axis=1)[row != column], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]
