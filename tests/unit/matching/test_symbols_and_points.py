"""Signs and points between digits part texts: codes, and the matcher's probabilities."""

import numpy as np
import pytest

from twicetold.matching.comparison import Comparison
from twicetold.matching.pair_features import features_of_texts
from twicetold.matching.terms import Terms


def of_pair(one: str, other: str) -> dict[str, float]:
    columns = features_of_texts(Terms.of([one, other]), np.array([0]), np.array([1]))
    return {name: float(column[0]) for name, column in columns.items()}


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("12.5mg", "125mg", 0),
        ("bolt m6x1.25", "bolt m6x125", 0),
        ("12,5mg", "12.5 mg", 1),
        ("tx-sr706", "tx.sr706", 1),
        ("404.237.7601", "404237-7601", 1),
    ],
)
def test_a_code_keeps_the_point_of_a_decimal_and_no_other(one: str, other: str, agree: float) -> None:
    assert of_pair(one, other)["codes_any"] == agree


BESIDE = ("a tripod of aluminium", "blue garden umbrella", "steel pan with lid", "office chair, black", "a lamp, 60 W")
OPPOSITE = [
    ("Senior C++ developer in Berlin", "Senior C# developer in Berlin"),
    ("The adapter gives +5 V at the pin", "The adapter gives -5 V at the pin"),
    ("Gift card worth €50 for the shop", "Gift card worth $50 for the shop"),
    ("Is it true that 3 > 2 for all", "Is it true that 3 < 2 for all"),
    ("if (a == b) return x", "if (a != b) return x"),
    ("blood group A+ donor", "blood group A- donor"),
]
POINTS = [
    ("Store the vaccine at -20 °C", "Store the vaccine at 20 °C"),
    ("Ibuprofen 12.5 mg tablets", "Ibuprofen 125 mg tablets"),
    ("Bag of potatoes 2.5 kg", "Bag of potatoes 25 kg"),
    ("Hex bolt M6x1.0 zinc", "Hex bolt M6x10 zinc"),
]
EQUAL = [
    ("Olive oil extra virgin 0.75 l", "Olive oil extra virgin 0,75 l"),
    ("Laptop bag $1,299.00 leather", "Laptop bag $1299 leather"),
    ("Oven at 180.0 °C for bread", "Oven at 180 °C for bread"),
    ("Keep the sample at −80 °C", "Keep the sample at -80 °C"),
    ("sodium chloride 0.9 % solution", "sodium chloride 0,9% solution"),
    ("Sony TX-SR706 receiver", "sony txsr706 receiver"),
]


def probability(one: str, other: str) -> float:
    compared = Comparison.of([one, other, *BESIDE])
    return float(compared.probability[compared.candidate(np.array([0]), np.array([1]))[0]])


@pytest.mark.parametrize(("one", "other"), OPPOSITE)
def test_texts_that_differ_in_a_sign_are_not_taken_for_the_same(one: str, other: str) -> None:
    assert probability(one, other) < 0.3


@pytest.mark.parametrize(("one", "other"), POINTS)
def test_texts_that_differ_in_a_point_or_one_sign_are_less_probable_to_be_the_same(one: str, other: str) -> None:
    assert probability(one, other) < 0.9


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_texts_that_differ_in_the_notation_of_a_number_are_taken_for_the_same(one: str, other: str) -> None:
    assert probability(one, other) > 0.9
