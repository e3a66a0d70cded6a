import hashlib

import numpy as np
import pytest

from twicetold_lab.data.sources import toy_articles, toy_news, toy_questions, toy_titles
from twicetold_lab.data.sources.toy_grammar import Scheme, another, fill, tell

LEXICON = {"city": ("Rome", "Paris", "Delhi|New Delhi"), "count": ("2|two",)}


def tellings(rule, meaning, count=200):
    return {tell(rule, meaning, np.random.default_rng(seed)) for seed in range(count)}


def test_a_rule_tells_every_combination_of_its_choices_and_nothing_else():
    assert tellings("[buys|to [buy|acquire]] it", {}) == {"Buys it", "To buy it", "To acquire it"}


def test_an_empty_choice_drops_the_detail_without_leaving_a_gap():
    assert tellings("{a} shines[ in June||] today", {"a": "Sun"}) == {"Sun shines in June today", "Sun shines today"}


def test_every_name_of_an_entry_is_used_and_the_first_most_often():
    told = [tell("{a}", {"a": "Rome|Roma|the city"}, np.random.default_rng(seed)) for seed in range(400)]
    counts = [told.count(name) for name in ("Rome", "Roma", "The city")]
    assert counts == sorted(counts, reverse=True)
    assert min(counts) > 40


def test_the_article_fits_the_name_that_fills_the_slot():
    assert tellings("I saw a {a}", {"a": "owl|fox"}) == {"I saw an owl", "I saw a fox"}


def test_equal_generators_tell_different_meanings_in_the_same_words():
    rule = "[How far|What distance] is [it|the way] from {a} to {b}[, roughly||]?"
    for seed in range(50):
        one = tell(rule, {"a": "Rome", "b": "Delhi|New Delhi|the capital"}, np.random.default_rng(seed))
        other = tell(rule, {"a": "Oslo|Kristiania", "b": "Paris"}, np.random.default_rng(seed))
        names = {"Rome", "Oslo", "Kristiania", "New", "the", "capital", "Delhi", "Paris"}
        plain = [[w for w in text.replace(",", " ,").replace("?", " ?").split() if w not in names | {"the"}]
                 for text in (one, other)]  # fmt: skip
        assert plain[0] == plain[1]


def test_slots_of_one_kind_never_get_the_same_entry():
    scheme = Scheme("trip", {"a": "city", "b": "city", "n": "count"}, ("{a} {b} {n}",))
    for seed in range(50):
        meaning = fill(scheme, LEXICON, np.random.default_rng(seed))
        assert meaning["a"] != meaning["b"]
        assert meaning["n"] == "2|two"


@pytest.mark.parametrize("taken", [set(), {"Rome"}, {"Rome", "Paris"}])
def test_another_is_never_a_taken_one(taken):
    drawn = {another(LEXICON["city"], taken, np.random.default_rng(seed)) for seed in range(40)}
    assert drawn == set(LEXICON["city"]) - taken


@pytest.mark.parametrize(
    ("source", "digest"),
    [
        (toy_articles, "f55ece27834e25a15c41e0ef36bd756a4b1b9ca127d5d763cbb88e2c250f3df1"),
        (toy_news, "c35c7af92a1f01e30acddf723cae6d84913de4db5d4e4356debf60de0d175aba"),
        (toy_questions, "c59c4cb746515809906414d145dd3644fec9e8aaf9cbddb6eb15fbe3bc2f9e0e"),
    ],
)
def test_the_files_of_words_and_rules_give_the_texts_that_published_numbers_are_about(source, digest):
    texts = source.read(None, name="toy").texts.to_pylist()
    assert hashlib.sha256("\n".join(texts).encode()).hexdigest() == digest


@pytest.mark.parametrize("source", [toy_articles, toy_news, toy_questions, toy_titles])
def test_every_text_has_its_own_id_and_no_rule_leaves_a_bracket_or_a_gap(source):
    corpus = source.read(None, name="toy")
    texts = corpus.texts.to_pylist()
    assert len(set(corpus.ids.to_pylist())) == len({text.casefold() for text in texts}) == len(corpus)
    assert not [text for text in texts if set("[]{}|") & set(text) or "  " in text]
