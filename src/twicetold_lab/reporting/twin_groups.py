"""Groups that may be one: texts that are nearly equal, word for word, but of different groups.

A precision counts a link between two groups as wrong. Where labels are incomplete, as stories that were collected twice
or questions of which nobody said that they are duplicates, some of these links are right, and the precision is a lower
bound. Near-equal texts show how often: two texts are near-equal here if the cosine of their sets of words is at least
0.85, which is one word of seven that differs, and both have four words or more.

Shape letters: M texts of a split, L near-equal pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import NOBODY, Index
from twicetold.neighbours.sparse_join import by_prefixes
from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.scoring.duplicates import duplicate_groups

KEY = "twin_groups"  # on a card
SPLITS = ("val", "test")  # whose groups precisions rest on
CLASSES = ("category",)  # groups of which texts are no duplicates
LEAST_COSINE, FEWEST_WORDS = 0.85, 4
MOST_PAIRS, NEIGHBOURS = 5_000_000, 50
LISTED = 10
COLUMNS = ("split", "near-equal pairs", "texts of the groups", "a pair of them")
EXPLANATION = (
    "Groups that may be one: pairs of groups with the most near-equal texts (one word of seven differs, or none). If "
    "they are one, links between them are right where they count as wrong, and precisions are lower bounds."
)


@dataclass(frozen=True)
class Twins:
    """Two groups of one split with near-equal texts.

    Args:
        split: of both.
        pairs: near-equal pairs with a text of each.
        texts: how many each has.
        example: one of the pairs.
    """

    split: str
    pairs: int
    texts: tuple[int, int]
    example: tuple[str, str]


def find_twins(corpus: Corpus) -> dict[str, Any]:
    """What near-equal texts say of a corpus's groups, for its card; empty without groups of duplicates.

    Returns:
        `near_equal_pairs_in_one_group` and `near_equal_pairs_of_two_groups`, each split -> count, and `twin_groups`,
        a list of the `Twins` with the most pairs, as dicts.
    """
    within: dict[str, int] = {}
    between: dict[str, int] = {}
    found: list[Twins] = []
    for split in SPLITS:
        groups = duplicate_groups(corpus, split, classes=CLASSES)
        if groups is None:
            continue
        texts = corpus.texts.take(corpus.members[split]).to_pylist()
        pairs = near_equal(texts)
        left, right = (groups[1][side] for side in pairs)
        known = (left != UNKNOWN) & (right != UNKNOWN)
        within[split], between[split] = int((known & (left == right)).sum()), int((known & (left != right)).sum())
        found += _most_alike(split, texts, groups[1], (pairs[0][known], pairs[1][known]))
    if not within:
        return {}
    found.sort(key=lambda twins: -twins.pairs)
    return {
        "near_equal_pairs_in_one_group": within,
        "near_equal_pairs_of_two_groups": between,
        KEY: [asdict(twins) for twins in found[:LISTED]],
    }


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


def cells(twins: Mapping[str, Any]) -> tuple[str, ...]:
    """A line of the table, see `COLUMNS`."""
    one, other = twins["texts"]
    return twins["split"], f"{twins['pairs']:,}", f"{one:,} and {other:,}", " / ".join(twins["example"])


def _most_alike(split: str, texts: Sequence[str], codes: Ints, pairs: tuple[Ints, Ints]) -> list[Twins]:
    left, right = pairs
    apart = codes[left] != codes[right]
    left, right = left[apart], right[apart]
    both = np.sort(np.stack([codes[left], codes[right]], axis=1), axis=1)
    keys, first, count = np.unique(both, axis=0, return_index=True, return_counts=True)
    most = np.argsort(-count, kind="stable")[:LISTED]
    size = {int(code): int((codes == code).sum()) for code in np.unique(keys[most])}
    return [
        Twins(
            split,
            int(count[at]),
            (size[int(keys[at, 0])], size[int(keys[at, 1])]),
            (texts[left[first[at]]], texts[right[first[at]]]),
        )
        for at in most
    ]
