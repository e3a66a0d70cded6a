"""Links within blocks of equal values and windows of numbers and dates."""

import datetime

import numpy as np
import pytest
from scipy import sparse

import twicetold
from twicetold.dedupe import blocking, candidates
from twicetold.dedupe.blocking import pairs_within
from twicetold.dedupe.limits import Limits

COUNT = 300


def limits_of(kind, rng, count=COUNT):
    """Limits, and which of all pairs they allow, computed pair by pair."""
    language, day = rng.integers(0, 4, count), rng.integers(0, 40, count)
    price = rng.random(count).round(2) * 10
    same = [language == language[:, None]]
    near_by = {"day": np.abs(day - day[:, None]) <= 3, "price": np.abs(price - price[:, None]) <= 2.5 + 1e-9}
    match kind:
        case "same":
            return Limits.of(count, same=[language]), same[0]
        case "within":
            return Limits.of(count, within=[(day, 3)]), near_by["day"]
        case "both":
            return Limits.of(count, [language], [(price, 2.5)]), same[0] & near_by["price"]
        case "two windows":
            return Limits.of(count, within=[(price, 2.5), (day, 3)]), near_by["price"] & near_by["day"]
    raise AssertionError(kind)


KINDS = ["same", "within", "both", "two windows"]


def vectors_of(kind, rng, count=COUNT):
    if kind == "dense":
        found = rng.normal(size=(count, 6)).astype(np.float32)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found, found
    found = sparse.random(count, 40, density=0.15, format="csr", dtype=np.float32, random_state=int(rng.integers(99)))
    return found, found


