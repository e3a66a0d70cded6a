"""Records: compared by their texts and by all columns in one text; what is said of their columns."""

import numpy as np
import pytest

from twicetold.matching.candidates import Ends
from twicetold.matching.comparison import Comparison
from twicetold.matching.generic import generic_matcher
from twicetold.matching.records import Values, in_rows
from twicetold.normal_form import normal_form

PRICES = ("19.99", "24.50", "3.75", "100.25", "7.10", "88.80")
DATES = ("2020-05-17", "2019-11-02", "2021-08-30")
WORDS = ("oslo", "paris", "a green hat", "brown shoes")


NAMES = ["red shoe 42", "Red shoes, 42", "red shoe 43", "a tent", "a green tent", "blue garden hose", "garden hose"]
CITIES = ["oslo", "Oslo", "paris", "oslo", "oslo", "", "paris"]
DAYS = ["2024-01-31", "31.01.2024", "2024-02-01", "2024-05-05", "May 5, 2024", "2024-06-01", "2024-06-01"]


def test_the_log_odds_of_records_are_the_mean_of_those_of_texts_and_of_rows():
    names = [f"canon eos {number} camera" for number in ("70d", "70 D", "80d", "80d", "5d mark ii", "5d", "5d")]
    rows = [" ".join(filter(None, each)) for each in zip(names, CITIES, strict=True)]
    compared = Comparison.of(names, also=[CITIES])
    found = by_ends(compared)
    of_texts, of_rows = (by_ends(Comparison.of(each, among=every_of(found))) for each in (names, rows))
    assert len(found) == len(of_texts) == len(of_rows) == 21
    assert found == pytest.approx({ends: (of_texts[ends] + of_rows[ends]) / 2 for ends in found}, abs=1e-4)


def test_a_pair_that_is_near_by_its_columns_alone_is_a_candidate():
    names = [f"thing{number}" for number in range(40)] + ["alpha", "omega"]
    addresses = [f"{number} hill{number} road{number}" for number in range(40)] + ["77 long lane, northampton"] * 2
    assert (40, 41) not in by_ends(Comparison.of(names))
    assert (40, 41) in by_ends(Comparison.of(names, also=[addresses]))


def test_columns_without_values_change_nothing():
    plain, with_columns = Comparison.of(NAMES), Comparison.of(NAMES, also=[[""] * len(NAMES)] * 3)
    np.testing.assert_array_equal(with_columns.ends, plain.ends)
    np.testing.assert_allclose(with_columns.log_odds, plain.log_odds, atol=1e-5)
    left, right = np.array([0, 3]), np.array([6, 6])  # no candidates
    np.testing.assert_allclose(with_columns.score(left, right), plain.score(left, right), atol=1e-5)


def test_answers_move_the_matcher_of_records_as_far_as_that_of_texts_where_columns_say_nothing_new():
    plain, with_columns = Comparison.of(NAMES), Comparison.of(NAMES, also=[[""] * len(NAMES)])
    answers = np.array([0, 3]), np.array([2, 4]), np.array([True, False])
    moved = [each.answered(*answers).log_odds for each in (plain, with_columns)]
    assert np.abs(moved[0] - plain.log_odds).max() > 0.5
    assert np.corrcoef(*moved)[0, 1] > 0.99


def test_a_date_in_another_notation_is_the_same_date_and_so_is_a_telephone_number():
    other = ["31.01.2024", "Jan 31, 2024", "1 Feb 2024", "05.05.2024", "2024-05-05", "01.06.2024", "June 1, 2024"]
    phones = [f"404/237-76{number:02}" for number in (1, 1, 2, 3, 3, 4, 5)]
    plain = [each.replace("/", " ").replace("-", " ") for each in phones]
    one, two = (Comparison.of(NAMES, also=each) for each in ([DAYS, phones], [other, plain]))
    np.testing.assert_allclose(one.log_odds, two.log_odds, atol=1e-6)


def test_a_doubled_matcher_starts_from_the_same_prior():
    matcher = generic_matcher(vectors=False)
    both = in_rows(matcher)
    columns = {name: np.linspace(0, 1, 5, dtype=np.float32) for name in matcher.names}
    twice = columns | {f"row_{name}": column for name, column in columns.items()}
    np.testing.assert_allclose(both.log_odds(twice), matcher.log_odds(columns), atol=1e-6)
    assert both.kinds.shape == (len(matcher.kinds), 2 * len(matcher.names) + 1)


