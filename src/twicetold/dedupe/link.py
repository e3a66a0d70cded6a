"""Links between two tables: pairs of a row of the one and a row of the other whose texts say the same.

Candidates are pairs across tables alone, and the generic matcher gives each the probability that both say the same, so
no label is needed. With `one_to_one` each row is in one pair at most: of all such sets S of pairs the one with the
largest expected gain, if a right link gains 1 − t and a wrong one costs t,

    max Σ_{(a, b) ∈ S} p(a, b) − t

which is an assignment, solved exactly (Jonker and Volgenant 1987, as in SciPy) in each connected component of the
pairs that reach the threshold t.

Shape letters: n and m rows of the tables, P pairs of texts, L pairs of rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from twicetold.dedupe.html_table import HtmlTable, Member, ShownGroup
from twicetold.dedupe.limits import Limits
from twicetold.errors import require_number
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.printable import counted
from twicetold.tables.columns import Column, Size, column_of, numbers_of, size_of, times_of
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.fitted import static_vectors
from twicetold.trained.given_vectors import Vectors, folder_in, vectors_of

if TYPE_CHECKING:  # with it comes faiss, for which `twicetold.load` does not wait
    from twicetold.matching.matcher import Matcher

THRESHOLD = 0.5
MOST = 10_000_000  # pairs of rows
LEAST_GAIN = 1e-9  # of a link at the threshold itself, so that it is one
COLLAPSED = 10_000  # pairs among which those of equal texts are shown as one
DIGITS = 6  # of a gain: the last bits depend on the order of rows

Sides: TypeAlias = tuple[Column, Column]
"""A column of the left table, n values, and one of the right table, m values."""


@dataclass(frozen=True)
class LinkedRows:
    """Pairs of rows of two tables that say the same, ordered by their rows. A notebook shows the doubtful first.

    Args:
        left: (L,) row of the left table.
        right: (L,) row of the right one.
        probability: (L,) that their texts say the same.
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
        """Rows of the left table, and of the right one, that are in a pair, ascending."""
        return np.unique(self.left), np.unique(self.right)

    def unlinked(self) -> tuple[Ints, Ints]:
        """Rows of the left table, and of the right one, that are in none, ascending."""
        left, right = self.linked()
        return np.setdiff1d(np.arange(self.rows[0]), left), np.setdiff1d(np.arange(self.rows[1]), right)

    def doubtful_first(self) -> Ints:
        """(L,) positions of the pairs, the least probable first."""
        return np.argsort(self.probability, kind="stable")

    def html(self, names: tuple[Sequence[Any], Sequence[Any]] | None = None) -> HtmlTable:
        """The pairs as a table that marks what differs; `write` makes a page of it.

        Args:
            names: n ids or numbers of the left table and m of the right one; None: numbers of rows, from 0.
        """
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


