"""Each step of cleaning, and a featuriser behind them."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from twicetold.features.cleaning import Cleaned, clean
from twicetold.features.tokens import Words
from twicetold.features.views import View, Views
from twicetold.features.word_hashing import WordHashing

TEXTS = ["What is the Age of @anna_1?", "Mail me@example.org, 3.5% of 10,000!", "don't stop", "", "Ünï-Größe 42"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"lower_case": True}, ["what is the age of @anna_1?", "mail me@example.org, 3.5% of 10,000!"]),
        ({"user_names": True}, ["What is the Age of ?", "Mail me@example.org, 3.5% of 10,000!"]),
        ({"numbers": True}, ["What is the Age of @anna_ ?", "Mail me@example.org, % of !"]),
        ({"symbols": True}, ["What is the Age of anna 1", "Mail me example org 3 5 of 10 000"]),
        ({"stop_words": "english"}, ["Age @anna_1?", "Mail @example.org, 3.5% 10,000!"]),
    ],
)
def test_each_step_takes_away_what_it_names(step, expected):
    assert clean(TEXTS[:2], **step) == expected


def test_without_a_step_texts_stay_as_they_are():
    assert clean(["  Two  blanks ", *TEXTS]) == ["  Two  blanks ", *TEXTS]


def test_letters_of_any_language_stay():
    texts = ["Ünï-Größe 42", "ないで中文，字", "हिन्दी!"]
    assert clean(texts, symbols=True, numbers=True, user_names=True) == ["Ünï Größe", "ないで中文 字", "हिन्दी"]
    assert clean(["pâte à la maña"], stop_words="english") == ["pâte à la maña"]


def test_full_width_and_other_forms_of_a_letter_are_that_letter():
    assert clean(["ＡＢＣ１２３，北京", "ｶﾞﾗｽ", "ﬁne ²"], nfkc=True) == ["ABC123,北京", "ガラス", "fine 2"]


def test_a_stop_word_within_another_word_stays():
    assert clean(["don't thereof I'm of-ten of_it offer"], stop_words="english") == ["don't thereof I'm - of_it offer"]


WORD_LISTS = st.lists(st.sampled_from(["the", "The", "of", "bank", "is", "İx", "a", "rate", "i"]), max_size=12)


@settings(max_examples=40)
@given(WORD_LISTS)
def test_no_stop_word_is_left_however_many_follow_each_other_and_no_other_word_goes(words):
    kept = [word for word in words if word.lower() not in ENGLISH_STOP_WORDS]
    assert clean([" ".join(words)], stop_words="english") == [" ".join(kept)]


@settings(max_examples=40)
@given(st.lists(st.text(max_size=30), max_size=5))
def test_cleaning_twice_is_cleaning_once_and_leaves_letters_and_single_blanks(texts):
    steps = {"lower_case": True, "user_names": True, "numbers": True, "symbols": True}
    once = clean(texts, **steps)
    assert len(once) == len(texts)
    assert not any(re.search(r"\s\s|^\s|\s$|[0-9!-/:-@]", text) for text in once)
    assert clean(once, symbols=True) == once


def test_an_unknown_list_of_stop_words_is_refused():
    with pytest.raises(ValueError, match=r"stop_words is null or english, .* got 'german'"):
        Cleaned(WordHashing(), stop_words="german").fit(["a text"])


def equal(one, other):
    assert one.width == other.width
    for a, b in zip((one.indptr, one.indices), (other.indptr, other.indices)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("inner", [WordHashing(words=2), Words()], ids=["bags", "sequences"])
def test_rows_are_those_of_the_cleaned_texts(inner):
    cleaned = Cleaned(inner, symbols=True, numbers=True)
    texts = clean(TEXTS, symbols=True, numbers=True)
    equal(cleaned.fit(TEXTS).transform(TEXTS), clone(inner).fit(texts).transform(texts))
    assert cleaned.ordered == inner.ordered
    assert cleaned.shape == clone(inner).fit(texts).shape
    assert cleaned.get_feature_names_out().tolist() == clone(inner).fit(texts).get_feature_names_out().tolist()


def test_pretrained_vectors_reach_the_encoder_through_it(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("age 1 2\nwhat 3 4\n")
    shape = Cleaned(Words(vectors=f"{file}"), lower_case=True).fit(["What Age", "what age"]).shape
    assert shape["vectors"].shape == (3, 2)
    assert shape["vectors"].any(1).tolist() == [False, True, True]


def test_the_fields_of_views_are_cleaned_as_well():
    views = Views([View("text", ["text"], WordHashing()), View("outlet", ["publisher"], Words())])
    columns = {"text": TEXTS, "publisher": ["Post 24"] * len(TEXTS)}
    cleaned = Cleaned(views, numbers=True).fit(columns)
    assert list(cleaned.fields) == ["publisher"]
    assert cleaned.inner__outlet__vocabulary_ == ["Post"]
