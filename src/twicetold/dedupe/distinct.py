"""Texts that are equal in their normal form (`normal_form`) except for white space, each once.

Shape letters: n texts, m distinct texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.neighbours.grouping import Ints, Vectors
from twicetold.normal_form import normal_form


@dataclass(frozen=True)
class DistinctTexts:
    """The distinct ones of some texts.

    Args:
        texts: m distinct texts; of equal ones the one that sorts last, in whatever order the rows come.
        rows: (m,) row of the first text that is equal to each.
        exact: (n,) row of the first text that is equal.
        place: (n,) number of the distinct text.
    """

    texts: list[str]
    rows: Ints
    exact: Ints
    place: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> "DistinctTexts":
        """See `first_equal` for errors."""
        exact = first_equal(texts)
        rows, place = np.unique(exact, return_inverse=True)
        distinct = [texts[row] for row in rows.tolist()]
        copies = np.flatnonzero(exact != np.arange(len(exact)))
        for row, number in zip(copies.tolist(), place[copies].tolist(), strict=True):
            distinct[number] = max(distinct[number], texts[row])
        return cls(distinct, rows, exact, place)

    def apart(self, keys: Sequence[NDArray[Any]]) -> "DistinctTexts":
        """Return the distinct ones among texts that are equal only if these (n,) values are equal as well."""
        place = self.place
        for key in keys:
            _, code = np.unique(key, return_inverse=True)
            _, place = np.unique(place * (code.max(initial=0) + 1) + code, return_inverse=True)
        _, first = np.unique(place, return_index=True)
        rows = np.sort(first)
        texts = [self.texts[number] for number in self.place[rows].tolist()]
        return DistinctTexts(texts, rows, first[place], np.searchsorted(rows, first[place]))

    def __len__(self) -> int:
        return len(self.texts)


def first_equal(texts: Sequence[str]) -> Ints:
    """Return (n,) row of the first text that is equal in its normal form, except for white space.

    Raises:
        ValueError: if a text holds nothing but white space and invisible characters.
    """
    return first_of(require_texts(folded(pa.array(texts, pa.large_string()))))


def folded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts without what `first_equal` passes over: equal ones are equal in this form.

    Args:
        column: (n,) large strings.
    """
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([folded(chunk) for chunk in column.chunks], column.type)
    other = pc.invert(pc.string_is_ascii(column))
    forms = pa.array(normal_form(column.filter(other).to_pylist()), column.type)
    column = pc.replace_with_mask(pc.ascii_lower(column), other, forms)
    return pc.utf8_trim_whitespace(replaced(column, r"[\s\p{Z}]+", " ", where=r"[\s\p{Z}]{2}|[^\S ]|[^\P{Z} ]"))


def replaced(texts: pa.Array, pattern: str, by: str, *, where: str | None = None) -> pa.Array:
    """Replace what matches a pattern in the texts that match `where`: to look is several times faster."""
    some = pc.match_substring_regex(texts, where or pattern)
    return pc.replace_with_mask(texts, some, pc.replace_substring_regex(texts.filter(some), pattern, by))


def require_texts(column: pa.Array) -> pa.Array:
    """Return the folded texts as they are, if none is blank; errors: `first_equal`."""
    blank = np.flatnonzero(pc.equal(column, "").to_numpy(zero_copy_only=False))
    if len(blank):
        raise ValueError(
            f"{len(blank)} of {len(column)} texts are empty, the first is texts[{blank[0]}]: leave them out"
        )
    return column


def first_of(column: pa.Array) -> Ints:
    """Return (n,) row of the first one that is equal, of folded texts."""
    codes = column.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(np.unique(codes, return_index=True)[1][codes])


def of_rows(vectors: Vectors, rows: Ints) -> Vectors:
    """Return the vectors of some texts, in this order."""
    queries, documents = vectors
    if len(rows) == queries.shape[0] and (rows == np.arange(len(rows))).all():
        return vectors
    taken = queries[rows]
    return taken, taken if documents is queries else documents[rows]