def link(
    left: TextsLike,
    right: TextsLike,
    *,
    threshold: float = THRESHOLD,
    one_to_one: bool = False,
    same: Sequence[Sides] = (),
    within: Sequence[tuple[Column, Column, Size]] = (),
    also: Sequence[Sides] = (),
    lexical: bool = False,
    vectors: Vectors | tuple[Vectors, Vectors] | None = None,
    matcher: "Matcher | None" = None,
) -> LinkedRows:
    """Link the rows of two tables whose texts say the same; pairs within one table are not looked at.

    Args:
        left: n texts.
        right: m texts.
        threshold: least probability of a link.
        one_to_one: link each row with one at most.
        same: columns of both tables, such as `[(old["brand"], new["brand"])]`: rows are linked only if they have equal
            values. A row without a value is linked with none.
        within: columns of both, and how far apart their values may be, such as `[(old["day"], new["day"], "3d")]`.
        also: further columns of both, of texts, numbers or dates, whose values are compared as well.
        lexical: compare letters and words alone, also where vectors are installed.
        vectors: in place of those that are installed: two, of the left table and of the right one, each as
            `twicetold.fit` takes them; or a function from texts to an (n, D) array, or a folder of model2vec, for both.
        matcher: gives the probabilities; None: the generic one.

    Raises:
        TypeError: if texts are missing or none, or a column or vectors have values of a kind that cannot be used.
        ValueError: if a text is empty, the threshold is no probability, a column has another length than its table, a
            value is no number or date, or so many rows have equal texts that there are more than 10 million pairs; if
            there are not as many vectors as texts, one cannot be used, or those of the tables differ in length.

    Examples:
        >>> import twicetold
        >>> twicetold.link(["a red tent", "a hose"], ["A red tent!"], one_to_one=True, lexical=True).left
        array([0])
    """
    require_number("threshold", threshold)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold: expected a probability, between 0 and 1, got {threshold}")
    sides = _tidy("left", left), _tidy("right", right)
    counts = len(sides[0]), len(sides[1])
    limits = _limits(counts, same, within)
    further = [
        [value or "" for value in np.concatenate(_both("also", number, pair, counts, _spelt)).tolist()]
        for number, pair in enumerate(also)
    ]
    without_values = 0 if limits is None else limits.alone
    if not all(counts):
        return LinkedRows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), counts, sides, without_values)
    if vectors is None:
        known = None if lexical else static_vectors([*sides[0], *sides[1]])
    else:
        known = _of_both(sides, vectors, lexical=lexical)
    text, *pairs, of_pair = _probable(
        [*sides[0], *sides[1]], counts[0], further, threshold=threshold, vectors=known, matcher=matcher
    )
    pair, one, other = _rows_of(text, counts[0], *pairs)
    keep = np.ones(len(pair), bool) if limits is None else limits.allow(one, other + counts[0])
    pair, one, other = pair[keep], one[keep], other[keep]
    if one_to_one:
        rank = np.empty(sum(counts), np.int64)
        rank[np.lexsort((*(limits.values if limits else ()), text))] = np.arange(sum(counts))
        gain = np.round(of_pair[pair] - threshold, DIGITS)
        chosen = assignment(rank[one], rank[other + counts[0]], gain)
        pair, one, other = pair[chosen], one[chosen], other[chosen]
    order = np.lexsort((other, one))
    return LinkedRows(one[order], other[order], of_pair[pair[order]], counts, sides, without_values)


def assignment(left: Ints, right: Ints, gain: Floats) -> NDArray[np.bool_]:
    """(L,) which pairs make the sum of their gains the largest, if each row may be in one pair at most.

    Args:
        left: (L,) rows of one table.
        right: (L,) rows of the other; no pair is there twice.
        gain: (L,) at least 0.
    """
    rows, one = np.unique(left, return_inverse=True)
    columns, other = np.unique(right, return_inverse=True)
    graph = csr_array((np.ones(len(one)), (one, len(rows) + other)), shape=(len(rows) + len(columns),) * 2)
    component = connected_components(graph, directed=False)[1][one]
    order = np.argsort(component, kind="stable")
    chosen = np.zeros(len(one), bool)
    for part in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        chosen[part] = True if len(part) == 1 else _best(one[part], other[part], gain[part])
    return chosen


def _best(left: Ints, right: Ints, gain: Floats) -> NDArray[np.bool_]:
    """The pairs of one component that are chosen. Each row on the left may also go to a column that stands for none."""
    rows, one = np.unique(left, return_inverse=True)
    columns, other = np.unique(right, return_inverse=True)
    alone = np.arange(len(rows))
    value = np.concatenate([1 + LEAST_GAIN + gain, np.ones(len(rows))])  # SciPy takes 0 for no pair
    places = np.append(one, alone), np.append(other, len(columns) + alone)
    matched = min_weight_full_bipartite_matching(
        csr_array((value, places), shape=(len(rows), len(columns) + len(rows))), maximize=True
    )
    partner = np.empty(len(rows), np.int64)
    partner[matched[0]] = matched[1]
    return np.asarray(partner[one] == other)


def _probable(
    texts: list[str],
    split: int,
    also: Sequence[Sequence[str]],
    *,
    threshold: float,
    vectors: NDArray[np.float32] | None,
    matcher: "Matcher | None",
) -> tuple[Ints, Ints, Ints, Floats]:
    """The text of each of the n + m rows, and pairs of texts that reach the threshold, with probabilities.

    Texts that are equal, and so are all further columns, say the same with probability 1.

    Args:
        texts: n + m of them.
        split: n.
        also: further columns, n + m values each.
        threshold: least probability.
        vectors: (n + m, D) of length 1; None: letters and words alone.
        matcher: gives the probabilities; None: the generic one.
    """
    from twicetold.matching.compared import compare
    from twicetold.matching.matcher import Matcher

    compared = compare(texts, vectors=vectors, also=also, split=split)
    matcher = matcher or Matcher.generic(vectors=vectors is not None, records=bool(also))
    pairs, count = compared.pairs, len(compared.first)
    equal = compared.equal[0] * count + compared.equal[1]
    cells, place = np.unique(np.append(equal, pairs.left * count + pairs.right), return_index=True)
    probability = np.append(np.ones(len(equal)), matcher.probability(compared.columns))[place]
    kept = probability >= threshold
    left, right = np.divmod(cells[kept], count)
    return compared.text, left, right, probability[kept]


