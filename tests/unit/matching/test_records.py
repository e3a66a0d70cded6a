"""Further columns: equal, near by a stated scale, contradicting or missing, by the type of the column."""

import numpy as np
import pytest

from twicetold.matching.candidates import Pairs
from twicetold.matching.records import record_features
from twicetold.normal_form import normal_form

PRICES = ("19.99", "24.50", "3.75", "100.25", "7.10", "88.80")
DATES = ("2020-05-17", "2019-11-02", "2021-08-30")
WORDS = ("oslo", "paris", "a green hat", "brown shoes")


def verdict(one: str, other: str, beside: tuple[str, ...] = ()) -> tuple[str, float]:
    """What a pair of values of a column is, and their similarity; `beside` are the column's other values."""
    column = normal_form([one, other, *beside])
    ends = np.array([0]), np.array([1])
    parts = record_features([column], Pairs(len(column), *ends, np.zeros(1, np.float32), None))
    (name,) = [name for name in ("equal", "near", "contradict", "missing") if parts[f"columns_{name}"][0] == 1]
    return name, float(parts["columns_similarity"][0])


@pytest.mark.parametrize(
    ("one", "other", "beside", "expected"),
    [
        # numbers, in any notation
        ("19.90", "19.9", PRICES, "equal"),
        ("$1,299.00", "1299", PRICES, "equal"),
        ("1.299,00 €", "€ 1299", PRICES, "equal"),
        ("12,5", "12.5", PRICES, "equal"),
        ("5kg", "5.0 KG", ("7 kg", "9 kg"), "equal"),
        ("−5", "-5.0", PRICES, "equal"),
        ("19.90", "20.10", PRICES, "near"),
        ("5 kg", "5", ("7 kg", "9 kg"), "near"),
        ("19.90", "1990", PRICES, "contradict"),
        ("1.5", "15", PRICES, "contradict"),
        ("-5", "5", PRICES, "contradict"),
        ("€50.00", "$50.00", PRICES, "contradict"),
        ("5 kg", "5 lb", ("7 kg", "9 kg"), "contradict"),
        ("0", "0.0", PRICES, "equal"),
        ("0", "0.1", PRICES, "contradict"),
        ("19.90", "", PRICES, "missing"),
        ("19.90", "on request", PRICES, "contradict"),
        # dates, in any notation
        ("2024-01-31", "2024-01-31 00:00:00", DATES, "equal"),
        ("2024-01-31", "2024-01-31T18:30:00Z", DATES, "equal"),
        ("31.01.2024", "2024-01-31", DATES, "equal"),
        ("January 31, 2024", "31 Jan 2024", DATES, "equal"),
        ("20240131", "2024/1/31", DATES, "equal"),
        ("1/31/2024", "2024-01-31", DATES, "equal"),
        ("31/1/2024", "2024-01-31", DATES, "equal"),
        ("2024-01-31", "2024-02-02", DATES, "near"),
        ("2024-01-31", "2024-03-02", DATES, "contradict"),
        ("2024-01-31", "2025-01-31", DATES, "contradict"),
        ("2024-01-31", "2034-02-01", DATES, "contradict"),
        ("2024-01-31", "", DATES, "missing"),
        # codes
        ("60302", "60303", ("60304", "60310"), "contradict"),
        ("01234", "01235", ("60302", "60310"), "contradict"),
        ("60302", "60302", ("60304", "60310"), "equal"),
        ("17", "18", ("1", "2", "103", "104"), "contradict"),
        ("1999", "2000", ("2004", "2004"), "contradict"),
        ("404/237-7601", "404 237 7601", ("310-246-1501",), "equal"),
        ("404/237-7601", "404/237-7602", ("310-246-1501",), "contradict"),
        # texts
        ("C++", "c++", WORDS, "equal"),
        ("C++", "C#", WORDS, "contradict"),
        ("A+", "A-", WORDS, "contradict"),
        ("Straße 5", "STRASSE 5", WORDS, "equal"),
        ("Sony, Inc.", "sony inc", WORDS, "equal"),
        ("10 main street", "10 main streets", WORDS, "near"),
        ("oslo", "tokyo", WORDS, "contradict"),
        ("oslo", "", WORDS, "missing"),
        ("oslo", "-", WORDS, "missing"),
    ],
)
def test_values_are_compared_by_the_type_of_their_column(
    one: str, other: str, beside: tuple[str, ...], expected: str
) -> None:
    assert verdict(one, other, beside)[0] == expected
    assert verdict(other, one, beside) == verdict(one, other, beside)


@pytest.mark.parametrize(("apart", "similarity"), [(0, 1), (30, 0.5), (60, 0.25), (365, 0.5 ** (365 / 30))])
def test_similarity_of_dates_is_halved_by_each_thirty_days(apart: int, similarity: float) -> None:
    other = str(np.datetime64("2024-01-31") + np.timedelta64(apart, "D"))
    assert verdict("2024-01-31", other)[1] == pytest.approx(similarity)


@pytest.mark.parametrize(
    ("other", "similarity"), [("200.5", 1), ("180.45", 0.5), ("100.25", 0.5**5), ("-200.5", 0.5**20)]
)
def test_similarity_of_numbers_is_halved_by_each_tenth_of_the_larger_one(other: str, similarity: float) -> None:
    assert verdict("200.5", other)[1] == pytest.approx(similarity)


def test_two_days_are_nearer_than_a_year_and_a_year_than_ten() -> None:
    near = [verdict("2024-01-31", other)[1] for other in ("2024-02-01", "2024-02-02", "2025-01-31", "2034-02-01")]
    assert near == sorted(near, reverse=True)
    assert near[1] - near[2] > 0.9
    assert near[3] < 1e-6
