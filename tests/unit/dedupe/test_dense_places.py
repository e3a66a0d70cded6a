"""Thousands of lines of a few templates are grouped with a bounded number of links, which the summary says."""

import numpy as np
import pytest

from twicetold.dedupe import blocking
from twicetold.neighbours import contracting
from twicetold.neighbours.rules import RULES

TEMPLATES = (
    "Your order {} has been shipped and will arrive soon at your door",
    "Invoice {} is attached to this message, please pay within two weeks",
    "The server worker {} has finished all of its jobs without an error",
)
ORDINARY = ["How do I learn to swim?", "How do I learn to swim well?", "Where can I buy a tent?", "Cats like milk"]


def texts_of(each=120):
    lines = [
        text.format(1000 + 4000 * place + number) for number in range(each) for place, text in enumerate(TEMPLATES)
    ]
    return [*lines, *ORDINARY]


@pytest.fixture
def bounded(monkeypatch):
    bound(monkeypatch)


def bound(monkeypatch):
    monkeypatch.setattr(blocking, "MOST_LINKS", 500)
    monkeypatch.setattr(blocking, "LINKS_EACH", 0)
    monkeypatch.setattr(contracting, "SAMPLED", 30)
    monkeypatch.setattr(contracting, "FEWEST", 30)


@pytest.mark.parametrize("rule", ["average", "components"])
def test_lines_of_templates_are_grouped_as_by_all_their_links(rule, monkeypatch, by_similarity):
    texts = texts_of()
    model = by_similarity(texts, 0.3)
    every = model.dedupe(texts, rule=rule)
    bound(monkeypatch)
    few = model.dedupe(texts, rule=rule)
    np.testing.assert_array_equal(few.group, every.group)
    assert every.summary.counts.unfinished == 0
    assert every.summary.counts.links > 20_000
    assert few.summary.counts.unfinished > 200
    assert few.summary.counts.links < 5_000
    linked = dict(zip(zip(every.links.left, every.links.right), every.links.score))
    assert all(linked[pair] == score for pair, score in zip(zip(few.links.left, few.links.right), few.links.score))


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("rule", RULES)
def test_limits_hold_in_dense_places(rule, by_similarity):
    texts = texts_of()
    half = [number % 2 for number in range(len(texts))]
    day = [number % 10 for number in range(len(texts))]
    model = by_similarity(texts, 0.3)
    found = model.dedupe(texts, rule=rule, same=[half], within=[(day, 4)])
    for left, right in zip(found.links.left, found.links.right):
        assert half[left] == half[right]
        assert abs(day[left] - day[right]) <= 4
    assert found.summary.counts.unfinished
    assert all(len({half[row] for row in rows}) == 1 for rows in _rows(found))


@pytest.mark.usefixtures("bounded")
def test_an_index_of_lines_of_templates_has_the_groups_of_a_dedupe(by_similarity):
    texts = texts_of()
    model = by_similarity(texts, 0.3)
    groups = model.dedupe(texts).group
    made = model.index(texts)
    np.testing.assert_array_equal(made.groups, groups)


def _rows(found):
    return [np.flatnonzero(found.group == group) for group in found.table.group]
