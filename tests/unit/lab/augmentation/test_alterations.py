"""Altered copies: nothing at rate 0, the rates that were asked for, never an empty text, the same again by seed."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold_lab.augmentation.alterations import Alterations, exchanged, leaving_one, with_typo

NOTHING = {"drop": 0.0, "swap": 0.0, "typo": 0.0, "synonym": 0.0, "vectors": None, "nearest": 2, "least_cosine": 0.9}
NUMBERED = [" ".join(f"w{text}x{place}" for place in range(20)) for text in range(500)]  # 10,000 distinct words
texts = st.lists(st.text(st.sampled_from("ab c\tdéß¿?,.\u3000\U0001f600'1"), max_size=30), min_size=1, max_size=8)


def copies(given_texts, count=1, seed=0, **rates):
    return Alterations(**NOTHING | rates).copies(given_texts, count, seed=seed)


def assert_rate(happened, of, rate):
    """Within five standard deviations of a binomial."""
    assert abs(happened - of * rate) < 5 * np.sqrt(of * rate * (1 - rate))


@given(texts)
def test_at_rates_of_zero_every_copy_is_the_text_itself(given_texts):
    assert given_texts * 3 == copies(given_texts, 3)


@given(texts, st.integers(0, 9))
def test_a_text_that_has_words_never_becomes_empty(given_texts, seed):
    for rates in ({"drop": 1.0}, {"drop": 0.9, "swap": 1.0, "typo": 1.0}):
        for text, copy in zip(given_texts, copies(given_texts, seed=seed, **rates)):
            assert bool(text.split()) == bool(copy.split())


def test_words_are_left_out_at_the_rate_and_the_others_stay_in_order():
    made = copies(NUMBERED, drop=0.15)
    assert_rate(10_000 - sum(len(copy.split()) for copy in made), 10_000, 0.15)
    for text, copy in zip(NUMBERED, made):
        kept = set(copy.split())
        assert [word for word in text.split() if word in kept] == copy.split()


@pytest.mark.parametrize("kept", range(3))
def test_where_all_words_go_each_has_the_same_chance_to_stay(kept):
    made = copies(["one two three"] * 3000, drop=1.0)
    assert_rate(Counter(made)[["one", "two", "three"][kept]], 3000, 1 / 3)


def test_neighbours_change_places_at_the_rate_and_no_word_goes_further():
    made = [copy.split() for copy in copies(NUMBERED, swap=0.2)]
    moved = 0
    for text, copy in zip((text.split() for text in NUMBERED), made):
        assert Counter(text) == Counter(copy)
        place = [copy.index(word) - number for number, word in enumerate(text)]
        assert set(place) <= {-1, 0, 1}
        moved += np.count_nonzero(place)
    assert_rate(moved / 2, 500 * (10 + 9) / 2, 0.2)  # 20 words make 10 pairs from the first, 9 from the second


@given(st.lists(st.integers(1, 7), min_size=1, max_size=10), st.integers(0, 99))
def test_words_change_places_within_their_text_alone(lengths, seed):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    order = exchanged(offsets, np.ones(offsets[-1], bool), np.random.default_rng(seed))
    text = np.repeat(np.arange(len(lengths)), lengths)
    assert text[order].tolist() == text.tolist()
    assert sorted(order) == list(range(offsets[-1]))


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=9), st.integers(0, 99))
def test_one_word_is_left_where_none_would_be_and_nothing_else_changes(kept, seed):
    offsets = np.concatenate([[0], np.cumsum([len(words) for words in kept])])
    found = leaving_one(offsets, np.concatenate(kept), np.random.default_rng(seed))
    for words, left in zip(kept, np.split(found, offsets[1:-1])):
        assert left.tolist() == words if any(words) else left.sum() == 1


def one_typo(word):
    """Every spelling that one typo makes of a word."""
    inner = range(1, len(word) - 1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    exchanged = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in inner if i + 1 < len(word) - 1}
    left_out = {word[:i] + word[i + 1 :] for i in inner}
    return exchanged, left_out, {word[:i] + new + word[i:] for i in range(1, len(word)) for new in letters}


@pytest.mark.parametrize("word", ["word", "größer", "a\U0001f600bcd"])
def test_a_typo_is_one_of_three_kinds_and_leaves_the_ends_alone(word):
    found = Counter(with_typo(pa.array([word] * 3000, pa.large_string()), np.random.default_rng(0)).to_pylist())
    for kind in one_typo(word):
        assert_rate(sum(found[spelling] for spelling in kind), 3000, 1 / 3)
        assert len(kind & set(found)) > 0.9 * len(kind)
    assert set(found) <= set().union(*one_typo(word))


def test_typos_come_at_the_rate_and_spare_short_words_and_numbers():
    made = [copy.split() for copy in copies(["simple 2016 the gpt4 another", "words are 12.5 mail"] * 2000, typo=0.1)]
    first, second = made[::2], made[1::2]
    assert all(copy[1:4] == ["2016", "the", "gpt4"] for copy in first)
    assert all(copy[1:3] == ["are", "12.5"] for copy in second)
    changed = sum((copy[0] != "simple") + (copy[4] != "another") for copy in first)
    changed += sum((copy[0] != "words") + (copy[3] != "mail") for copy in second)
    assert_rate(changed, 8000, 0.1)


@pytest.fixture
def vectors(tmp_path):
    """big and large are near each other, and dog and puppy; runs is near nothing, the is a stop word near big."""
    rows = {"big": (1, 0, 0), "large": (0.99, 0.1, 0), "the": (1, 0.05, 0)}
    rows |= {"dog": (0, 1, 0), "puppy": (0, 1, 0.1), "runs": (0, 0, 1), "huge": (1, 0.01, 0)}
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in rows.items()))
    return str(file)


def test_words_that_have_near_ones_are_replaced_at_the_rate(vectors):
    made = copies(["The (big), runs dog!", "Large PUPPY 1"] * 3000, synonym=0.25, vectors=vectors)
    found = Counter(made[::2])
    assert set(found) == {f"The {a} runs {b}" for a in ("(big),", "(large),") for b in ("dog!", "puppy!")}
    assert_rate(sum(n for text, n in found.items() if "large" in text), 3000, 0.25)
    assert_rate(sum(n for text, n in found.items() if "puppy" in text), 3000, 0.25)
    assert set(made[1::2]) == {f"{a} {b} 1" for a in ("Large", "Big") for b in ("PUPPY", "dog")}


def test_a_replaced_word_is_not_misspelt(vectors):
    made = copies(["puppy dog"] * 50, synonym=1.0, typo=1.0, vectors=vectors)
    assert set(made) == {"dog puppy"}


def test_only_words_of_the_texts_stand_for_others(vectors):
    assert {"big", "large"} == set(copies(["big", "large"] * 99, synonym=1.0, vectors=vectors))  # never huge


def test_the_same_seed_gives_the_same_copies_and_copies_differ():
    rates = {"drop": 0.2, "swap": 0.2, "typo": 0.2}
    made = copies(NUMBERED, 2, seed=3, **rates)
    assert made == copies(NUMBERED, 2, seed=3, **rates)
    assert made[:500] == copies(NUMBERED, 1, seed=3, **rates)
    assert made[:500] != made[500:]
    assert made != copies(NUMBERED, 2, seed=4, **rates)


@pytest.mark.parametrize("rates", [{"drop": 1.5}, {"swap": -0.1}, {"typo": float("nan")}])
def test_a_rate_that_is_no_chance_is_an_error(rates):
    with pytest.raises(ValueError, match=rf"augmentation.{next(iter(rates))} is a chance"):
        Alterations(**NOTHING | rates)


def test_synonyms_without_vectors_are_an_error_that_names_a_file():
    with pytest.raises(ValueError, match=r"glove\.6B\.50d\.txt"):
        Alterations(**NOTHING | {"synonym": 0.1})
