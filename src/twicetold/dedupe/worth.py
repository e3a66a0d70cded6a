"""Which row of a group is kept, by a column or by how clean its text is.

The cleanest text is the one with the fewest defects; of several, the longest; then the first one. Defects are

- each word that no other text of the file has: such a word is often misspelt;
- more capitals than small letters;
- a run of exclamation or question marks;
- an end in dots, where a text was cut off;
- a character that could not be decoded, and an entity or a tag of HTML.

Shape letters: n rows, m distinct texts, w words.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.dedupe.distinct import folded
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.tables.columns import Column, numbers_of, times_of

KeepBy: TypeAlias = Literal["newest", "oldest", "highest", "lowest"]
KEEP_BY: tuple[KeepBy, ...] = get_args(KeepBy)
LONGEST = 1_000_000  # characters that tell texts with as many defects apart
DEFECTS = (r"[!?]{2,}", r"(?:\.\.|…)\s*$", "\N{REPLACEMENT CHARACTER}", r"&(?:#\d+|[a-z]+);|</?[a-z][^<>]*>")


def worth_of(by: KeepBy, values: Column) -> Floats:
    """(n,) worth of rows by a column: the highest is kept, and a row without a value only if no other has one.

    Args:
        by: `newest` and `oldest` are of dates, `highest` and `lowest` of numbers.
        values: (n,) of the column.

    Raises:
        TypeError: if the column has values of a kind that cannot be used.
        ValueError: if `by` is unknown, or a value is no date or number.
    """
    if by not in KEEP_BY:
        raise ValueError(f"expected one of {KEEP_BY} to keep by a column, got {by!r}")
    found = times_of(values) if by in ("newest", "oldest") else numbers_of(values)
    found = found if by in ("newest", "highest") else -found
    return np.where(np.isnan(found), -np.inf, found)


def cleanness(texts: Sequence[str], place: Ints) -> Floats:
    """(n,) worth of rows by how clean their texts are; see the head of this module.

    Args:
        texts: n of them.
        place: (n,) number of the distinct text.
    """
    column = pa.array(texts, pa.large_string())
    defects = _unknown_words(column, place)
    for pattern in DEFECTS:
        defects += pc.match_substring_regex(column, pattern).to_numpy(zero_copy_only=False)
    capitals, letters = (
        pc.count_substring_regex(column, pattern).to_numpy(zero_copy_only=False) for pattern in (r"\p{Lu}", r"\p{L}")
    )
    defects += 2 * capitals > letters
    plain = pc.replace_substring_regex(column, r"\s+", " ")
    length = np.minimum(pc.utf8_length(plain).to_numpy(zero_copy_only=False), LONGEST - 1)
    return np.asarray(length - LONGEST * defects.astype(np.float64))


def most_worth(group: Ints, worth: Floats) -> Ints:
    """(groups,) the row of each group that is worth most; of several as good, the first one.

    Args:
        group: (n,) of each row, from 0 without gaps.
        worth: (n,) of each row.
    """
    order = np.lexsort((np.arange(len(group)), -worth, group))
    return np.asarray(order[np.flatnonzero(np.append(True, np.diff(group[order]) > 0))])


def _unknown_words(column: pa.Array, place: Ints) -> Ints:
    """(n,) number of words, of letters alone in their normal form, that no other distinct text has."""
    words = pc.split_pattern_regex(folded(column), r"[^\p{L}]+")
    row = np.repeat(np.arange(len(column)), pc.list_value_length(words).to_numpy(zero_copy_only=False))
    flat = pc.list_flatten(words).dictionary_encode()
    word = flat.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    there = pc.not_equal(flat.dictionary, "").to_numpy(zero_copy_only=False)
    row, word = row[there[word]], word[there[word]]
    texts = np.bincount(np.unique(place[row] * len(flat.dictionary) + word) % len(flat.dictionary))
    return np.bincount(row[texts[word] == 1], minlength=len(column))
