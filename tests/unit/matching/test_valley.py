"""The valley of a file's log odds."""

import csv
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import twicetold
from twicetold.matching.comparison import Comparison
from twicetold.matching.matcher import Matcher
from twicetold.matching.valley import LOWER, large_groups_shift, valley_shift


def heaps(*parts, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([rng.normal(mean, spread, count) for mean, spread, count in parts]))


def questions():
    with Path("examples/questions.csv").open() as file:
        return [row["question"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("middle", [-4.0, 0.0, 3.0])
def test_one_half_is_moved_half_of_the_way_to_where_two_parts_are_as_dense(middle, seed):
    shift = valley_shift(heaps((middle + 5, 1.0, 200), (middle - 5, 1.0, 2000), seed=seed))
    assert shift == pytest.approx((middle + np.log(10) / 10) / 2, abs=0.25)  # the larger part is ten times as dense


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("parts", [[(-4, 3, 1000)], [(0, 1, 300)], [(-4, 2, 1000), (0, 2, 300)], [(1, 0, 500)]])
def test_one_heap_moves_nothing(parts, seed):
    assert valley_shift(heaps(*parts, seed=seed)) == 0.0


def test_neither_few_pairs_nor_a_handful_on_one_side_show_a_valley():
    assert valley_shift(heaps((-5, 1, 60), (5, 1, 39))) == valley_shift(heaps((-5, 1, 2000), (5, 1, 2))) == 0.0
    assert valley_shift(np.empty(0)) == 0.0


def test_the_order_of_pairs_moves_nothing():
    log_odds = heaps((-6, 1, 500), (3, 1, 100))
    assert valley_shift(log_odds) == valley_shift(log_odds[::-1]) != 0.0


def test_the_probability_of_a_shifted_matcher_is_that_of_shifted_log_odds():
    ones = np.ones(2)
    matcher = Matcher(("a", "b"), ones, 2 * ones, np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros((0, 3)), 1.0)
    columns = {"a": np.array([0.5, 2.0]), "b": np.array([1.0, -1.0])}
    np.testing.assert_allclose(matcher.moved(0.7).log_odds(columns), matcher.log_odds(columns) - 0.7)


def test_a_list_without_duplicates_stays_one_where_its_copies_show_a_valley():
    """The rows of the example, and one row of each of its groups."""
    texts = questions()
    found = twicetold.fit(texts, lexical=True).dedupe(texts)
    assert Comparison.of(list(dict.fromkeys(texts))).valley < 0
    once = [texts[row] for row in found.kept()]
    assert Comparison.of(once).valley == 0.0
    assert len(twicetold.fit(once, lexical=True).dedupe(once).kept()) > 0.97 * len(once)


@pytest.mark.parametrize(("flats", "siblings"), [(("2", "3", "4"), True), (("a", "b", "c"), False)])
def test_a_heap_of_texts_that_contradict_in_numbers_is_no_valley(flats, siblings):
    roads = [" ".join(pair) for pair in combinations(("oak", "hill", "park", "lake", "church", "mill", "elm"), 2)]
    comparison = Comparison.of([f"{road} {flat}" for road in roads for flat in flats])
    house = np.repeat(np.arange(len(roads)), len(flats))
    left, right = comparison.ends
    noise = np.random.default_rng(0).normal(0, 0.3, len(left))
    shown = replace(comparison, known=np.where(house[left] == house[right], -1.0, -9.0) + noise)
    assert valley_shift(shown.log_odds) < 0
    assert (shown.valley == 0.0) is siblings


@pytest.mark.parametrize("asked", [0, 3])
def test_a_question_has_the_probability_that_a_dedupe_gives_after_the_same_answers(asked):
    texts = questions()
    model = twicetold.fit(texts, lexical=True)
    doubtful = model.questions(texts)
    for question in doubtful.next(asked):
        doubtful.answer(question, True)
    again = model.questions(texts, pairs=doubtful.pairs)
    links = model.dedupe(texts, threshold=0.01, pairs=doubtful.pairs if asked else None).links
    given = dict(zip(zip(links.left.tolist(), links.right.tolist()), links.probability.tolist()))
    for question in again.next(5):
        assert given[question.left, question.right] == pytest.approx(question.probability, abs=1e-9)


def test_an_index_that_grows_moves_one_half_as_a_build_does():
    texts = questions()
    whole = twicetold.fit(texts, lexical=True)
    grown, built = whole.index(texts[:100]), whole.index(texts)
    before = grown.decision
    grown.add(texts[100:])
    assert grown.decision != before
    assert grown.decision == built.decision
    assert (grown.groups == built.groups).all()


def in_groups(sizes):
    """Number of texts, ends and log odds of 1 of all pairs in groups of these sizes."""
    ends = [
        (first + a, first + b)
        for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True)
        for a in range(size)
        for b in range(a + 1, size)
    ]
    left, right = np.array(ends).T
    return int(np.sum(sizes)), left, right, np.ones(len(ends))


@pytest.mark.parametrize(("share", "expected"), [(1 / 4, 0.0), (7 / 24, -LOWER / 2), (1 / 3, -LOWER), (1.0, -LOWER)])
def test_one_half_is_lower_where_many_texts_have_three_probable_others(share, expected):
    count, *pairs = in_groups([4] * 42 + [3] * 20)
    texts = round(4 * 42 / share)  # the others have two or none
    assert large_groups_shift(max(count, texts), *pairs) == pytest.approx(expected if texts >= count else -LOWER)


def test_neither_few_pairs_nor_improbable_ones_show_large_groups():
    assert large_groups_shift(*in_groups([4] * 16)) == 0.0  # 96 pairs
    count, left, right, log_odds = in_groups([4] * 20)
    assert large_groups_shift(count, left, right, log_odds) == -LOWER
    assert large_groups_shift(count, left, right, -log_odds) == 0.0
