from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features import distinct_words
from twicetold.features.word_hashing import WordHashing
from twicetold.features.word_trigrams import WordTrigrams
from twicetold.layers.hashing import word_bags

TEXTS = st.lists(st.text("abcdé ,", max_size=20), min_size=1, max_size=6).filter(lambda t: "".join(t).strip(" ,"))


def sequences(featuriser, texts):
    """Words of each text as lists of trigrams."""
    words, offsets = word_bags(featuriser.transform(texts).gather(np.arange(len(texts))))
    grams = [
        [featuriser.letter_grams_[i] for i in words.indices[a:b]] for a, b in zip(words.offsets, words.offsets[1:])
    ]
    return [grams[a:b] for a, b in pairwise(offsets)]


def test_a_mark_begins_each_word_and_trigrams_count_from_one():
    featuriser = WordTrigrams().fit(["a an"])
    assert featuriser.letter_grams_ == ["#a#", "#an", "an#"]
    rows = featuriser.transform(["a an", "an"])
    assert rows.indices.tolist() == [0, 1, 0, 2, 3, 0, 2, 3]
    assert rows.indptr.tolist() == [0, 5, 8]
    assert rows.width == featuriser.shape["width"] == 4


@given(TEXTS, st.sampled_from([2, 1 << 21]))
def test_words_keep_their_order_and_trigrams_theirs(texts, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct_words, "CHUNK", chunk)
        found = sequences(WordTrigrams().fit(texts), texts)
    words = [text.replace(",", " ").split() for text in texts]
    assert found == [[[f"#{w}#"[i : i + 3] for i in range(len(w))] for w in line] for line in words]


def test_words_without_a_known_trigram_are_left_out():
    featuriser = WordTrigrams().fit(["good day"])
    assert sequences(featuriser, ["good xyz day", "xyz", ""]) == [
        [["#go", "goo", "ood", "od#"], ["#da", "day", "ay#"]],
        [],
        [],
    ]


def test_only_the_first_words_of_a_long_text_are_read():
    featuriser = WordTrigrams(max_length=2).fit(["a b c d e"])
    assert sequences(featuriser, ["a b c", "d", "", "xx e d c"]) == [
        [["#a#"], ["#b#"]],
        [["#d#"]],
        [],
        [["#e#"], ["#d#"]],
    ]


def test_it_has_the_word_hashing_card():
    assert WordTrigrams().fit(["good day"]).card_ == WordHashing().fit(["good day"]).card_
