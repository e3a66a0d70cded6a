"""Pairs of rows of two tables that are duplicates, as `link` gives them.

Shape letters: n and m rows of the tables, P pairs of texts, L pairs of rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from twicetold.dedupe.html_table import HtmlTable, Member, ShownGroup
from twicetold.dedupe.limits import require_length
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.printable import counted

MOST = 10_000_000  # pairs of rows
COLLAPSED = 10_000  # pairs among which those of equal texts are shown as one


@dataclass(frozen=True)
class LinkedRows:
    """Pairs of rows of two tables that are duplicates, ordered by their rows. A notebook shows the doubtful first.

    Args:
        left: (L,) row of the left table.
        right: (L,) row of the right one.
        probability: (L,) that their texts are duplicates.
        rows: n and m.
        texts: n of the left table and m of the right one.
        without_values: number of rows of both that have no value in a column of `same` or `within`.

    Examples:
        >>> import twicetold
        >>> old = ["Canon EOS-70D camera, 18 MP", "a tent"]
        >>> new = ["a garden hose", "canon EOS-70D camera 18 MP"]
        >>> linked = twicetold.link(old, new, lexical=True)  # LinkedRows
        >>> [(old[a], new[b]) for a, b in zip(linked.left, linked.right)]
        [('Canon EOS-70D camera, 18 MP', 'canon EOS-70D camera 18 MP')]
        >>> linked.linked()[1]
        array([1])
        >>> [new[row] for row in linked.unlinked()[1].tolist()]
        ['a garden hose']
        >>> linked.doubtful_first()
        array([0])
        >>> "canon EOS-70D camera<del>,</del> 18 MP" in linked.html().fragment()  # a table, as a notebook shows it
        True
    """

    left: Ints
    right: Ints
    probability: Floats
    rows: tuple[int, int]
    texts: tuple[Sequence[str], Sequence[str]] = field(repr=False, compare=False)
    without_values: int = 0

    def __len__(self) -> int:
        return len(self.left)

    def linked(self) -> tuple[Ints, Ints]:
        """Return rows of the left table, and of the right one, that are in a pair, ascending."""
        return np.unique(self.left), np.unique(self.right)

    def unlinked(self) -> tuple[Ints, Ints]:
        """Return rows of the left table, and of the right one, that are in none, ascending."""
        left, right = self.linked()
        return np.setdiff1d(np.arange(self.rows[0]), left), np.setdiff1d(np.arange(self.rows[1]), right)

    def left_join(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return all rows of the left table in order with their partners: left row, right row, probability; or null.

        Examples:
            >>> import twicetold
            >>> left, right, _ = twicetold.link(["a tent", "a hose"], ["A hose"], lexical=True).left_join()
            >>> left.to_pylist(), right.to_pylist()
            ([0, 1], [None, 0])
        """
        alone = self.unlinked()[0]
        left = np.append(self.left, alone)
        order = np.argsort(left, kind="stable")
        columns = (np.append(column, np.zeros_like(alone)) for column in (self.right, self.probability))
        right, probability = (pa.array(column[order], mask=order >= len(self)) for column in columns)
        return pa.array(left[order]), right, probability

    def doubtful_first(self) -> Ints:
        """Return (L,) positions of the pairs, the least probable first."""
        return np.argsort(self.probability, kind="stable")

    def html(self, names: tuple[Sequence[Any], Sequence[Any]] | None = None) -> HtmlTable:
        """Return the pairs as a table that marks what differs; `write` makes a page of it.

        Args:
            names: n ids or numbers of the left table and m of the right one; None: numbers of rows, from 0.
        """
        for side, given, rows in zip(("left", "right"), names or (), self.rows, strict=False):
            require_length(f"names, {side}", given, rows)
        sides = (len(side) for side in self.linked())
        about = [f"{count:,} of {rows:,} rows" for count, rows in zip(sides, self.rows, strict=True)]
        note = f"{counted(len(self), 'pair')} with {about[0]} on the left and {about[1]} on the right."
        return HtmlTable("pair", [note], len(self), self._shown(names or (range(self.rows[0]), range(self.rows[1]))))

    def _repr_html_(self) -> str:
        return self.html().fragment()

    def _shown(self, names: tuple[Sequence[Any], Sequence[Any]]) -> Iterator[ShownGroup]:
        equal: dict[tuple[str, str], list[int]] = {}
        for pair in self.doubtful_first().tolist()[:COLLAPSED]:
            texts = self.texts[0][self.left[pair]], self.texts[1][self.right[pair]]
            equal.setdefault(texts, []).append(pair)
        for texts, pairs in equal.items():
            left, right = (np.unique(side[pairs]).tolist() for side in (self.left, self.right))
            one = Member([f"left {names[0][row]}" for row in left], texts[0])
            other = Member([f"right {names[1][row]}" for row in right], texts[1], float(self.probability[pairs[0]]))
            yield ShownGroup([one, other], count=len(pairs))


def rows_of(text: Ints, count: int, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of rows of each pair of texts: which pair of texts it is, the row on the left and on the right.

    Args:
        text: of each of the n + m rows.
        count: n.
        left: (P,) texts of the left table.
        right: (P,) texts of the right one.

    Raises:
        ValueError: if there are more than 10 million pairs of rows.
    """
    count_of = [np.bincount(side, minlength=len(text)) for side in (text[:count], text[count:])]
    if (total := int((count_of[0][left] * count_of[1][right]).sum())) > MOST:
        raise ValueError(
            f"there are {total:,} pairs of rows, as equal texts stand in many rows of both tables: expected at most "
            f"{MOST:,}. Dedupe one of the tables first"
        )
    number = csr_array((np.arange(1, len(left) + 1), (left, right)), shape=(len(text), len(text)))
    pairs = number[text[:count]][:, text[count:]].tocoo()
    return pairs.data - 1, pairs.coords[0].astype(np.int64), pairs.coords[1].astype(np.int64)
