"""Why pairs are alike, for many pairs at once."""

import numpy as np
import pytest

import twicetold
from twicetold.interpretation import links as module
from twicetold.interpretation.contributions import explain
from twicetold.interpretation.links import why

TEXTS = ["bank rate cut film", "bank rate vote", "drug trial phone", "bank rate cut", "film star"] * 3
LEFT, RIGHT = np.triu_indices(len(TEXTS), 1)


def as_numbers(told):
    return {name: float(number) for name, _, number in (each.rpartition(" ") for each in told.split(", ") if each)}


@pytest.fixture
def fitted():
    return twicetold.fit(TEXTS, lexical=True).trained


def test_terms_and_numbers_of_an_ensemble_are_those_of_the_explanation_of_one_pair(fitted):
    found = why(fitted, TEXTS, LEFT, RIGHT, terms=1000)
    for told, left, right in zip(found, LEFT[:40], RIGHT[:40]):
        explained = explain(fitted, TEXTS[left], TEXTS[right])
        expected = {
            term.replace(": ", "=", 1): value for term, other, value in explained.largest(10**6) if term == other
        }
        members, _, terms = told.partition(": ")
        assert as_numbers(terms) == pytest.approx(expected, abs=1e-3)
        assert sum(as_numbers(members).values()) == pytest.approx(explained.score, abs=2e-3)


def test_the_terms_that_add_most_come_first_and_no_more_than_asked(fitted, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)
    whole, short = (why(fitted, TEXTS, LEFT, RIGHT, terms=count) for count in (1000, 2))
    for told, few in zip(whole, short):
        numbers = list(as_numbers(told.partition(": ")[2]).values())
        assert numbers == sorted(numbers, reverse=True)
        assert list(as_numbers(few.partition(": ")[2]).values()) == numbers[:2]


def test_texts_that_share_nothing_have_no_terms(fitted):
    (found,) = why(fitted, ["bank", "phone"], np.array([0]), np.array([1]))
    assert ":" not in found


def test_a_model_without_terms_is_refused(run):
    model = twicetold.load(run("static"))
    with pytest.raises(TypeError, match="expected a lexical model, such as tfidf, or an ensemble with one"):
        model.why(["bank rate"], ["bank"])
    with pytest.raises(ValueError, match="as many left texts as right ones, got 1 and 2"):
        model.why(["bank rate"], ["bank", "rate"])
    (found,) = twicetold.load(run("tfidf")).why(["bank rate"], ["bank film"])
    assert found.startswith("bank ")
