"""Values derived from the fitted state are cached while that state is the same, and no longer."""

import copy

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.cached import Positions, cached, text_positions
from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_grams import WordGrams
from twicetold.features.word_hashing import WordHashing
from twicetold.features.word_trigrams import WordTrigrams

ONE = ["the red cat sat", "a dog ran to the cat", "red red wine"]
OTHER = ["wine of a blue dog", "the wine was red", "sat on a cat"]


class Owner:
    """An owner of cached values."""


def test_it_is_made_once_and_again_for_another_object():
    owner, made = Owner(), []

    def make(words):
        made.append(words)
        return len(words)

    first, second = ["a"], ["a", "b"]
    assert [cached(owner, make, words) for words in (first, first, second, second)] == [1, 1, 2, 2]
    assert made == [first, second]
    assert cached(Owner(), make, first) == 1
    assert len(made) == 3


@pytest.mark.parametrize(
    "featuriser",
    [
        BagOfWords(stop_words=None),
        TfIdf(),
        Bm25Weights(),
        LetterTfIdf(),
        WordHashing(words=2),
        WordGrams(),
        WordTrigrams(),
    ],
    ids=lambda featuriser: type(featuriser).__name__,
)
def test_rows_are_those_of_a_featuriser_that_keeps_nothing_also_after_another_fit(featuriser):
    for train in (ONE, OTHER):
        featuriser.fit(train)
        for texts in (ONE, OTHER, [ONE[0]]):
            found, expected = featuriser.transform(texts), copy.copy(featuriser).transform(texts)
            assert found.width == expected.width
            np.testing.assert_array_equal(found.indptr, expected.indptr)
            np.testing.assert_array_equal(found.indices, expected.indices)
            if expected.values is not None:
                np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.binary()])
def test_positions_are_those_of_arrow_also_where_a_string_is_there_twice(kind):
    vocabulary = pa.array(["b", "a", "ä", "b", ""], kind)
    strings = pa.array(["a", "c", "b", "", "ä", "a"], kind)
    expected = pc.fill_null(pc.index_in(strings, vocabulary), -1).to_numpy()
    np.testing.assert_array_equal(Positions(vocabulary).of(strings), expected)


def test_a_vocabulary_of_other_things_than_texts_is_refused():
    with pytest.raises((TypeError, pa.ArrowException)):
        text_positions([1, 2])
