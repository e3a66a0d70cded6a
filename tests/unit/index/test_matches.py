"""Texts of an index to go on with."""

from unicodedata import normalize

import pytest

import twicetold
from twicetold.index import matches as module
from twicetold.index.matches import Match, without_copies

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


def test_the_text_itself_and_its_copies_are_left_out():
    search = searching(TEXTS, [])
    assert [m.id for m in without_copies(search, TEXTS[:1], 9)[0]] == ["3", "4", "5"]
    assert [m.id for m in without_copies(search, TEXTS[:1], 2)[0]] == ["3", "4"]


def test_copies_of_a_match_are_left_out_as_well_and_texts_without_words_are_no_copies():
    texts = ["drug trial phone", "drug, trial phone!", "???", "!!", "vote"]
    (matches,) = without_copies(searching(texts, []), ["bank"], 9)
    assert [match.text for match in matches] == ["drug trial phone", "???", "!!", "vote"]


def test_the_search_goes_deeper_until_there_are_enough_others_and_ends(monkeypatch):
    asked, copies = [], [*["bank rate"] * 30, "drug", "vote"]
    found = without_copies(searching(copies, asked), ["bank rate", "drug"], 2)
    assert [match.text for match in found[0]] == ["drug", "vote"]
    assert asked == [(2, 12), (2, 48)]
    monkeypatch.setattr(module, "DEEPEST", 20)
    asked.clear()
    assert without_copies(searching(copies, asked), ["bank rate"], 2) == [[]]
    assert asked == [(1, 12), (1, 20)]


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_a_search_without_copies_has_the_first_others_of_a_search(family, run):
    index = twicetold.load(run(family)).index(TEXTS, groups=False)
    (matches,) = index.search(["bank rate cut film"], k=2, not_copies=True)
    assert len(matches) == 2
    assert not {match.text for match in matches} & {*TEXTS[:3]}
    searched = [match for match in index.search(["bank rate cut film"], k=6)[0] if match.text in TEXTS[3:]]
    assert matches == searched[:2]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        index.search(["bank"], k=0, not_copies=True)
    with pytest.raises(TypeError, match="expected a list of texts, got one text"):
        index.search("bank", not_copies=True)
    assert index.search([], not_copies=True) == []


def test_copies_in_another_unicode_form_are_copies():
    texts = ["Où est l’élève préféré ?", normalize("NFD", "Où est l’ÉLÈVE préféré, lui ?"), "drug trial"]
    (others,) = without_copies(searching(texts, []), texts[:1], 9)
    assert [match.id for match in others] == ["2"]
