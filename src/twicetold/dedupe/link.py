"""Links between two tables: pairs of a row of the one and a row of the other whose texts are duplicates.

Candidates are pairs across tables alone, and the generic matcher gives each the probability of a duplicate, so
no label is needed; a person's answers move it, and hold. With `one_to_one` each row is in one pair at most: of all such
sets S of pairs the one with the largest expected gain (`dedupe.assignment`), if a right link gains 1 − t and a wrong
one costs t,

    max Σ_{(a, b) ∈ S} p(a, b) − t

Shape letters: n and m rows of the tables, P pairs of texts, L pairs of rows, A answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.dedupe.assignment import assignment
from twicetold.dedupe.constraints import Constraints
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.limits import Limits, require_length
from twicetold.dedupe.linked_rows import LinkedRows, rows_of
from twicetold.errors import require_number
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.normal_form import normal_form
from twicetold.printable import counted
from twicetold.tables.columns import Column, Size, codes_of, distances_by, keys_of, size_of, strings_of
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.fitted import static_vectors
from twicetold.trained.given_vectors import Vectors, folder_in, vectors_of

if TYPE_CHECKING:  # slow to import, and `twicetold.load` does not wait for them
    from twicetold.dedupe.questions import Questions
    from twicetold.matching.comparison import Comparison
    from twicetold.matching.matcher import Matcher

THRESHOLD = 0.5
DIGITS = 6  # of a gain: the last bits depend on the order of rows

Sides: TypeAlias = tuple[Column, Column]
"""A column of the left table, n values, and one of the right table, m values."""
Answers: TypeAlias = tuple[Sequence[int], Sequence[int], Column]
"""A rows of the left table, A of the right one, and whether each pair is a duplicate."""


def link(
    left: TextsLike,
    right: TextsLike,
    *,
    threshold: float = THRESHOLD,
    one_to_one: bool = False,
    same: Sequence[Sides] = (),
    within: Sequence[tuple[Column, Column, Size]] = (),
    also: Sequence[Sides] = (),
    pairs: Answers | None = None,
    lexical: bool = False,
    vectors: Vectors | tuple[Vectors, Vectors] | None = None,
) -> LinkedRows:
    """Link the rows of two tables whose texts are duplicates; pairs within one table are not looked at.

    Args:
        left: n texts.
        right: m texts.
        threshold: least probability of a link.
        one_to_one: link each row with one at most.
        same: columns of both tables, such as `[(old["brand"], new["brand"])]`: rows are linked only if they have equal
            values. A row without a value is linked with none.
        within: columns of both, and how far apart their values may be, such as `[(old["day"], new["day"], "3d")]`.
        also: further columns of both, of texts, numbers or dates, whose values are compared as well.
        pairs: what a person said: rows of the left table, rows of the right one, and whether each pair is a duplicate.
            The answers hold, and move the matcher.
        lexical: compare letters and words alone, also where vectors are installed.
        vectors: in place of those that are installed: two, of the left table and of the right one, each as
            `twicetold.fit` takes them; or a function from texts to an (n, D) array, or a folder of model2vec, for both.

    Raises:
        TypeError: if texts are missing or none, or a column or vectors have values of a kind that cannot be used.
        ValueError: if a text is empty, the threshold is no probability, a column has another length than its table, a
            value is no number or date, answers contradict each other or `same`, or so many rows have equal texts that
            there are more than 10 million pairs; if there are not as many vectors as texts, one cannot be used, or
            those of the tables differ in length.

    Examples:
        >>> import twicetold
        >>> twicetold.link(["a red tent", "a hose"], ["A red tent!"], one_to_one=True, lexical=True).left
        array([0])
    """
    require_threshold(threshold)
    columns: Any = {"same": same, "within": within, "also": also}
    tables = TwoTables.of(left, right, **columns, lexical=lexical, vectors=vectors)
    return tables.link(threshold=threshold, one_to_one=one_to_one, pairs=pairs)


@dataclass(frozen=True)
class TwoTables:
    """The texts of two tables, compared once: to ask about, and to link.

    Args:
        texts: n of the left table and m of the right one, with single blanks.
        limits: of links between the n + m rows, if there are any.
        distinct: the texts of either table that are distinct there; those of the left one come first.
        equal: (E,) and (E,) distinct texts of the left and of the right table that are equal, as are further columns.
        comparison: of the distinct texts, across the tables.

    Examples:
        >>> from twicetold.dedupe.link import TwoTables
        >>> tables = TwoTables.of(["canon eos 70d", "a tent"], ["Canon EOS-70D body", "tents"], lexical=True)
        >>> questions = tables.questions()
        >>> [(question.left_text, question.right_text) for question in questions.next()]
        [('canon eos 70d', 'Canon EOS-70D body')]
        >>> tables.link(pairs=([1], [1], [False])).left.tolist()
        [0]
    """

    texts: tuple[list[str], list[str]]
    limits: Limits | None
    distinct: DistinctTexts
    equal: tuple[Ints, Ints]
    comparison: "Comparison"

    @classmethod
    def of(
        cls,
        left: TextsLike,
        right: TextsLike,
        *,
        same: Sequence[Sides] = (),
        within: Sequence[tuple[Column, Column, Size]] = (),
        also: Sequence[Sides] = (),
        lexical: bool = False,
        vectors: Vectors | tuple[Vectors, Vectors] | None = None,
        matcher: "Matcher | None" = None,
    ) -> "TwoTables":
        """See `link` for arguments and errors; a matcher gives the probabilities, if it is not the generic one."""
        from twicetold.matching.comparison import Comparison

        sides = _tidy("left", left), _tidy("right", right)
        counts = len(sides[0]), len(sides[1])
        limits = _limits(counts, same, within)
        further = _columns("also", also, counts)
        texts = [*sides[0], *sides[1]]
        if vectors is None:
            known = None if lexical else static_vectors(texts)
        else:
            known = _of_both(sides, vectors, lexical=lexical)
        on_right = np.arange(len(texts)) >= counts[0]
        alike = DistinctTexts.of(texts).apart([codes_of(normal_form(column)) for column in further])
        distinct = alike.apart([on_right])
        comparison = Comparison.of(
            distinct.texts,
            encode=lambda _, order: None if known is None else known[distinct.rows[order]],
            also=[[column[row] for row in distinct.rows.tolist()] for column in further],
            split=int(np.count_nonzero(~on_right[distinct.rows])),
            matcher=matcher,
        )
        first, row = np.unique(alike.exact[counts[0] :], return_index=True)
        both = first < counts[0]  # of equal texts the first one is on the left, if any is
        equal = distinct.place[first[both]], distinct.place[counts[0] + row[both]]
        return cls(sides, limits, distinct, equal, comparison)

    @property
    def counts(self) -> tuple[int, int]:
        """N and m."""
        return len(self.texts[0]), len(self.texts[1])

    def questions(self, pairs: Answers | None = None) -> "Questions":
        """Return questions to a person about the pairs that the matcher is least sure of.

        Rows of the right table are counted on from those of the left one: its first row is n.

        Args:
            pairs: answers so far, as of `link`.
        """
        from twicetold.dedupe.questions import Questions

        left, right, same = self._checked(pairs or ([], [], []))
        first, comparison = self.distinct.rows, self.comparison
        if self.limits is not None:
            comparison = comparison.where(self.limits.allow(*(first[side] for side in comparison.ends)))
        texts, answers = [*self.texts[0], *self.texts[1]], (left.tolist(), right.tolist(), list(same))
        return Questions(comparison, self.distinct.place, first, texts, answers)

    def link(
        self, *, threshold: float = THRESHOLD, one_to_one: bool = False, pairs: Answers | None = None
    ) -> LinkedRows:
        """See `twicetold.link` for arguments and errors."""
        limits, text, (count, _) = self.limits, self.distinct.place, self.counts
        known = Constraints.of(len(text), *self._checked(pairs or ([], [], [])))
        known.require_allowed(limits)
        left, right, probability, said = self._probable(known.of_distinct(text), threshold)
        pair, one, other = rows_of(text, count, left, right)
        keep = np.ones(len(pair), bool) if limits is None else limits.allow(one, other + count)
        if one_to_one:
            sure = keep & said[pair]
            keep &= sure | ~(np.isin(one, one[sure]) | np.isin(other, other[sure]))
        pair, one, other = pair[keep], one[keep], other[keep]
        if one_to_one:
            rank = np.empty(len(text), np.int64)
            alphabetical = self.comparison.position[text]
            rank[np.lexsort((*(limits.values if limits else ()), alphabetical))] = np.arange(len(text))
            gain = np.round(probability[pair] - threshold, DIGITS)
            chosen = assignment(rank[one], rank[other + count], gain)
            pair, one, other = pair[chosen], one[chosen], other[chosen]
        order = np.lexsort((other, one))
        alone = 0 if limits is None else limits.alone
        return LinkedRows(one[order], other[order], probability[pair[order]], self.counts, self.texts, alone)

    def _checked(self, pairs: Answers) -> tuple[Ints, Ints, Column]:
        """Return answers about the n + m rows.

        Raises:
            ValueError: if a table has no such row.
        """
        sides = []
        for side, rows, count in zip(("left", "right"), pairs[:2], self.counts, strict=True):
            sides.append(np.asarray(rows, np.int64))
            if len(wrong := np.flatnonzero((sides[-1] < 0) | (sides[-1] >= count))):
                got = f"{sides[-1][wrong[0]]} as pair {wrong[0]} (from 0)"
                raise ValueError(f"pairs: expected rows of the {side} table, 0 to {count - 1}, got {got}")
        return sides[0], sides[1] + self.counts[0], pairs[2]

    def _probable(self, known: Constraints, threshold: float) -> tuple[Ints, Ints, Floats, Ints]:
        """Find pairs of texts that reach the threshold, with their probability, and whether a person confirmed them.

        Texts that are equal, and so are all further columns, are duplicates with probability 1, unless a person says
        otherwise.
        """
        count, (one, other), comparison = len(self.distinct), self.equal, self.comparison
        if len(known):
            comparison = comparison.answered(known.left, known.right, known.same)
        ends = (known.left, one, comparison.ends[0]), (known.right, other, comparison.ends[1])
        left, right = (np.concatenate(side) for side in ends)
        cells, place = np.unique(left * count + right, return_index=True)
        sure = np.ones(len(known) + len(one))
        probability = np.append(sure, comparison.probability)[place]
        left, right = np.divmod(cells, count)
        implied = known.implied(count, left, right)
        probability = np.where(np.isnan(implied), probability, implied)
        kept = probability >= threshold
        return left[kept], right[kept], probability[kept], implied[kept] == 1


def require_threshold(threshold: float) -> None:
    """Refuse a threshold that is no probability.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is not between 0 and 1.
    """
    require_number("threshold", threshold)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold: expected a probability, between 0 and 1, got {threshold}")


def _of_both(
    sides: tuple[list[str], list[str]], vectors: Vectors | tuple[Vectors, Vectors], *, lexical: bool
) -> NDArray[np.float32]:
    """Return (n + m, D) vectors of both tables."""
    if lexical:
        raise ValueError("give lexical or vectors, not both")
    pair = (vectors, vectors) if callable(vectors) or folder_in(vectors) is not None else vectors
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError("vectors: expected those of the left table and of the right one, or a function of texts")
    left, right = (vectors_of(texts, each) for texts, each in zip(sides, pair, strict=True))
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"vectors: expected one length on both sides, got {left.shape[1]} and {right.shape[1]}")
    return np.concatenate([left, right])


def _tidy(side: str, texts: TextsLike) -> list[str]:
    """Return texts with single blanks.

    Raises:
        ValueError: if one is empty.
    """
    tidy = [" ".join(text.split()) for text in texts_of(texts)]
    if empty := [row for row, text in enumerate(tidy) if not text]:
        found = f"{len(empty):,} of {counted(len(tidy), 'text')} are empty, the first is row {empty[0]} (from 0)"
        raise ValueError(f"{side}: {found}: leave them out")
    return tidy


def _limits(
    counts: tuple[int, int], same: Sequence[Sides], within: Sequence[tuple[Column, Column, Size]]
) -> Limits | None:
    """Return limits of the n + m rows of both tables."""
    equal = _columns("same", same, counts, keys_of)
    windows = []
    for number, window in enumerate(within):
        if not isinstance(window, list | tuple) or len(window) != 3:
            raise TypeError(f'within[{number}]: expected two columns and a size, such as (left, right, "3d")')
        *pair, size = window
        timed = size_of(size)[1]
        values = np.concatenate(_both("within", number, pair, counts, distances_by(size)))
        column = pa.array(values, from_pandas=True)  # NaN is missing
        windows.append((column.cast(pa.int64()).cast(pa.timestamp("us")) if timed else column, size))
    return Limits.of(sum(counts), equal, windows)


def _columns(
    name: str, columns: Sequence[Sides], counts: tuple[int, int], reader: Callable[[Column], list[str]] = strings_of
) -> list[list[str]]:
    """Return columns of both tables, n + m values each."""
    return [[*chain(*_both(name, number, pair, counts, reader))] for number, pair in enumerate(columns)]


def _both(
    name: str, number: int, columns: Sequence[Column], counts: tuple[int, int], reader: Callable[[Column], Any]
) -> list[Any]:
    """Return the values of a column of either table, as a reader gives them; an error says whose cannot be used.

    Raises:
        TypeError: as the reader, or if there are not two columns.
        ValueError: as the reader, or if one has another length than its table.
    """
    if not isinstance(columns, list | tuple) or len(columns) != 2:
        raise TypeError(f"{name}[{number}]: expected a column of the left table and one of the right, as a tuple")
    both = []
    for side, column, count in zip(("left", "right"), columns, counts, strict=True):
        try:
            both.append(reader(column))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}[{number}], {side}: {error}") from error
        require_length(f"{name}[{number}], {side}", both[-1], count)
    return both
