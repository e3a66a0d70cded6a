"""Slices of pairs are what their definitions say, and their accuracies are counts with Wilson's intervals."""

import numpy as np
import pytest

from twicetold.evaluation.intervals import accuracy_interval
from twicetold_lab.reporting.slices import LONG, SLICES, Rightness, in_slices, signs, words

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
    for name, sides in in_slices(found, right, np.arange(60)).items():
        where = getattr(found, name)
        for some, side in zip((where, ~where), sides, strict=True):
            assert (side.count, side.total) == (right[some].sum(), some.sum())
            if side.total:
                assert side.interval == pytest.approx(accuracy_interval(side.count, side.total), abs=0.02)
    assert list(in_slices(found, right, np.arange(60))) == list(SLICES)


def test_pairs_that_share_texts_and_are_alike_count_as_one():
    found, units = signs(["xenon"] * 90, ["coins"] * 90, KNOWN), np.arange(90) // 3
    right = np.random.default_rng(1).random(30)[units] < 0.7
    (alone, _), (shared, _) = (in_slices(found, right, each)["few_shared"] for each in (np.arange(90), units))
    assert shared.interval[1] - shared.interval[0] > 1.5 * (alone.interval[1] - alone.interval[0])


def test_an_empty_slice_has_no_pairs():
    found = signs([PLAIN[0]], [PLAIN[1]], KNOWN)
    inside, outside = in_slices(found, np.array([True]), np.array([0]))["digits"]
    assert inside == Rightness(0, 0, None)
    assert (outside.count, outside.total) == (1, 1)