@pytest.mark.parametrize("piece", [1, 7, 512])
@pytest.mark.parametrize("limit", KINDS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_all_allowed_pairs_from_a_similarity_on_are_found_and_no_others(kind, limit, piece, monkeypatch):
    monkeypatch.setattr(blocking, "PIECE", piece)
    monkeypatch.setattr(blocking, "CELLS", 4 * COUNT)
    rng = np.random.default_rng(0)
    vectors, (limits, allowed) = vectors_of(kind, rng), limits_of(limit, rng)
    dots = vectors[0] @ vectors[0].T
    dots = dots.toarray() if kind == "sparse" else dots
    found = pairs_within(vectors, limits, 0.5, neighbours=20)
    expected = np.triu(allowed & (dots >= 0.5), 1)
    assert 20 < expected.sum() < np.triu(dots >= 0.5, 1).sum()
    assert {*zip(found.left.tolist(), found.right.tolist())} == {*zip(*map(np.ndarray.tolist, np.nonzero(expected)))}
    np.testing.assert_allclose(found.dots, dots[found.left, found.right], atol=1e-5)
    assert found.unfinished == 0
    assert limits.allow(found.left, found.right).all()


@pytest.mark.parametrize("limit", KINDS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_without_a_least_similarity_each_text_has_its_nearest_allowed_ones(kind, limit, monkeypatch):
    monkeypatch.setattr(blocking, "PIECE", 30)
    rng = np.random.default_rng(1)
    vectors, (limits, allowed) = vectors_of(kind, rng), limits_of(limit, rng)
    dots = vectors[0] @ vectors[0].T
    dots = np.array(dots.toarray() if kind == "sparse" else dots)
    dots[~allowed | np.eye(COUNT, dtype=bool)] = -np.inf
    if kind == "sparse":
        dots[dots <= 0] = -np.inf
    expected = set()
    for row, nearest in enumerate(np.argsort(-dots, axis=1, kind="stable")[:, :3]):
        expected |= {tuple(sorted((row, int(other)))) for other in nearest if dots[row, other] > -np.inf}
    found = pairs_within(vectors, limits, None, neighbours=3)
    assert {*zip(found.left.tolist(), found.right.tolist())} == expected


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_large_block_is_searched_by_itself_and_has_the_same_pairs(kind, monkeypatch):
    rng = np.random.default_rng(2)
    vectors, (limits, _) = vectors_of(kind, rng), limits_of("same", rng)
    by_pieces = pairs_within(vectors, limits, 0.4, neighbours=20)
    monkeypatch.setattr(blocking, "LARGE", 70)
    apart = pairs_within(vectors, limits, 0.4, neighbours=20)
    assert {*zip(apart.left, apart.right)} == {*zip(by_pieces.left, by_pieces.right)}


def test_texts_with_more_links_than_are_held_are_counted(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_PAIRS", 100)
    rows = np.ones((20, 2), np.float32)
    found = pairs_within((rows, rows), Limits.of(20, within=[(np.zeros(20), 1)]), 0.5, neighbours=5)
    assert found.unfinished == 14
    assert len(found.left) == 14 * 5 + 5 * 4 // 2 + 5


def test_rounding_keeps_no_pair_out():
    price = np.array([0.1, 0.2, 0.3, 5.1, 5.2])
    limits = Limits.of(5, within=[(price, 0.1)])
    assert limits.allow(np.array([0, 1, 3, 0]), np.array([1, 2, 4, 2])).tolist() == [True, True, True, False]


TEXTS = ["bank rate cut", "Bank rate CUT", "bank rate cut film", "drug trial", "bank rate cut", "drug trial phone"]


def test_groups_lie_within_equal_values_also_of_equal_texts(run):
    language = ["en", "de", "en", "en", "en", ""]
    found = twicetold.load(run()).dedupe(TEXTS, threshold=0.5, same=[language])
    assert found.group[0] == found.group[2] == found.group[4] != found.group[1]
    assert found.exact.tolist() == [0, 1, 2, 3, 0, 5]
    assert (found.group == found.group[5]).sum() == 1  # without a value
    assert found.summary.counts.alone == 1
    assert found.summary.counts.distinct == 5


def test_each_block_has_the_groups_that_it_has_alone(run, questions):
    texts = questions.texts.to_pylist() * 2
    parity = np.arange(len(texts)) % 3
    model = twicetold.load(run("static"))
    found = model.dedupe(texts, threshold=0.6, same=[parity])
    for value in range(3):
        rows = np.flatnonzero(parity == value)
        alone = model.dedupe([texts[row] for row in rows], threshold=0.6)
        np.testing.assert_array_equal(np.unique(found.group[rows], return_inverse=True)[1], alone.group)


@pytest.mark.parametrize("rule", ["components", "average", "complete"])
def test_a_window_holds_of_each_link_and_with_complete_of_each_group(rule, run):
    days = [datetime.date(2026, 1, day) for day in (1, 3, 5, 7, 9, 31)]
    found = twicetold.load(run()).dedupe(["bank rate cut"] * 6, threshold=0.5, rule=rule, within=[(days, "2d")])
    number = np.array([day.toordinal() for day in days])
    assert (np.abs(number[found.links.left] - number[found.links.right]) <= 2).all()
    assert len(found.links) == 4
    spans = [np.ptp(number[found.group == group]) for group in np.unique(found.group)]
    assert found.summary.counts.wide == sum(span > 2 for span in spans)
    assert max(spans) == (2 if rule == "complete" else 8)


def test_a_group_is_wide_if_two_of_its_values_are_further_apart_than_a_window():
    rng = np.random.default_rng(0)
    day, price, group = rng.integers(0, 9, 40), rng.integers(0, 9, 40), rng.permutation(np.arange(40) // 3)
    limits = Limits.of(40, within=[(day, 5), (price, 4)])
    wide = [np.ptp(day[group == each]) > 5 or np.ptp(price[group == each]) > 4 for each in range(14)]
    assert 2 < limits.wide(group) == sum(wide) < 12


def test_equal_texts_with_equal_values_are_one_and_others_are_links(run):
    found = twicetold.load(run()).dedupe(["bank rate"] * 4, threshold=0.5, within=[([1, 1, 2, 9], 3)])
    assert found.group.tolist() == [0, 0, 0, 1]
    assert found.exact.tolist() == [0, 0, 2, 3]
    assert found.summary.counts.distinct == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"same": [["en"]]}, ValueError, r"same\[0\]: expected a value for each of 6 texts, got 1"),
        ({"same": ["language"]}, TypeError, "expected a column of values, got one text"),
        ({"within": [([1] * 6, "3d")]}, ValueError, "expected dates as in ISO 8601"),
    ],
)
def test_wrong_columns_are_named(options, error, message, run):
    with pytest.raises(error, match=message):
        twicetold.load(run()).dedupe(TEXTS, **options)
