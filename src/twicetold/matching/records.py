"""Features of further columns: of how many the two values are equal, near, contradicting or missing.

Values that read as numbers are near if they differ by less than a tenth of the larger one; others by their letters. A
generic matcher knows no column by name, so it reads shares over all columns.

Shape letters: N texts, P pairs, C columns.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.candidates import Pairs, pair_dots
from twicetold.matching.pair_features import Column, pair_features
from twicetold.matching.terms import NOT_ALPHANUMERIC, Terms, letter_rows

NEAR_NUMBERS = 0.1  # difference as a share of the larger number
NEAR_TEXTS = 0.5  # cosine by letters


def all_features(terms: Terms, pairs: Pairs, also: Sequence[Sequence[str]] = ()) -> dict[str, Column]:
    """Return (P,) features of texts, and of further columns as `record_features` takes them, if there are some."""
    return pair_features(terms, pairs) | (record_features(also, pairs) if also else {})


def record_features(columns: Sequence[Sequence[str]], pairs: Pairs) -> dict[str, Column]:
    """Return (P,) shares of the C columns, and the mean similarity where both values are there.

    Args:
        columns: C of them, N values each in their normal form, empty where one is missing.
        pairs: of the N texts.
    """
    parts = [_of_column(column, pairs) for column in columns]
    equal, near, missing, similarity = (np.mean(part, axis=0).astype(np.float32) for part in zip(*parts, strict=True))
    present = 1 - missing
    return {
        "columns_equal": equal,
        "columns_near": near,
        "columns_contradict": present - equal - near,
        "columns_missing": missing,
        "columns_similarity": np.divide(similarity, present, out=np.zeros_like(present), where=present > 0),
    }


def _of_column(values: Sequence[str], pairs: Pairs) -> tuple[NDArray[np.float32], ...]:
    """Return (P,) whether values are equal, near, missing, and their similarity."""
    plain = [NOT_ALPHANUMERIC.sub("", value) for value in values]
    codes = np.unique(np.array(plain, object).astype(str), return_inverse=True)[1]
    number = np.array([_number(value) for value in values], np.float64)
    empty = np.array([not value for value in plain], bool)
    left, right = pairs.left, pairs.right
    missing = empty[left] | empty[right]
    larger = np.maximum(np.abs(number[left]), np.abs(number[right]))
    numeric = np.isfinite(larger)
    with np.errstate(invalid="ignore"):
        apart = np.abs(number[left] - number[right])
        equal = ~missing & ((codes[left] == codes[right]) | (numeric & (apart == 0)))
        share = np.where(numeric, 1 - np.minimum(apart / np.where(larger > 0, larger, 1), 1), 0)
    letters = pair_dots(letter_rows(values)[0], left, right)
    similarity = np.where(equal, 1, np.where(numeric, share, letters))
    near = ~missing & ~equal & (similarity >= np.where(numeric, 1 - NEAR_NUMBERS, NEAR_TEXTS))
    return tuple(np.asarray(part, np.float32) for part in (equal, near, missing, np.where(missing, 0, similarity)))


def _number(value: str) -> float:
    """Return NaN for what is no number; digits that begin with 0, as of a code, are none."""
    try:
        return float(value) if not (value[:1] == "0" and value[1:2].isdecimal()) else np.nan
    except ValueError:
        return np.nan
