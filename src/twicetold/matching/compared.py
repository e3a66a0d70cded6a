"""The texts of a table, or of two, compared: distinct texts, candidate pairs, their features, and groups.

Texts that are equal in their normal form are one text here, whatever else there is; with further columns, rows are one
that are equal in all of them. Distinct texts are in alphabetical order, so nothing depends on that of the rows.

Shape letters: n rows, N distinct texts, P pairs, D dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.candidates import NEAREST, Pairs, candidates
from twicetold.matching.pair_features import Column
from twicetold.matching.records import all_features
from twicetold.matching.terms import Terms
from twicetold.neighbours.components import numbered
from twicetold.neighbours.grouping import Links, merge
from twicetold.normal_form import normal_form

FLOOR = 0.02  # probability of a pair that average linkage counts as 0
CUT = 0.5  # mean probability of two groups that become one
LEAST_CUT = 0.3  # where most links would be wrong, an expected F1 is no reason for more of them
FEWEST_ANSWERS = 10  # by which probabilities are good enough to choose a cut by them


def best_cut(probability: NDArray[np.float64], answers: int) -> float:
    """The probability from which links have the highest expected F1, after answers; `CUT` after few.

    It is half of that F1 (Lipton et al. 2014, "Optimal thresholding of classifiers to maximize F1 measure"), so equal
    and nearly equal probabilities need no order.

    Args:
        probability: (P,) of the candidates; 1 or 0 of those that a person was asked about.
        answers: their number.

    Examples:
        >>> import numpy as np
        >>> from twicetold.matching.compared import best_cut
        >>> round(best_cut(np.array([0.9, 0.4, 0.1]), answers=20), 3)
        0.382
    """
    if answers < FEWEST_ANSWERS:
        return CUT
    ranked = np.sort(probability)[::-1]
    expected = 2 * np.cumsum(ranked) / (np.arange(1, len(ranked) + 1) + ranked.sum())
    return max(LEAST_CUT, float(expected.max(initial=0.0)) / 2)


@dataclass(frozen=True)
class Compared:
    """Candidate pairs of distinct texts, with features.

    Args:
        text: (n,) distinct text of each row.
        first: (N,) first row of each distinct text.
        pairs: P candidates.
        columns: (P,) features by name.
        equal: (E,) and (E,) texts of the first and of the second table that are equal, in further columns as well.
        terms: of the N texts.
        vectors: (N, D); None without them.
        also: further columns, N values each in their normal form.
    """

    text: NDArray[np.int64]
    first: NDArray[np.int64]
    pairs: Pairs
    columns: dict[str, Column]
    equal: tuple[NDArray[np.int64], NDArray[np.int64]]
    terms: Terms
    vectors: NDArray[np.float32] | None
    also: Sequence[Sequence[str]]

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (P,) and (P,) first rows of the two texts of each pair, the earlier row on the left."""
        one, other = self.first[self.pairs.left], self.first[self.pairs.right]
        return np.minimum(one, other), np.maximum(one, other)

    def groups(self, probability: NDArray[np.float64], cut: float = CUT) -> NDArray[np.int64]:
        """Return (n,) group of each row: average linkage on probabilities, 0 where a pair is no candidate.

        Args:
            probability: (P,) of the pairs.
            cut: least mean probability of two groups that become one.
        """
        kept = probability >= FLOOR
        links = Links.of(len(self.first), self.pairs.left[kept], self.pairs.right[kept], probability[kept])
        return numbered(merge(links, rule="average", threshold=cut, missing=0.0).cut(cut)[self.text])


def compare(
    texts: Sequence[str],
    *,
    vectors: NDArray[np.float32] | None = None,
    also: Sequence[Sequence[str]] = (),
    split: int | None = None,
    nearest: int = NEAREST,
) -> Compared:
    """Compare the rows of a table, or of two.

    Args:
        texts: n of them, those of the first table before those of the second.
        vectors: (n, D) of the texts, of length 1; None to compare by letters and words alone.
        also: further columns, n values each, empty where one is missing.
        split: number of rows of the first table; None if there is one. Then pairs are across tables only, and equal
            texts of one table and of the other are a pair like any other.
        nearest: candidates of a text, by either way.

    Examples:
        >>> from twicetold.matching.compared import compare
        >>> from twicetold.matching.matcher import Matcher
        >>> compared = compare(["red shoe 42", "Red shoe, 42", "red shoe 43", "a tent"])
        >>> compared.groups(Matcher.generic(vectors=False).probability(compared.columns)).shape
        (4,)
    """
    folded = [normal_form(column) for column in (texts, *also)]
    side = ["0"] * len(texts) if split is None else ["0"] * split + ["1"] * (len(texts) - split)
    keys = list(zip(side, *folded, strict=True))
    place = {key: number for number, key in enumerate(sorted(set(keys)))}
    text = np.fromiter(map(place.__getitem__, keys), np.int64, len(keys))
    _, first = np.unique(text, return_index=True)
    terms = Terms.of_folded([folded[0][row] for row in first])
    boundary = None if split is None else int(np.count_nonzero(first < split))
    known = None if vectors is None else vectors[first]
    pairs = candidates(terms, known, nearest=nearest, split=boundary)
    further = tuple([column[row] for row in first] for column in folded[1:])
    equal = [
        (number, place["1", *values])
        for (table, *values), number in place.items()
        if table == "0" and ("1", *values) in place
    ]
    one, other = np.array(equal, np.int64).reshape(-1, 2).T
    return Compared(text, first, pairs, all_features(terms, pairs, further), (one, other), terms, known, further)