def by_ends(compared: Comparison) -> dict[tuple[int, int], float]:
    """Log odds of the candidates, by the numbers of their texts."""
    ends = zip(*(each.tolist() for each in compared.ends), strict=True)
    return dict(zip(ends, compared.log_odds.tolist(), strict=True))


def every_of(pairs):
    """Take these pairs alone, by the numbers of their texts."""

    def ends(both, _vectors, order):
        place = np.argsort(order)
        sides = np.array([sorted((place[left], place[right])) for left, right in pairs]).T
        return Ends(*sides[:, np.lexsort(sides[::-1])])

    return ends


def verdict(one: str, other: str, beside: tuple[str, ...] = ()) -> str:
    """What is said of a pair of values of a column; `beside` are the column's other values."""
    (found,) = Values(normal_form([one, other, *beside])).agreement(np.array([0]), np.array([1]))
    return found


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
        ("19.90", "1990", PRICES, "contradicting"),
        ("1.5", "15", PRICES, "contradicting"),
        ("-5", "5", PRICES, "contradicting"),
        ("€50.00", "$50.00", PRICES, "contradicting"),
        ("5 kg", "5 lb", ("7 kg", "9 kg"), "contradicting"),
        ("0", "0.0", PRICES, "equal"),
        ("0", "0.1", PRICES, "contradicting"),
        ("19.90", "", PRICES, ""),
        ("19.90", "on request", PRICES, "contradicting"),
        # dates, in any notation
        ("2024-01-31", "2024-01-31 00:00:00", DATES, "equal"),
        ("2024-01-31", "2024-01-31T18:30:00Z", DATES, "equal"),
        ("31.01.2024", "2024-01-31", DATES, "equal"),
        ("January 31, 2024", "31 Jan 2024", DATES, "equal"),
        ("20240131", "2024/1/31", DATES, "equal"),
        ("1/31/2024", "2024-01-31", DATES, "equal"),
        ("31/1/2024", "2024-01-31", DATES, "equal"),
        ("2024-01-31", "2024-02-02", DATES, "near"),
        ("2024-01-31", "2024-03-02", DATES, "contradicting"),
        ("2024-01-31", "2025-01-31", DATES, "contradicting"),
        ("2024-01-31", "2034-02-01", DATES, "contradicting"),
        ("2024-01-31", "", DATES, ""),
        # codes
        ("60302", "60303", ("60304", "60310"), "contradicting"),
        ("01234", "01235", ("60302", "60310"), "contradicting"),
        ("60302", "60302", ("60304", "60310"), "equal"),
        ("17", "18", ("1", "2", "103", "104"), "contradicting"),
        ("1999", "2000", ("2004", "2004"), "contradicting"),
        ("404/237-7601", "404 237 7601", ("310-246-1501",), "equal"),
        ("404/237-7601", "404/237-7602", ("310-246-1501",), "contradicting"),
        # texts
        ("C++", "c++", WORDS, "equal"),
        ("C++", "C#", WORDS, "contradicting"),
        ("A+", "A-", WORDS, "contradicting"),
        ("Straße 5", "STRASSE 5", WORDS, "equal"),
        ("Sony, Inc.", "sony inc", WORDS, "equal"),
        ("10 main street", "10 main streets", WORDS, "near"),
        ("oslo", "tokyo", WORDS, "contradicting"),
        ("oslo", "", WORDS, ""),
        ("oslo", "-", WORDS, ""),
    ],
)
def test_values_are_compared_by_the_type_of_their_column(
    one: str, other: str, beside: tuple[str, ...], expected: str
) -> None:
    assert verdict(one, other, beside) == verdict(other, one, beside) == expected


@pytest.mark.parametrize(("days", "expected"), [(0, "equal"), (1, "near"), (30, "near"), (31, "contradicting")])
def test_dates_are_near_up_to_thirty_days(days: int, expected: str) -> None:
    assert verdict("2024-01-31", str(np.datetime64("2024-01-31") + np.timedelta64(days, "D"))) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [("200.5", "equal"), ("180.5", "near"), ("180.4", "contradicting"), ("-200.5", "contradicting")],
)
def test_numbers_are_near_up_to_a_tenth_of_the_larger_one(other: str, expected: str) -> None:
    assert verdict("200.5", other) == expected
