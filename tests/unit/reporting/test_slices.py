"""Slices of pairs are what their definitions say, and their accuracies are counts with Wilson's intervals."""

import numpy as np
import pytest

from twicetold.evaluation.intervals import Share
from twicetold.reporting.slices import LONG, SLICES, in_slices, signs, words

KNOWN = frozenset(words("how do i not never buy 3 or 4 gold coins don't in 2014 the price of a is rising rise"))
PLAIN = ("the price of gold is rising", "is the price of gold rising")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (*PLAIN, set()),
        ("price " * (LONG + 1), "the price", {"long"}),
        ("price " * LONG, "price", set()),
        ("gold", "coins", {"few_shared"}),
        ("buy gold coins", "buy coins in 2014", {"digits"}),
        ("buy 3 coins or 4", "buy 4 coins or 3", set()),  # in another order
        ("do i buy gold", "do i not buy gold", {"negation"}),
        ("i don't buy gold", "never do i buy gold", set()),  # both have one
        ("Gold is rising", "gold is Xenon", {"unknown"}),
    ],
)
def test_a_pair_is_in_the_slices_of_its_signs(left, right, expected):
    found = signs([left], [right], KNOWN)
    assert set(found.names(0)) == expected
    assert set(signs([right], [left], KNOWN).names(0)) == expected


def test_a_slice_and_its_outside_hold_all_pairs_and_count_what_is_right():
    generator = np.random.default_rng(0)
    found = signs([PLAIN[0], "gold 3", "xenon"] * 20, [PLAIN[1], "gold 4", "coins"] * 20, KNOWN)
    right = generator.random(60) < 0.7
    for name, (inside, outside) in in_slices(found, right).items():
        where = getattr(found, name)
        assert inside == Share(right[where].sum(), where.sum())
        assert outside == Share(right[~where].sum(), (~where).sum())
    assert list(in_slices(found, right)) == list(SLICES)


def test_an_empty_slice_has_no_pairs():
    inside, outside = in_slices(signs([PLAIN[0]], [PLAIN[1]], KNOWN), np.array([True]))["digits"]
    assert (inside, outside) == (Share(0, 0), Share(1, 1))
