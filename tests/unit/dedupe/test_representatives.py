"""Which row of a group is kept."""

import numpy as np
import pytest

import twicetold
from twicetold.dedupe.groups import best_rows, values_to_keep

SAME = ["bank rate cut", "Bank Rate CUT", "bank rate cut film", "bank rate"]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (("newest", ["2026-01-01", "2026-03-01T10:00", "", "2026-03-01"]), 1),
        (("oldest", ["2026-01-02", "2026-03-01T10:00", "", "2026-01-02"]), 0),
        (("highest", [3, None, 7.5, 7]), 2),
        (("lowest", ["3", "-1", "7", ""]), 1),
        (("highest", [None] * 4), 0),
    ],
)
def test_a_group_is_represented_by_the_row_that_is_worth_most(keep, kept, run):
    """Also where a row with an equal text comes before it."""
    found = twicetold.load(run()).dedupe(SAME, rule="components", threshold=0.05, keep=keep)
    assert found.representative.tolist() == [kept] * 4
    assert found.kept().tolist() == [kept]
    assert found.probability[kept] == 1
    assert found.probability[0] == found.probability[1]


def test_of_equal_worth_the_first_row_is_kept():
    group, worth = np.array([0, 1, 0, 1, 0]), np.array([1.0, 2.0, 5.0, 2.0, 5.0])
    assert best_rows(group, worth).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("keep", "error", "message"),
    [
        (("best", [1, 2, 3, 4]), ValueError, "to keep by a column, got 'best'"),
        (("newest", [1, 2, 3]), ValueError, "expected dates as in ISO 8601"),
        (("highest", [1, 2, 3]), ValueError, "keep: expected a value for each of 4 texts, got 3"),
        ("newest", ValueError, "to keep, got 'newest'; newest and the like need a column"),
    ],
)
def test_wrong_ways_to_keep_are_named(keep, error, message, run):
    with pytest.raises(error, match=message):
        twicetold.load(run()).dedupe(SAME, keep=keep)


def test_a_missing_value_is_worth_least_either_way():
    assert values_to_keep("lowest", [1, None])[1] == values_to_keep("highest", [1, None])[1] == -np.inf
