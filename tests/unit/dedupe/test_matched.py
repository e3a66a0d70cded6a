"""Groups of texts that nobody has labelled, by the generic matcher."""

import csv
from pathlib import Path

import numpy as np
import pytest

import twicetold
from twicetold.dedupe import blocking
from twicetold.matching.compared import compare
from twicetold.matching.matcher import Matcher

QUESTIONS = Path(__file__).parents[3] / "examples/questions.csv"


@pytest.fixture(scope="module")
def asked():
    with QUESTIONS.open() as file:
        return [row["question"] for row in csv.DictReader(file)]


def parts(group, texts):
    """The groups as sets of texts."""
    return {frozenset(text for text, each in zip(texts, group, strict=True) if each == one) for one in set(group)}


def linked(found, texts):
    """The links as sets of texts in small letters, as of equal ones another may stand for them."""
    ends = zip(found.links.left.tolist(), found.links.right.tolist(), strict=True)
    return {frozenset((texts[left].lower(), texts[right].lower())) for left, right in ends}


@pytest.mark.parametrize("sense", ["copies", "same"])
def test_groups_are_those_of_the_matcher_and_links_the_same_in_whatever_order_the_rows_are(sense, asked):
    found = twicetold.fit(asked, lexical=True).dedupe(asked, sense=sense)
    compared = compare(asked)
    expected = compared.groups(Matcher.generic(sense, vectors=False).probability(compared.columns))
    assert parts(found.group.tolist(), asked) == parts(expected.tolist(), asked)
    turned = asked[::-1]
    again = twicetold.fit(turned, lexical=True).dedupe(turned, sense=sense)
    assert linked(again, turned) == linked(found, asked)


def test_other_senses_give_other_groups(asked):
    model = twicetold.fit(asked, lexical=True)
    assert len({len(model.dedupe(asked, sense=sense).links) for sense in ("copies", "same", "topic")}) == 3
    with pytest.raises(ValueError, match="one of the senses"):
        model.dedupe(asked, sense="alike")


def test_a_sense_is_refused_where_labels_say_what_the_same_is(run, asked):
    with pytest.raises(ValueError, match="is for texts that nobody has labelled"):
        twicetold.load(run("tfidf")).dedupe(asked, sense="topic")


@pytest.mark.parametrize("large", [4096, 3], ids=["pieces", "blocks"])
def test_links_are_within_limits(large, asked, monkeypatch):
    monkeypatch.setattr(blocking, "LARGE", large)
    half = [number % 2 for number in range(len(asked))]
    model = twicetold.fit(asked, lexical=True)
    links = model.dedupe(asked, same=[half]).links
    assert len(links)
    assert all(half[left] == half[right] for left, right in zip(links.left, links.right, strict=True))
    near = model.dedupe(asked, within=[(np.arange(len(asked)), 60)]).links
    assert len(near)
    assert np.abs(near.left - near.right).max() <= 60


def test_answers_move_the_matcher_and_hold(asked):
    model = twicetold.fit(asked, lexical=True)
    plain = model.dedupe(asked, review=9)
    pairs = (plain.review.left, plain.review.right, np.ones(9, bool))
    after = model.dedupe(asked, pairs=pairs)
    assert (after.group[pairs[0]] == after.group[pairs[1]]).all()
    assert len(after.links) > len(plain.links) + 9 - (plain.review.probability >= 0.5).sum()
    far = ([0], [5], [True])  # no candidate
    assert model.dedupe(asked, pairs=far).group[[0, 5]].tolist() == [0, 0]


def test_what_makes_a_link_is_told_by_its_features(asked):
    found = twicetold.fit(asked, lexical=True).dedupe(asked)
    told = found.why(np.arange(len(found.links)))
    assert len(told) == len(found.links)
    assert all(len(each.split(", ")) == 5 for each in told)