def _of_both(
    sides: tuple[list[str], list[str]], vectors: Vectors | tuple[Vectors, Vectors], *, lexical: bool
) -> NDArray[np.float32]:
    """(n + m, D) vectors of both tables."""
    if lexical:
        raise ValueError("give lexical or vectors, not both")
    pair = (vectors, vectors) if callable(vectors) or folder_in(vectors) is not None else vectors
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError("vectors: expected those of the left table and of the right one, or a function of texts")
    left, right = (vectors_of(texts, each) for texts, each in zip(sides, pair, strict=True))
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"vectors: expected as many numbers on both sides, got {left.shape[1]} and {right.shape[1]}")
    return np.concatenate([left, right])


def _tidy(side: str, texts: TextsLike) -> list[str]:
    """Texts with single blanks.

    Raises:
        ValueError: if one is empty.
    """
    tidy = [" ".join(text.split()) for text in texts_of(texts)]
    if empty := [row for row, text in enumerate(tidy) if not text]:
        found = f"{len(empty):,} of {counted(len(tidy), 'text')} are empty, the first is row {empty[0]} (from 0)"
        raise ValueError(f"{side}: {found}: leave them out")
    return tidy


def _rows_of(text: Ints, count: int, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints]:
    """All pairs of rows of each pair of texts: which pair of texts it is, the row on the left and on the right.

    Args:
        text: of each of the n + m rows.
        count: n.
        left: (P,) texts of the left table.
        right: (P,) texts of the right one.
    """
    orders = [np.argsort(side, kind="stable") for side in (text[:count], text[count:])]
    first, size = [], []
    for side, order, wanted in zip((text[:count], text[count:]), orders, (left, right), strict=True):
        first.append(np.searchsorted(side[order], wanted))
        size.append(np.searchsorted(side[order], wanted, side="right") - first[-1])
    each = size[0] * size[1]
    if (total := int(each.sum())) > MOST:
        raise ValueError(
            f"there are {total:,} pairs of rows, as equal texts stand in many rows of both tables: expected at most "
            f"{MOST:,}. Dedupe one of the tables first"
        )
    pair = np.repeat(np.arange(len(each)), each)
    place = np.arange(total) - np.repeat(np.cumsum(each) - each, each)
    one = orders[0][first[0][pair] + place // size[1][pair]]
    other = orders[1][first[1][pair] + place % size[1][pair]]
    return pair, one, other


def _limits(
    counts: tuple[int, int], same: Sequence[Sides], within: Sequence[tuple[Column, Column, Size]]
) -> Limits | None:
    """Limits of the n + m rows of both tables."""
    equal = [np.concatenate(_both("same", number, pair, counts, _spelt)) for number, pair in enumerate(same)]
    windows = []
    for number, window in enumerate(within):
        if not isinstance(window, list | tuple) or len(window) != 3:
            raise TypeError(f'within[{number}]: expected two columns and a size, such as (left, right, "3d")')
        *pair, size = window
        timed = size_of(size)[1]
        values = np.concatenate(_both("within", number, pair, counts, times_of if timed else numbers_of))
        column = pa.array(values, from_pandas=True)  # NaN is missing
        windows.append((column.cast(pa.int64()).cast(pa.timestamp("us")) if timed else column, size))
    return Limits.of(sum(counts), equal, windows)


def _both(
    name: str, number: int, columns: Sequence[Column], counts: tuple[int, int], reader: Callable[[Column], Any]
) -> list[Any]:
    """The values of a column of either table, as a reader gives them; an error says whose cannot be used.

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
        if len(both[-1]) != count:
            expected = f"expected a value for each of {counted(count, 'text')}"
            raise ValueError(f"{name}[{number}], {side}: {expected}, got {len(both[-1]):,}")
    return both


def _spelt(values: Column) -> NDArray[np.object_]:
    """Values as texts, so that a number is equal to one that is spelt; None where one is missing.

    Raises:
        TypeError: if they are lists and the like.
    """
    column = column_of(values)
    try:
        return np.array(column.cast(pa.string()).to_pylist(), object)
    except pa.ArrowException as error:
        raise TypeError(f"expected texts, numbers or dates, got {column.type}") from error
