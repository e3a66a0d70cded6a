"""Features of further columns: of how many the two values are equal, near, contradicting or missing.

Values are compared by the type of their column (`tables.notation`). The similarity of two numbers is halved by each
tenth of the larger one between them, that of dates by each 30 days, and that of texts is by their letters and symbols;
half and more is near. Codes are equal or not. A generic matcher knows no column by name, so it reads shares over all.

Shape letters: N texts, P pairs, C columns.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twicetold.features.folded import symbols
from twicetold.matching.candidates import Pairs, pair_dots
from twicetold.matching.pair_features import Column, pair_features
from twicetold.matching.terms import Terms, letter_rows, squeeze
from twicetold.tables.notation import MONEY, Typed, plain_numbers

NOTHING = " []"  # key of a value without a letter, digit or symbol
NEAR = 0.5  # similarity
NEAR_NUMBERS = 0.1  # difference that halves it, as a share of the larger number
NEAR_DAYS = 30.0


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
    typed, left, right = Typed.of(values), pairs.left, pairs.right
    plain = list(map(plain_numbers, values))
    keys = [code or f"{squeeze(text)} {symbols(text)}" for code, text in zip(typed.code, plain, strict=True)]
    key, empty = _numbered(keys), np.array([each == NOTHING for each in keys], bool)
    missing, same = empty[left] | empty[right], key[left] == key[right]
    code = np.array(list(map(bool, typed.code)), bool)
    letters = np.where(code[left] & code[right], 0, pair_dots(letter_rows(values)[0], left, right))
    numeric = np.isfinite(typed.number[left]) & np.isfinite(typed.number[right])
    similarity = np.where(same, 1, np.where(numeric, _nearness(typed, left, right), letters))
    equal = ~missing & (same | numeric & (similarity == 1))
    near = ~missing & ~equal & (similarity >= NEAR)
    return tuple(np.asarray(part, np.float32) for part in (equal, near, missing, np.where(missing, 0, similarity)))


def _nearness(typed: Typed, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (P,) 1 for equal numbers or days, halved by each step between them; less where units differ."""
    one, other = typed.number[left], typed.number[right]
    step = NEAR_DAYS if typed.dates else NEAR_NUMBERS * np.maximum(np.abs(one), np.abs(other))
    apart = np.abs(one - other)
    steps = np.divide(apart, step, out=np.zeros_like(apart), where=apart > 0)
    unit, stated = _numbered(typed.unit), np.array(list(map(bool, typed.unit)), bool)
    money = np.isin(np.array(typed.unit, str), list(MONEY.values()))
    alone = stated[left] != stated[right]
    of_money = alone & (money[left] | money[right])  # 9.50 may be $9.50, and is no 9.50 kg
    share = np.select([unit[left] == unit[right], of_money, alone], [1, 1, NEAR], 0)
    return np.asarray(share * 0.5**steps)


def _numbered(values: Sequence[str]) -> NDArray[np.int64]:
    """Return (N,) numbers that are the same where values are."""
    return np.unique(np.array(values, object).astype(str), return_inverse=True)[1]
