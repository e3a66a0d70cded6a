"""Texts of an index to go on with."""

from unicodedata import normalize

import pytest

import twicetold
from twicetold.index import related as module
from twicetold.index.related import related_texts
from twicetold.index.text_index import Match

TEXTS = [
    "bank rate cut film",
    "Bank  rate cut FILM",
    "bank rate cut film star",
    "bank rate award",
    "bank vote",
    "drug trial",
]


def matches(texts):
    return [Match(str(row), text, 1 - row / 100, 0.5, row) for row, text in enumerate(texts)]


def searching(texts, asked):
    """A search that finds these texts in this order, and notes how deep it was asked to go."""

    def search(queries, depth):
        asked.append((len(queries), depth))
        return [matches(texts)[:depth] for _ in queries]

    return search


def test_the_text_itself_is_left_out_and_its_copies_if_asked():
    search = searching(TEXTS, [])
    assert [m.id for m in related_texts(search, TEXTS[:1], 9, not_copies=False)[0]] == ["2", "3", "4", "5"]
    assert [m.id for m in related_texts(search, TEXTS[:1], 9, not_copies=True)[0]] == ["3", "4", "5"]
    assert [m.id for m in related_texts(search, TEXTS[:1], 2, not_copies=True)[0]] == ["3", "4"]


def test_copies_of_a_suggestion_are_left_out_as_well_and_texts_without_words_are_no_copies():
    texts = ["drug trial phone", "drug, trial phone!", "???", "!!", "vote"]
    found = related_texts(searching(texts, []), ["bank"], 9, not_copies=True)[0]
    assert [match.text for match in found] == ["drug trial phone", "???", "!!", "vote"]


def test_the_search_goes_deeper_until_there_are_enough_others_and_ends(monkeypatch):
    asked, copies = [], [*["bank rate"] * 30, "drug", "vote"]
    found = related_texts(searching(copies, asked), ["bank rate", "drug"], 2, not_copies=True)
    assert [match.text for match in found[0]] == ["drug", "vote"]
    assert asked == [(2, 12), (2, 48)]
    monkeypatch.setattr(module, "DEEPEST", 20)
    asked.clear()
    assert related_texts(searching(copies, asked), ["bank rate"], 2, not_copies=False) == [[]]
    assert asked == [(1, 12), (1, 20)]


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_an_index_of_a_model_has_it(family, run):
    index = twicetold.load(run(family)).index(TEXTS, groups=False)
    (found,) = index.related(["bank rate cut film"], k=2, not_copies=True)
    assert len(found) == 2
    assert not {match.text for match in found} & {*TEXTS[:3]}
    searched = [match for match in index.search(["bank rate cut film"], k=6)[0] if match.text in TEXTS[3:]]
    assert found == searched[:2]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        index.related(["bank"], k=0)
    with pytest.raises(TypeError, match="expected a list of texts, got one text"):
        index.related("bank")
    assert index.related([]) == []


def test_copies_in_another_unicode_form_are_copies():
    texts = ["Où est l’élève préféré ?", normalize("NFD", "Où est l’ÉLÈVE préféré, lui ?"), "drug trial"]
    found = related_texts(searching(texts, []), texts[:1], 9, not_copies=True)[0]
    assert [match.id for match in found] == ["2"]
