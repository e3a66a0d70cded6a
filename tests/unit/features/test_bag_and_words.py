"""A bag and a sequence of each text in one row."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from twicetold.features.bag_and_words import BagAndWords
from twicetold.features.saved import load_fitted, same_fitted, save_fitted
from twicetold.features.tokens import Words
from twicetold.features.word_grams import WordGrams
from twicetold.features.word_hashing import WordHashing

TRAIN = ["the cat sat", "a cat ran"]
NEW = ["cat the dog sat", "", "xyz"]


def entries(rows):
    values = rows.values_or_ones().tolist()
    bounds = rows.offsets.tolist()
    both = list(zip(rows.indices.tolist(), values))
    return [both[start:end] for start, end in itertools.pairwise(bounds)]


@pytest.mark.parametrize("words", [Words(), WordGrams(min_df=2)])
def test_a_row_is_the_bag_and_then_the_words_in_their_order(words):
    featuriser = BagAndWords(WordHashing(), words).fit(TRAIN)
    bag, sequence = (clone(part).fit(TRAIN).transform(NEW) for part in (WordHashing(), words))
    everyone = np.arange(len(NEW))
    shifted = [[(column + bag.width, value) for column, value in row] for row in entries(sequence.gather(everyone))]
    expected = [one + other for one, other in zip(entries(bag.gather(everyone)), shifted)]
    assert entries(featuriser.transform(NEW).gather(everyone)) == expected


def test_an_encoder_learns_where_the_words_begin_and_what_they_have_besides():
    featuriser = BagAndWords(WordHashing(), WordGrams()).fit(TRAIN)
    bag, words = WordHashing().fit(TRAIN).shape, WordGrams().fit(TRAIN).shape
    shape = featuriser.shape
    assert (shape["bag"], shape["width"]) == (bag["width"], bag["width"] + words["width"])
    np.testing.assert_array_equal(shape["counts"], words["counts"])
    assert featuriser.card_["words"] == 5


def test_pretrained_vectors_are_handed_on_in_training_and_not_saved(tmp_path):
    (tmp_path / "mine.txt").write_text("cat 1 2\nfar 3 4\n")
    words = WordGrams(vectors=str(tmp_path / "mine.txt"), further=2)
    featuriser = BagAndWords(WordHashing(), words).fit(TRAIN)
    assert featuriser.shape["vectors"].any(axis=1).sum() == 2
    np.testing.assert_array_equal(featuriser.shape["vectors"], clone(words).fit(TRAIN).shape["vectors"])
    (tmp_path / "model").mkdir()
    save_fitted(featuriser, tmp_path / "model")
    loaded = load_fitted(clone(featuriser), tmp_path / "model")
    assert "vectors" not in loaded.shape
    assert loaded.shape["given"] == 2
    assert loaded.shape["width"] == featuriser.shape["width"]
    np.testing.assert_array_equal(loaded.transform(NEW).indices, featuriser.transform(NEW).indices)
    assert same_fitted(featuriser, loaded)
