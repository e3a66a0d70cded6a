"""Links between two tables: across them only, within limits, and one to one by an exact assignment."""

import csv
import datetime
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import twicetold
from twicetold.dedupe import linked_rows
from twicetold.dedupe.assignment import assignment
from twicetold.dedupe.link import TwoTables

LEFT = [
    "Canon EOS-70D camera, 18 MP",
    "Nikon D750 camera body",
    "a tripod of aluminium, 150 cm",
    "blue garden hose 10 m",
    "Nikon D750 camera body",
]
RIGHT = ["garden hose, blue, 10 m", "nikon d750 camera body", "canon EOS-70D camera 18 MP", "blue garden hose 20 m"]


def link(left=LEFT, right=RIGHT, **options):
    return twicetold.link(left, right, lexical=True, **options)


def pairs(linked, left=LEFT, right=RIGHT):
    """The texts of pairs, with their probability."""
    rows = zip(linked.left, linked.right, linked.probability, strict=True)
    return sorted((left[a], right[b], round(float(p), 6)) for a, b, p in rows)


def test_pairs_are_across_tables_alone_and_in_the_order_of_their_rows():
    linked = link(threshold=0)
    keys = list(zip(linked.left.tolist(), linked.right.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert linked.left.max() < len(LEFT)
    assert linked.right.max() < len(RIGHT)
    assert not {(0, 2), (1, 1), (4, 1), (3, 0)} - set(keys)


def test_each_row_is_linked_or_not():
    linked = link()
    for count, some, others in zip((len(LEFT), len(RIGHT)), linked.linked(), linked.unlinked(), strict=True):
        assert sorted([*some, *others]) == list(range(count))
    assert 2 in linked.unlinked()[0]


@pytest.mark.parametrize("lexical", [True, False])
def test_texts_that_are_equal_but_for_case_and_blanks_are_linked_with_probability_1(lexical):
    linked = twicetold.link(LEFT, [f" {text.upper()}" for text in LEFT[:4]], lexical=lexical)
    probability = dict(zip(zip(linked.left.tolist(), linked.right.tolist()), linked.probability, strict=True))
    assert [probability[row, row] for row in range(4)] == [1, 1, 1, 1]
    assert probability[4, 1] == 1


@pytest.mark.parametrize("one_to_one", [False, True])
def test_the_order_of_rows_changes_nothing(one_to_one):
    rng = np.random.default_rng(0)
    left = [f"{text} no {number % 4}" for number, text in enumerate(LEFT * 6)]
    right = [f"{text} no {number % 3}" for number, text in enumerate(RIGHT * 5)]
    expected = pairs(link(left, right, one_to_one=one_to_one, threshold=0.1), left, right)
    for _ in range(3):
        mixed = [[side[row] for row in rng.permutation(len(side))] for side in (left, right)]
        assert pairs(link(*mixed, one_to_one=one_to_one, threshold=0.1), *mixed) == expected


def best_by_brute_force(left, right, gain):
    """The largest sum of gains of pairs that share no row."""
    best = 0.0
    for size in range(1, len(gain) + 1):
        for some in map(list, combinations(range(len(gain)), size)):
            if len(set(left[some])) == len(set(right[some])) == size:
                best = max(best, gain[some].sum())
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_assignment_is_the_best_there_is(seed):
    rng = np.random.default_rng(seed)
    cells = rng.choice(30, size=rng.integers(1, 12), replace=False)
    left, right = np.divmod(cells, 6) if seed % 2 else np.divmod(cells, 6)[::-1]
    gain = rng.random(len(cells)).round(2)
    chosen = assignment(left, right, gain)
    assert len(set(left[chosen])) == len(set(right[chosen])) == chosen.sum()
    assert gain[chosen].sum() == pytest.approx(best_by_brute_force(left, right, gain))


def test_one_to_one_takes_two_pairs_in_place_of_the_most_probable_one_if_their_sum_is_larger():
    left, right = np.array([0, 0, 1]), np.array([0, 1, 0])
    assert assignment(left, right, np.array([0.4, 0.3, 0.3])).tolist() == [False, True, True]
    assert assignment(left, right, np.array([0.4, 0.1, 0.1])).tolist() == [True, False, False]
    linked = link(one_to_one=True, threshold=0.01)
    assert len(set(linked.left)) == len(set(linked.right)) == len(linked) == 3


def test_limits_hold_and_rows_without_a_value_are_linked_with_none():
    brand = ["c", "n", "t", None, "n"], pa.array(["h", "m", "c", "h"])
    linked = link(same=[brand])
    assert pairs(linked) == [entry for entry in pairs(link()) if "EOS" in entry[0]]
    assert linked.without_values == 1
    day = ["2026-01-01", "2026-01-05", "", "2026-01-03", "2026-01-09"]
    other = [datetime.datetime(2026, 1, each) for each in (4, 6, 9, 3)]
    linked = link(within=[(day, other, "1d")])
    assert {(1, 1), (3, 0)} <= set(zip(linked.left.tolist(), linked.right.tolist()))
    assert not {0, 4} & set(linked.left.tolist())


def test_numbers_that_one_table_spells_as_texts_are_equal_to_numbers():
    texts = ["a red tent", "a red tent"]
    linked = link(texts, texts, same=[(["5", "7"], np.array([7.0, 5.0]))])
    assert list(zip(linked.left.tolist(), linked.right.tolist())) == [(0, 1), (1, 0)]
    linked = link(texts, texts, within=[(["5", "7"], [7.5, 5.5], 1)])
    assert list(zip(linked.left.tolist(), linked.right.tolist())) == [(0, 1), (1, 0)]


def test_further_columns_are_compared():
    texts = ["a red tent for two", "a red tent for two"]
    brand, price = (["acme", "zeta"], ["ACME", "acme"]), ([100, 200], ["100", "90"])
    linked = link(texts, texts, also=[brand, price], threshold=0)
    by_pair = dict(zip(zip(linked.left.tolist(), linked.right.tolist()), linked.probability.tolist()))
    assert by_pair[0, 0] > by_pair[0, 1] > by_pair[1, 1]


def catalogues():
    """Cameras of two shops, as texts, and the numbers of rows on both sides that are one."""
    with (Path(__file__).parents[3] / "examples/products.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sides = rows[::2], rows[1::2]
    same = {
        (a, b) for a, one in enumerate(sides[0]) for b, other in enumerate(sides[1]) if one["model"] == other["model"]
    }
    return *([row["title"] for row in side] for side in sides), same


def f1(linked, same):
    found = set(zip(linked.left.tolist(), linked.right.tolist(), strict=True))
    return 2 * len(found & same) / (len(found) + len(same))


def test_answers_raise_f1_and_go_on_where_they_stopped():
    left, right, same = catalogues()
    tables = TwoTables.of(left, right, lexical=True)
    answers = [], [], []
    for _ in range(2):
        questions = tables.questions(answers)
        for _ in range(5):
            for asked in questions.next():
                assert (left[asked.left], right[asked.right - len(left)]) == (asked.left_text, asked.right_text)
                questions.answer(asked, (asked.left, asked.right - len(left)) in same)
        one, other, said = questions.pairs
        answers = one, [row - len(left) for row in other], said
    assert len(set(zip(*answers[:2], strict=True))) == len(said) == 10
    linked = tables.link(pairs=answers)
    assert f1(tables.link(), same) + 0.2 < f1(linked, same)
    found = set(zip(linked.left.tolist(), linked.right.tolist(), strict=True))
    assert all(((a, b) in found) == known for a, b, known in zip(*answers, strict=True))
    again = link(left, right, pairs=tuple(column[::-1] for column in answers))
    assert pairs(again, left, right) == pairs(linked, left, right)


@pytest.mark.parametrize("one_to_one", [False, True])
def test_what_a_person_says_holds_for_equal_texts_and_follows_from_others(one_to_one):
    said = ([1, 2, 2, 3], [0, 1, 3, 3], [True, True, True, False])
    linked = link(pairs=said, one_to_one=one_to_one, threshold=1)
    found = set(zip(linked.left.tolist(), linked.right.tolist(), strict=True))
    assert {(1, 0), (4, 0)} & found
    assert {(2, 1), (2, 3)} & found
    assert one_to_one or {(1, 0), (4, 0), (2, 1), (2, 3)} <= found
    linked = link(pairs=([3], [1], [True]), one_to_one=one_to_one)
    assert (3, 1) in zip(linked.left, linked.right)  # though others are equal to row 1
    every = link(pairs=said, threshold=0.001)
    assert (3, 3) not in set(zip(every.left.tolist(), every.right.tolist(), strict=True))
    with pytest.raises(ValueError, match="keeps its texts apart, but"):
        link(pairs=([1, 1], [0, 0], [True, False]))
    with pytest.raises(ValueError, match="same or within keeps them apart"):
        link(pairs=([0], [0], [True]), same=[(list("abcde"), list("xyza"))])
    with pytest.raises(ValueError, match="rows of the right table, 0 to 3, got 4 as pair 0"):
        link(pairs=([0], [4], [True]))


def test_questions_are_within_limits():
    left, right, _ = catalogues()
    half = [[row % 2 for row in range(len(side))] for side in (left, right)]
    asked = TwoTables.of(left, right, same=[tuple(half)], lexical=True).questions().next(5)
    assert asked
    assert all(half[0][each.left] == half[1][each.right - len(left)] for each in asked)


def test_a_table_without_rows_has_no_pair():
    assert len(link([], RIGHT)) == len(link(LEFT, [], one_to_one=True)) == 0
    assert link([], RIGHT).unlinked()[1].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold": 1.5}, ValueError, "threshold: expected a probability, between 0 and 1, got 1.5"),
        ({"threshold": "0.5"}, TypeError, "threshold: expected a number"),
        ({"same": [["a"] * 5]}, TypeError, "same[0]: expected a column of the left table and one of the right"),
        ({"same": [(["a"] * 5, ["a"] * 3)]}, ValueError, "same[0], right: expected a value for each of 4 texts, got 3"),
        ({"also": [([[1]] * 5, ["a"] * 4)]}, TypeError, "also[0], left: expected texts, numbers or dates, got list"),
        ({"within": [([1] * 5, "abcd", 1)]}, TypeError, "within[0], right: expected a column"),
        ({"within": [([1] * 5, ["x"] * 4, 1)]}, ValueError, "within[0], right: expected numbers; got 'x' in rows 0"),
        ({"within": [([1] * 5, [1] * 4)]}, TypeError, "within[0]: expected two columns and a size"),
        ({"right": ["a", " "]}, ValueError, "right: 1 of 2 texts are empty, the first is row 1 (from 0)"),
        ({"right": "one text"}, TypeError, "expected a list of texts, got one text"),
    ],
)
def test_what_cannot_be_used_is_named(options, error, message):
    with pytest.raises(error) as raised:
        link(**options)
    assert message in str(raised.value)


def test_too_many_pairs_of_equal_texts_are_refused(monkeypatch):
    monkeypatch.setattr(linked_rows, "MOST", 5)
    with pytest.raises(ValueError, match="there are 9 pairs of rows, as equal texts stand in many rows of both tables"):
        link(["a red tent"] * 3, ["a red tent"] * 3)


def test_values_that_are_the_same_but_for_case_or_type_are_linked():
    texts = ["a red tent", "a blue hose"]
    linked = link(
        texts, texts, same=[(["SONY", "ｘ"], ["Sony", "X"]), ([5.0, 7.0], ["5", "7.0"]), ([True, False], ["True", "f"])]
    )
    assert list(zip(linked.left.tolist(), linked.right.tolist())) == [(0, 0)]


def test_all_rows_of_the_left_table_are_there_with_left_join():
    linked = twicetold.link(["a tent", "a red hose", "a hat", "a red hose"], ["A red hose", "red hose a"], lexical=True)
    left, right, probability = (column.to_pylist() for column in linked.left_join())
    assert left == sorted(left)
    assert set(left) == {0, 1, 2, 3}
    assert [(a, b) for a, b in zip(left, right) if b is not None] == list(
        zip(linked.left.tolist(), linked.right.tolist())
    )
    assert (
        [a for a, b, c in zip(left, right, probability) if b is None and c is None]
        == linked.unlinked()[0].tolist()
        == [0, 2]
    )


@pytest.mark.parametrize("names", [(["a"], ["b", "c"]), (["a", "b"], ["c"])])
def test_names_of_another_number_than_rows_are_refused(names):
    linked = twicetold.link(["a tent", "a hose"], ["A hose", "a hat"], lexical=True)
    with pytest.raises(ValueError, match=r"names, (left|right): expected a value for each of 2 texts, got 1"):
        linked.html(names)
