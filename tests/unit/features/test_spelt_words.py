"""Words with their letters, against one word at a time."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features.spelt_words import SpeltWords

TRAIN = ["the cat sat", "a cat ran"]


def entries(featuriser, texts):
    """Each text as a list of column names."""
    rows = featuriser.transform(texts)
    names = featuriser.get_feature_names_out()[rows.indices].tolist()
    return [names[start:end] for start, end in pairwise(rows.indptr)]


def test_a_word_is_its_number_and_then_its_letters_in_order():
    assert entries(SpeltWords().fit(TRAIN), ["sat the", ""]) == [["sat", "s", "a", "t", "the", "t", "h", "e"], []]


def test_an_unknown_word_keeps_the_letters_that_train_has():
    assert entries(SpeltWords().fit(TRAIN), ["tax", "zzz", "cat"]) == [
        ["(unknown)", "t", "a"],
        ["(unknown)"],
        ["cat", "c", "a", "t"],
    ]


@given(
    st.lists(st.text("abcé𝔘 ", min_size=1, max_size=12), min_size=1, max_size=5).filter(lambda t: "".join(t).strip()),
    st.integers(0, 3),
    st.sampled_from([None, 1, 2]),
)
def test_every_word_has_its_own_entries_in_order(texts, letters, max_length):
    featuriser = SpeltWords(lower_case=False, letters=letters, max_length=max_length).fit(texts)
    expected = [[x for word in text.split()[:max_length] for x in [word, *word[:letters]]] for text in texts]
    assert entries(featuriser, texts) == expected


def test_without_letters_rows_are_numbers_alone():
    featuriser = SpeltWords(letters=0).fit(TRAIN)
    assert entries(featuriser, ["the dog sat"]) == [["the", "(unknown)", "sat"]]
    assert featuriser.shape == {"width": 1 + 5}


def test_columns_below_words_are_words():
    featuriser = SpeltWords().fit(TRAIN)
    assert featuriser.shape == {"width": 1 + 5 + len("acehnrst"), "words": 1 + 5}


@pytest.fixture
def vectors(tmp_path):
    (tmp_path / "mine.txt").write_text("dog 1 2\nsat 3 4\nhat 5 6\nfar 7 8\n")
    return str(tmp_path / "mine.txt")


def test_words_of_the_file_that_train_lacks_have_numbers_and_vectors(vectors):
    featuriser = SpeltWords(vectors=vectors, further=3, centred=False).fit(TRAIN)
    assert featuriser.vocabulary_[-2:] == ["dog", "hat"]
    assert entries(featuriser, ["dog far"]) == [["dog", "(unknown)", "a", "r"]]
    of = dict(zip(featuriser.get_feature_names_out(), featuriser.shape["vectors"].tolist()))
    assert of["dog"] == [1, 2]
    assert of["sat"] == [3, 4]
    assert of["cat"] == of["(unknown)"] == [0, 0]
    assert len(featuriser.shape["vectors"]) == featuriser.shape["words"]


def test_further_words_of_no_file_are_an_error():
    with pytest.raises(ValueError, match="further=5 words would be those of a file of vectors"):
        SpeltWords(further=5).fit(TRAIN)
