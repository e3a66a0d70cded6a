"""What a person said of pairs of texts: some say the same, others do not. It holds in the groups.

Texts that say the same are in one group, and so are the whole groups that they were in. Where two texts of a group do
not say the same, the group is divided: its texts are joined again along its links, the strongest first, but for links
that would join what must stay apart. Other groups stay as they are.

Shape letters: n texts, P pairs, m distinct texts, L links.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from twicetold.dedupe.limits import Limits
from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.grouping import Floats, Ints, Links
from twicetold.tables.columns import MISSING, BadValues, answers_of


class Contradiction(ValueError):
    """A pair that must stay apart, and pairs that join it.

    Args:
        apart: position of the pair.
        joining: positions of the others, in the order of the chain; none, if it is a pair of a text with itself.
    """

    def __init__(self, apart: int, joining: list[int]) -> None:
        self.apart, self.joining = apart, joining
        others = ", ".join(map(str, joining))
        joined = f"pairs say the same that join its texts: {others}" if joining else "it is a text and itself"
        super().__init__(f"pair {apart} (from 0) does not say the same, but {joined}")


class KeptApart(ValueError):
    """A pair that is to be joined and whose values keep it apart.

    Args:
        pair: its position.
        left: row of the one text.
        right: row of the other.
    """

    def __init__(self, pair: int, left: int, right: int) -> None:
        self.pair = pair
        super().__init__(f"pair {pair} (from 0) is to join texts {left} and {right}, but {self.why}")

    why = "same or within keeps them apart: their values in a column differ, or one is missing"


@dataclass(frozen=True)
class Said:
    """Pairs of texts of which a person said whether they say the same.

    Args:
        left: (P,) one text.
        right: (P,) the other one.
        same: (P,) whether they do.
    """

    left: Ints
    right: Ints
    same: NDArray[np.bool_]

    @classmethod
    def of(cls, count: int, left: ArrayLike, right: ArrayLike, same: ArrayLike) -> "Said":
        """Pairs of n texts by their rows, from 0; a pair without an answer is left out.

        Raises:
            Contradiction: if pairs that say the same join a pair that does not.
            ValueError: if there are not as many of each, there is no such row, or an answer is neither yes nor no.
        """
        one, other = (
            _checked(side, lambda row: row % 1 == 0, "numbers of rows").astype(np.int64) for side in (left, right)
        )
        try:
            answers = answers_of(same)
        except (BadValues, TypeError) as error:
            raise ValueError(f"pairs: {error}") from error
        if not one.shape == other.shape == answers.shape:
            raise ValueError(f"pairs: expected as many of each, got shapes {one.shape}, {other.shape}, {answers.shape}")
        wrong = np.flatnonzero((np.minimum(one, other) < 0) | (np.maximum(one, other) >= count))
        if len(wrong):
            place = int(wrong[0])
            rows = f"{one[place]} and {other[place]}"
            raise ValueError(f"pairs: expected rows 0 to {count - 1}, got {rows} as pair {place} (from 0)")
        given = answers != MISSING
        found = cls(one[given], other[given], answers[given] == 1)
        found._check(count)
        return found

    def __len__(self) -> int:
        return len(self.left)

    def require_allowed(self, limits: Limits | None) -> None:
        """Check that no pair joins what equal values keep apart; a window is of links alone.

        Raises:
            KeptApart: if one does.
        """
        if limits is None:
            return
        wrong = np.flatnonzero(self.same & (limits.block[self.left] != limits.block[self.right]))
        if len(wrong):
            raise KeptApart(int(wrong[0]), int(self.left[wrong[0]]), int(self.right[wrong[0]]))

    def key(self, place: Ints) -> Ints:
        """(n,) key by which texts are told apart that are equal and do not say the same.

        Args:
            place: (n,) number of the distinct text.
        """
        key = np.zeros(len(place), np.int64)
        equal = ~self.same & (place[self.left] == place[self.right])
        for side in (self.left, self.right):
            key[side[equal]] = side[equal] + 1
        return key

    def of_distinct(self, place: Ints) -> "Said":
        """The same of distinct texts, without pairs of equal ones."""
        left, right = place[self.left], place[self.right]
        kept = left != right
        return Said(left[kept], right[kept], self.same[kept])

    def has(self, links: Links) -> NDArray[np.bool_]:
        """(L,) whether a pair is among those of which something was said."""
        said = _keys(links.count, self.left, self.right)
        return np.isin(_keys(links.count, links.left, links.right), said)

    def hold(self, links: Links, codes: Ints, score: Callable[[Ints, Ints], Floats]) -> tuple[Links, Ints]:
        """Links and groups in which what was said holds.

        Args:
            links: of m distinct texts.
            codes: (m,) group of each.
            score: of pairs; those that say the same become links, whatever their score.
        """
        left, right = self.left[self.same], self.right[self.same]
        links = links.take(~np.isin(_keys(links.count, links.left, links.right), self._apart(np.arange(links.count))))
        if len(left):
            ends = (np.concatenate([links.left, left]), np.concatenate([links.right, right]))
            links = Links.of(links.count, *ends, np.concatenate([links.similarity, score(left, right)]))
        joined = components(int(codes.max(initial=-1)) + 1, codes[left], codes[right])[codes]
        ones, others = self.left[~self.same], self.right[~self.same]
        divided = np.isin(joined, joined[ones[joined[ones] == joined[others]]])
        if divided.any():
            inside = divided[links.left] & (codes[links.left] == codes[links.right])
            parts = self._parts(links.take(inside))
            joined = np.where(divided, links.count + parts, joined)
        return links, numbered(joined)

    def _parts(self, links: Links) -> Ints:
        """(m,) part of each text, by these links from the strongest on; at once all that are each other's strongest."""
        part = components(links.count, self.left[self.same], self.right[self.same])
        tie = np.random.default_rng(0).permutation(len(links))  # by position, equal links of one text would take turns
        order = np.lexsort((tie, -links.similarity))
        left, right, rank = links.left[order], links.right[order], np.arange(len(order))
        while True:
            one, other = part[left], part[right]
            open_ = (one != other) & ~np.isin(_keys(links.count, one, other), self._apart(part))
            left, right, rank, one, other = left[open_], right[open_], rank[open_], one[open_], other[open_]
            if not len(rank):
                return part
            best = np.full(links.count, len(order))
            np.minimum.at(best, one, rank)
            np.minimum.at(best, other, rank)
            merged = (best[one] == rank) & (best[other] == rank)
            into = np.arange(links.count)
            into[np.maximum(one, other)[merged]] = np.minimum(one, other)[merged]
            part = into[part]

    def _apart(self, part: Ints) -> Ints:
        """Keys of the pairs of parts that must stay apart."""
        return _keys(len(part), part[self.left[~self.same]], part[self.right[~self.same]])

    def _check(self, count: int) -> None:
        part = components(count, self.left[self.same], self.right[self.same])
        wrong = np.flatnonzero(~self.same & (part[self.left] == part[self.right]))
        if not len(wrong):
            return
        apart = int(wrong[0])
        ones, others = self.left[self.same], self.right[self.same]
        edges = sparse.coo_array((np.ones(len(ones), np.int8), (ones, others)), shape=(count, count)).tocsr()
        start, text = int(self.left[apart]), int(self.right[apart])
        before = breadth_first_order(edges, start, directed=False)[1]
        joining = []
        while text != start:
            ends = {text, int(before[text])}
            pairs = zip(ones.tolist(), others.tolist(), strict=True)
            place = next(number for number, pair in enumerate(pairs) if set(pair) == ends)
            joining.append(int(np.flatnonzero(self.same)[place]))
            text = int(before[text])
        raise Contradiction(apart, joining[::-1])


def _checked(values: ArrayLike, right: Callable[[Any], bool], expected: str) -> NDArray[Any]:
    """The values, none of which is missing, a text or another number than those that are right."""
    found = np.asarray(values)
    for place, value in enumerate(found.ravel().tolist()):
        if not (isinstance(value, int | float | np.number | np.bool_) and right(value)):
            raise ValueError(f"pairs: expected {expected}, got {value!r:.60} as pair {place} (from 0)")
    return found


def _keys(count: int, one: Ints, other: Ints) -> Ints:
    return np.minimum(one, other) * count + np.maximum(one, other)
