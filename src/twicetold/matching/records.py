"""Records: texts with further columns, which are compared by their texts alone and by all columns in one text.

The log odds of a pair are the mean of both. A matcher of texts gives them, so nothing is learnt for columns, whatever
they hold. In the text of a row, dates of any notation are one, and so are codes such as telephone numbers.

`Values` says for people whether values are equal, near or contradicting, by the type of their column
(`tables.notation`). The similarity of two numbers is halved by each tenth of the larger one between them, that of dates
by each 30 days, and that of texts is by their letters and symbols; half and more is near. Codes are equal or not.

Shape letters: N texts, P pairs, C columns.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twicetold.features.folded import symbols
from twicetold.matching.candidates import pair_dots
from twicetold.matching.matcher import Matcher
from twicetold.matching.terms import letter_rows, squeeze
from twicetold.tables.notation import MONEY, Typed, in_one_notation, plain_numbers

ROW = "row_"  # begins the names of features of all columns in one text
VERDICTS = ("equal", "near", "contradicting")
NOTHING = " []"  # key of a value without a letter, digit or symbol
NEAR = 0.5  # similarity
NEAR_NUMBERS = 0.1  # difference that halves it, as a share of the larger number
NEAR_DAYS = 30.0


def row_texts(texts: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """Return N texts of all columns.

    Args:
        texts: N of them.
        columns: C further ones, N values each in their normal form, empty where one is missing.
    """
    further = [in_one_notation(column) for column in columns]
    return [" ".join(filter(None, row)) for row in zip(texts, *further, strict=True)]


def in_rows(matcher: Matcher) -> Matcher:
    """Return the matcher of both views, whose log odds are the mean of those that one of texts gives to each."""

    def twice(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([numbers[..., :1], numbers[..., 1:] / 2, numbers[..., 1:] / 2], axis=-1)

    return replace(
        matcher,
        names=(*matcher.names, *(f"{ROW}{name}" for name in matcher.names)),
        mean=np.tile(matcher.mean, 2),
        scale=np.tile(matcher.scale, 2),
        coefficients=twice(matcher.coefficients),
        prior=twice(matcher.prior),
        kinds=twice(matcher.kinds),
    )


class Values:
    """The values of a column, read once.

    Args:
        values: N in their normal form, empty where one is missing.
    """

    def __init__(self, values: Sequence[str]) -> None:
        typed = self._typed = Typed.of(values)
        plain = list(map(plain_numbers, values))
        keys = [code or f"{squeeze(text)} {symbols(text)}" for code, text in zip(typed.code, plain, strict=True)]
        self._key, self._unit = _numbered(keys), _numbered(typed.unit)
        self._empty = np.array([each == NOTHING for each in keys], bool)
        self._code, self._stated = (np.array(list(map(bool, each)), bool) for each in (typed.code, typed.unit))
        self._money = np.isin(np.array(typed.unit, str), list(MONEY.values()))
        self._letters = letter_rows(values)[0]

    def agreement(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> list[str]:
        """Return for P pairs of positions one of `VERDICTS`, or an empty text where a value is missing."""
        missing, same = self._empty[left] | self._empty[right], self._key[left] == self._key[right]
        letters = np.where(self._code[left] & self._code[right], 0, pair_dots(self._letters, left, right))
        numeric = np.isfinite(self._typed.number[left]) & np.isfinite(self._typed.number[right])
        similarity = np.where(same, 1, np.where(numeric, self._nearness(left, right), letters))
        equal = same | numeric & (similarity == 1)
        verdicts: list[str] = np.select([missing, equal, similarity >= NEAR], ["", *VERDICTS[:2]], VERDICTS[2]).tolist()
        return verdicts

    def _nearness(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (P,) 1 for equal numbers or days, halved by each step between them; less where units differ."""
        one, other = self._typed.number[left], self._typed.number[right]
        step = NEAR_DAYS if self._typed.dates else NEAR_NUMBERS * np.maximum(np.abs(one), np.abs(other))
        apart = np.abs(one - other)
        steps = np.divide(apart, step, out=np.zeros_like(apart), where=apart > 0)
        alone = self._stated[left] != self._stated[right]
        of_money = alone & (self._money[left] | self._money[right])  # 9.50 may be $9.50, and is no 9.50 kg
        share = np.select([self._unit[left] == self._unit[right], of_money, alone], [1, 1, NEAR], 0)
        return np.asarray(share * 0.5**steps)


def _numbered(values: Sequence[str]) -> NDArray[np.int64]:
    """Return (N,) numbers that are the same where values are."""
    return np.unique(np.array(values, object).astype(str), return_inverse=True)[1]
