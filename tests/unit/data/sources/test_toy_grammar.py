import numpy as np
import pytest

from twicetold.data.sources.toy_grammar import Scheme, another, fill, tell

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
