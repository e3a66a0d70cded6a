"""Words with their letter n-grams, against one word at a time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features.word_grams import WordGrams
from twicetold.features.word_hashing import WordHashing

TRAIN = ["the cat sat", "a cat ran"]


def entries(featuriser, texts):
    """Each text as a list of (column name, value)."""
    rows = featuriser.transform(texts)
    names = featuriser.get_feature_names_out()
    both = list(zip(names[rows.indices].tolist(), rows.values.tolist()))
    return [both[start:end] for start, end in pairwise(rows.indptr)]


def grams_of(word, known=None):
    marked = f"#{word}#"
    # Within the word, the marks of either side included.
    found = [marked[i : i + n] for n in (3, 4) for i in range(len(marked) - n + 1)]
    return [gram for gram in found if known is None or gram in known]


def test_a_word_is_its_number_and_then_its_n_grams_with_equal_parts():
    featuriser = WordGrams().fit(TRAIN)
    (cat,) = entries(featuriser, ["cat"])
    assert [name for name, _ in cat] == ["cat", "#ca", "cat", "at#", "#cat", "cat#"]
    assert [value for _, value in cat] == pytest.approx([1 / 6] * 6)


def test_an_unknown_word_begins_with_a_number_that_has_no_part():
    featuriser = WordGrams().fit(TRAIN)
    (cats,) = entries(featuriser, ["cats"])
    assert [name for name, _ in cats] == ["(unknown)", "#ca", "cat", "#cat"]
    assert [value for _, value in cats[1:]] == pytest.approx([1 / 3] * 3)


def test_a_word_without_any_known_part_is_left_out():
    assert entries(WordGrams().fit(TRAIN), ["xyz cat xyz", "xyz", ""])[1:] == [[], []]


@given(st.lists(st.text("abcé ", min_size=1, max_size=12), min_size=1, max_size=5).filter(lambda t: "".join(t).strip()))
def test_every_word_has_its_own_entries_in_order(texts):
    featuriser = WordGrams().fit(texts)
    expected = [[name for word in text.split() for name in [word, *grams_of(word)]] for text in texts]
    assert [[name for name, _ in row] for row in entries(featuriser, texts)] == expected


def test_smooth_weights_scale_all_parts_of_a_word():
    plain, smooth = (dict(entries(f.fit(TRAIN), ["sat"])[0]) for f in (WordGrams(), WordGrams(sif_a=0.1)))
    assert smooth == pytest.approx({name: value * 0.1 / (0.1 + 1 / 6) for name, value in plain.items()})


def test_counts_are_those_of_train_and_none_for_unknown_words():
    featuriser = WordGrams(min_df=2).fit(TRAIN)
    assert featuriser.vocabulary_ == ["cat"]
    assert featuriser.counts_.tolist() == [0, 2]


@pytest.fixture
def vectors(tmp_path):
    (tmp_path / "mine.txt").write_text("dog 1 2\nsat 3 4\nhat 5 6\nfar 7 8\n")
    return str(tmp_path / "mine.txt")


def test_words_get_their_pretrained_vectors_and_the_first_of_the_file_a_number_too(vectors):
    featuriser = WordGrams(min_df=2, vectors=vectors, further=3).fit(TRAIN)
    assert featuriser.vocabulary_ == ["cat", "dog", "sat", "hat"]
    assert featuriser.counts_.tolist() == [0, 2, 0, 0, 0]  # `sat` is too rare to be learnt
    expected = np.array([[0, 0], [0, 0], [-2, -2], [0, 0], [2, 2]]) / (4 * 2**0.5 / 3)  # about [3, 4]
    assert featuriser.shape["vectors"] == pytest.approx(expected)
    assert len(featuriser.get_feature_names_out()) == featuriser.shape["width"]


def test_a_further_word_is_no_part_of_its_mean_and_stays_even_without_a_known_n_gram(vectors):
    featuriser = WordGrams(min_df=2, vectors=vectors, further=3).fit(TRAIN)
    hat, dog = entries(featuriser, ["hat", "dog"])
    assert [name for name, _ in hat] == ["hat", "at#"]
    assert [value for _, value in hat] == [0, 1]
    assert [name for name, _ in dog] == ["dog"]


def test_letters_beyond_sixteen_bits_are_one_letter_each():
    texts = ["good morning 😀", "ab😀cd 𝐱 dogs", "see you 😀"]
    featuriser = WordGrams().fit(texts)
    assert featuriser.transform(texts).width == featuriser.shape["width"]
    assert len(WordHashing(letters=3, words=2).fit(texts).transform(texts)) == 3
