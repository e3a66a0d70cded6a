"""Why pairs are alike, for many pairs at once."""

import numpy as np
import pytest

import twicetold
from twicetold.interpretation import links as module
from twicetold.interpretation.links import why

TEXTS = ["bank rate cut film", "bank rate vote", "drug trial phone", "bank rate cut", "film star"] * 3
LEFT, RIGHT = np.triu_indices(len(TEXTS), 1)


def as_numbers(told):
    return {name: float(number) for name, _, number in (each.rpartition(" ") for each in told.split(", ") if each)}


@pytest.fixture
def fitted():
    return twicetold.fit(TEXTS, lexical=True).trained


def test_the_members_of_an_ensemble_add_up_to_the_score_and_terms_to_their_members(fitted):
    for told, left, right in zip(why(fitted, TEXTS, LEFT, RIGHT, terms=1000), LEFT[:40], RIGHT[:40]):
        members, _, terms = told.partition(": ")
        score = fitted.score([TEXTS[left]], [TEXTS[right]])[0]
        assert sum(as_numbers(members).values()) == pytest.approx(score, abs=2e-3)
        each = as_numbers(terms)
        for member, whole in as_numbers(members).items():
            parts = [value for term, value in each.items() if term.startswith(f"{member}=")]
            assert sum(parts) == pytest.approx(whole, abs=1e-3 * (1 + len(parts)))


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
    (found,) = twicetold.load(run("tfidf")).why(["bank rate"], ["bank film"])
    assert found.startswith("bank ")
