"""Notations of numbers and dates: `1,299.00`, `$12.5`, `5 kg`, `31.12.2026`; and the type that a column has by them.

Values are read in their normal form, so in small letters. What has no such notation is a text. A column is of dates or
of numbers if most of its values are. Digits alone are *codes*, equal or not, where a column has no unit, sign or
decimal and its numbers are all of one length, or mostly distinct: ids, postal codes, years.

Shape letters: n values.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

import numpy as np
from numpy.typing import NDArray

MARKED = re.compile(r"(?<!\d)\d+(?:[.,]\d+)+")
ENGLISH = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")  # 1,299.00
CONTINENTAL = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+")  # 1.299,00
SWAPPED = str.maketrans(",.", ".,")
DECIMAL = re.compile(r"\d+[.,]\d+")
MINUS = "-\N{MINUS SIGN}"
MONEY = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
AMOUNT = re.compile(
    rf"([{MINUS}+]?)([{''.join(MONEY)}]|(?:{'|'.join(MONEY.values())})(?= ))? ?"
    r"((?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+) ?([^\d\s.,;()+-]{1,6})?\.?"
)
PHONE = re.compile(r"[+(]?\d(?:[\s()/.-]*\d){6,}")  # or another code of digits, with marks between them
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DATES = (
    (re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[t ]\d\d:.*)?"), "ymd"),
    (re.compile(r"(\d{4})(\d\d)(\d\d)"), "ymd"),
    (re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})"), "dmy"),
    (re.compile(r"(\d\d?)\.? ([a-z]{3})[a-z]*\.?,? (\d{4})"), "dmy"),
    (re.compile(r"([a-z]{3})[a-z]*\.? (\d\d?),? (\d{4})"), "mdy"),
)
SLASHED = re.compile(r"(\d\d?)/(\d\d?)/(\d{4})")  # whose order a column shows, or none


@dataclass(frozen=True)
class Typed:
    """Values of a column as numbers, days, codes or texts.

    Args:
        dates: whether the column is of dates.
        number: (n,) number or day of each; NaN of codes and texts.
        unit: (n,) of a number, such as `kg` or `eur`; empty without.
        code: (n,) digits of a code; empty if it is none.
    """

    dates: bool
    number: NDArray[np.float64]
    unit: Sequence[str]
    code: Sequence[str]

    @classmethod
    def of(cls, values: Sequence[str]) -> Self:
        """Read the values of a column, empty where one is missing.

        Examples:
            >>> from twicetold.tables.notation import Typed
            >>> Typed.of(["$1,299.00", "1299", "9,5 eur"]).number.tolist()
            [1299.0, 1299.0, 9.5]
            >>> Typed.of(["2026-01-31", "31.01.2026", "jan 31, 2026"]).number.tolist()
            [739647.0, 739647.0, 739647.0]
            >>> Typed.of(["60302", "60303"]).code
            ['60302', '60303']
        """
        present, no_unit = sum(map(bool, values)), [""] * len(values)
        days = days_of(values)
        if np.isfinite(days).sum() > present / 2:
            return cls(True, days, no_unit, no_unit)
        plain = list(map(plain_numbers, values))
        number, unit = map(list, zip(*map(amount_of, plain), strict=True)) if plain else ([], [])
        if np.isfinite(number).sum() > present / 2 and not _are_codes([value for value in plain if value]):
            return cls(False, np.array(number), unit, no_unit)
        codes = [re.sub(r"\D", "", each) if each.isdecimal() or PHONE.fullmatch(each) else "" for each in plain]
        return cls(False, np.full(len(values), np.nan), no_unit, codes)


def _are_codes(values: Sequence[str]) -> bool:
    digits = [value for value in values if value.isdecimal()]
    plain = all(value.isdecimal() or np.isnan(amount_of(value)[0]) for value in values)
    return plain and (len(set(map(len, digits))) == 1 or 2 * len(set(digits)) > len(digits))


def amount_of(text: str) -> tuple[float, str]:
    """Read number and unit of a value with plain numbers; NaN if it is no number, or digits that begin with 0."""
    if (match := AMOUNT.fullmatch(text)) is None:
        return np.nan, ""
    sign, money, number, after = match.groups(default="")
    return float(number) * (-1 if sign and sign in MINUS else 1), MONEY.get(money or after, money or after)


def days_of(values: Iterable[str]) -> NDArray[np.float64]:
    """Return (n,) days since the year 1, without the time of day; NaN for what is no date.

    In `1/2/2026` the month is first if another value has more than 12 in the second place, the day if one has in the
    first place; it is no date if nothing tells, or both.
    """
    slashed = [match.groups() for value in values if (match := SLASHED.fullmatch(value))]
    orders = [order for order, place in (("dmy", 0), ("mdy", 1)) if any(int(each[place]) > 12 for each in slashed)]
    patterns = (*DATES, (SLASHED, orders[0])) if len(orders) == 1 else DATES
    return np.array([_day(value, patterns) for value in values], np.float64)


def _day(value: str, patterns: Iterable[tuple[re.Pattern[str], str]]) -> float:
    for pattern, order in patterns:
        if match := pattern.fullmatch(value):
            part = dict(zip(order, match.groups(), strict=True))
            try:
                month = int(part["m"]) if part["m"].isdecimal() else 1 + MONTHS.index(part["m"])
                return date(int(part["y"]), month, int(part["d"])).toordinal()
            except ValueError:  # a 13th month
                return np.nan
    return np.nan


def in_one_notation(values: Sequence[str]) -> list[str]:
    """Write dates as 2026-01-31 and codes by their digits alone; other values of a column stay as they are.

    Examples:
        >>> from twicetold.tables.notation import in_one_notation
        >>> in_one_notation(["31.01.2026", "jan 31, 2026", "soon"])
        ['2026-01-31', '2026-01-31', 'soon']
        >>> in_one_notation(["404/237-7601", "404 237 7601"])
        ['4042377601', '4042377601']
    """
    typed = Typed.of(values)
    days = typed.number.tolist() if typed.dates else [np.nan] * len(values)
    return [
        code or (value if np.isnan(day) else date.fromordinal(int(day)).isoformat())
        for value, code, day in zip(values, typed.code, days, strict=True)
    ]


def plain_numbers(text: str) -> str:
    """Write numbers of a text with a point before decimals, no zeros at their end, and no marks of thousands.

    What has other marks, such as a date or a version, stays as it is.

    Examples:
        >>> from twicetold.tables.notation import plain_numbers
        >>> plain_numbers("1,299.00 or 1.299,00; 12,5 mg; 5.50; on 31.12.2026")
        '1299 or 1299; 12.5 mg; 5.5; on 31.12.2026'
    """
    return MARKED.sub(_plain_number, text)


def _plain_number(match: re.Match[str]) -> str:
    number = match[0].translate(SWAPPED) if CONTINENTAL.fullmatch(match[0]) else match[0]
    if ENGLISH.fullmatch(number):
        number = number.replace(",", "")
    elif not DECIMAL.fullmatch(number):
        return number
    whole, _, decimals = number.replace(",", ".").partition(".")
    return f"{whole}.{decimals}".rstrip("0").rstrip(".") if decimals else whole
