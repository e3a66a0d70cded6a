"""Pairs of texts that must be in one group (must-link) or must not (cannot-link), as a person decided.

Must-link texts are in one group, and so are the whole groups that they were in. A group with both texts of a
cannot-link pair is divided: its texts are joined again along its links, the strongest first, except by links that would
join such a pair. Other groups stay as they are.

Shape letters: n texts, P pairs, m distinct texts, L links.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from twicetold.dedupe.limits import Limits
from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.grouping import Floats, Ints, Links
from twicetold.tables.columns import MISSING, BadValues, Column, answers_of


class Contradiction(ValueError):
    """A cannot-link pair whose texts must-link pairs join.

    Args:
        cannot_link: position of the pair.
        must_link: positions of the others, in the order of the chain; none if the pair is a text with itself.
    """

    def __init__(self, cannot_link: int, must_link: list[int]) -> None:
        self.cannot_link, self.must_link = cannot_link, must_link
        others = ", ".join(map(str, must_link))
        joined = f"other pairs join them: {others}" if must_link else "both are one text"
        super().__init__(f"pair {cannot_link} (from 0) keeps its texts apart, but {joined}")


class MustLinkRefused(ValueError):
    """A must-link pair whose columns do not allow a link.

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
class Constraints:
    """Must-link and cannot-link pairs of texts.

    Args:
        left: (P,) one text.
        right: (P,) the other one.
        same: (P,) true of must-link pairs, false of cannot-link pairs.
    """

    left: Ints
    right: Ints
    same: NDArray[np.bool_]

    @classmethod
    def of(cls, count: int, left: ArrayLike, right: ArrayLike, same: Column) -> "Constraints":
        """Return pairs of n texts by their rows, from 0; a pair without an answer is left out.

        Raises:
            Contradiction: if must-link pairs join a cannot-link pair.
            ValueError: if lengths differ, there is no such row, or an answer is neither yes nor no.
        """
        one, other = _rows(left), _rows(right)
        try:
            answers = answers_of(same)
        except (BadValues, TypeError) as error:
            raise ValueError(f"pairs: {error}") from error
        if not one.shape == other.shape == answers.shape:
            raise ValueError(f"pairs: lengths differ: {one.size}, {other.size}, {answers.size}")
        wrong = np.flatnonzero((np.minimum(one, other) < 0) | (np.maximum(one, other) >= count))
        if len(wrong):
            place = int(wrong[0])
            rows = f"{one[place]} and {other[place]}"
            raise ValueError(f"pairs: expected rows 0 to {count - 1}, got {rows} as pair {place} (from 0)")
        given = answers != MISSING
        constraints = cls(one[given], other[given], answers[given] == 1)
        constraints._require_consistent(count)
        return constraints

    def __len__(self) -> int:
        return len(self.left)

    @property
    def must_link(self) -> tuple[Ints, Ints]:
        """Both texts of each must-link pair."""
        return self.left[self.same], self.right[self.same]

    @property
    def cannot_link(self) -> tuple[Ints, Ints]:
        """Both texts of each cannot-link pair."""
        return self.left[~self.same], self.right[~self.same]

    def require_allowed(self, limits: Limits | None) -> None:
        """Check that equal values allow each must-link pair; a window is a condition on links alone.

        Raises:
            MustLinkRefused: if they do not.
        """
        if limits is None:
            return
        wrong = np.flatnonzero(self.same & (limits.block[self.left] != limits.block[self.right]))
        if len(wrong):
            raise MustLinkRefused(int(wrong[0]), int(self.left[wrong[0]]), int(self.right[wrong[0]]))

    def key(self, place: Ints) -> Ints:
        """Return (n,) key that separates equal texts of a cannot-link pair.

        Args:
            place: (n,) number of the distinct text.
        """
        key = np.zeros(len(place), np.int64)
        equal = ~self.same & (place[self.left] == place[self.right])
        for side in (self.left, self.right):
            key[side[equal]] = side[equal] + 1
        return key

    def of_distinct(self, place: Ints) -> "Constraints":
        """Return the same pairs of distinct texts, without pairs of equal ones."""
        left, right = place[self.left], place[self.right]
        differ = left != right
        return Constraints(left[differ], right[differ], self.same[differ])

    def implied(self, count: int, left: Ints, right: Ints) -> Floats:
        """Return (C,) 1 for pairs of n texts that must-link pairs join, 0 for those of a cannot-link pair, or NaN.

        Args:
            count: n.
            left: (C,) one text.
            right: (C,) the other one.
        """
        part = components(count, *self.must_link)
        one, other = part[left], part[right]
        known = np.where(one == other, 1.0, np.nan)
        known[np.isin(pair_keys(count, one, other), self._separate(part))] = 0.0
        return known

    def apply(self, links: Links, codes: Ints, score: Callable[[Ints, Ints], Floats]) -> tuple[Links, Ints]:
        """Return links and groups that satisfy the constraints.

        Args:
            links: of m distinct texts.
            codes: (m,) group of each.
            score: of pairs; must-link pairs become links, whatever their score.
        """
        left, right = self.must_link
        refused = pair_keys(links.count, *self.cannot_link)
        links = links.take(~np.isin(pair_keys(links.count, links.left, links.right), refused))
        if len(left):
            ends = (np.concatenate([links.left, left]), np.concatenate([links.right, right]))
            links = Links.of(links.count, *ends, np.concatenate([links.similarity, score(left, right)]))
        joined = components(int(codes.max(initial=-1)) + 1, codes[left], codes[right])[codes]
        one, other = (joined[side] for side in self.cannot_link)
        divided = np.isin(joined, one[one == other])
        if divided.any():
            inside = divided[links.left] & (codes[links.left] == codes[links.right])
            parts = self._parts(links.take(inside))
            joined = np.where(divided, links.count + parts, joined)
        return links, numbered(joined)

    def _parts(self, links: Links) -> Ints:
        """Return (m,) part of each text, by these links, strongest first, mutual strongest ones at once."""
        part = components(links.count, *self.must_link)
        tie = np.random.default_rng(0).permutation(len(links))  # by position, equal links of one text would take turns
        order = np.lexsort((tie, -links.similarity))
        left, right, rank = links.left[order], links.right[order], np.arange(len(order))
        while True:
            one, other = part[left], part[right]
            open_ = (one != other) & ~np.isin(pair_keys(links.count, one, other), self._separate(part))
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

    def _separate(self, part: Ints) -> Ints:
        """Return keys of the pairs of parts that cannot be joined."""
        return pair_keys(len(part), *(part[side] for side in self.cannot_link))

    def _require_consistent(self, count: int) -> None:
        part = components(count, *self.must_link)
        wrong = np.flatnonzero(~self.same & (part[self.left] == part[self.right]))
        if not len(wrong):
            return
        ones, others = self.must_link
        edges = sparse.coo_array((np.ones(len(ones), np.int8), (ones, others)), shape=(count, count)).tocsr()
        start, text = int(self.left[wrong[0]]), int(self.right[wrong[0]])
        before = breadth_first_order(edges, start, directed=False)[1]
        chain = []
        while text != start:
            ends = pair_keys(count, np.array([text]), before[[text]].astype(np.int64))
            chain.append(int(np.flatnonzero(self.same & (pair_keys(count, self.left, self.right) == ends))[0]))
            text = int(before[text])
        raise Contradiction(int(wrong[0]), chain[::-1])


def _rows(values: ArrayLike) -> Ints:
    """Return numbers of rows, none of which is missing, a text or a fraction."""
    rows = np.asarray(values)
    for place, value in enumerate(rows.ravel().tolist()):
        if not (isinstance(value, int | float) and value % 1 == 0):
            raise ValueError(f"pairs: expected numbers of rows, got {value!r:.60} as pair {place} (from 0)")
    return rows.astype(np.int64)


def pair_keys(count: int, one: Ints, other: Ints) -> Ints:
    """Return a number for each pair, the same for both orders, of things numbered below `count`."""
    return np.minimum(one, other) * count + np.maximum(one, other)
