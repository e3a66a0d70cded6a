"""Weights of trigrams and words by the texts of a training."""

import numpy as np
import pytest

from twicetold.matching.pair_features import features_of_texts
from twicetold.matching.rarity import Rarity
from twicetold.matching.terms import Terms

TEXTS = ["red shoe size 42", "blue shoe size 43", "red hat", "a tent for two", "tent, red", "shoe laces"]
LEFT, RIGHT = np.array([0, 0, 2, 3]), np.array([1, 2, 4, 4])


@pytest.fixture
def rarity():
    return Rarity.of(TEXTS, buckets=1 << 20)


def test_the_texts_that_were_counted_have_the_features_that_they_have_among_themselves(rarity):
    expected, found = (features_of_texts(terms, LEFT, RIGHT) for terms in (Terms.of(TEXTS), rarity.terms(TEXTS)))
    for name, column in expected.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-5, atol=1e-6, err_msg=name)


def test_features_of_a_pair_do_not_depend_on_the_texts_beside_it(rarity):
    pair = ["red shoe from mars", "blue shoe from mars"]
    alone, among = (
        (
            features_of_texts(rarity.terms([*pair, *others]), LEFT[:1], RIGHT[:1])
            for others in ([], TEXTS, ["mars"] * 99)
        ),
        features_of_texts(rarity.terms(pair), LEFT[:1], RIGHT[:1]),
    )
    for some in alone:
        for name, column in among.items():
            np.testing.assert_allclose(some[name], column, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_word_of_no_counted_text_is_as_rare_as_that_of_one():
    rarity = Rarity.of(["one two", "two three"], buckets=1 << 20)
    assert np.ptp(rarity.terms(["one", "new"]).idf) < 1e-6
    assert rarity.terms(["two", "new"]).idf.argmin() == 1


def test_words_that_share_a_bucket_add_up():
    rarity = Rarity.of(["one two", "two three"], buckets=1)
    assert (rarity.texts, rarity.words.tolist()) == (2, [4])
    assert np.isfinite(rarity.terms(["one", "new"]).idf).all()
