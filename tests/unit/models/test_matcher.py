"""The matcher: its score against the formula, and what a pair's score may depend on."""

import numpy as np
import pytest
import torch
from scipy.special import expit, logit

from twicetold.conventions import COLUMN_SEPARATOR
from twicetold.encoding import Encoding
from twicetold.features.folded_characters import FoldedCharacters
from twicetold.models.matcher import PairMatcher, columns_of
from twicetold.trained.reading import score_pairs

TEXTS = ["Canon EOS-70D, black", "canon eos70d", "a tent \ud800 \U0001f3d5", "", "Tent - 2 persons", "tent 3 persons"]
SIDES = np.array([0, 0, 2, 4]), np.array([1, 3, 5, 5])


def encoder_of(trees=2, columns=1):
    """As if something had been learnt."""
    encoder = PairMatcher(width=0x110000, columns=columns, buckets=64, trees=trees, leaves=2)
    torch.manual_seed(0)
    with torch.no_grad():
        encoder.coefficients.normal_()
    encoder.texts.fill_(9)
    encoder.words.random_(0, 9)
    return encoder


def grow(encoder):
    """Two trees that ask whether a feature is above 0.3, of which one is a leaf alone."""
    asked = encoder.names.index("0:letters")
    encoder.feature[0, 0], encoder.threshold[0, 0] = asked, 0.3
    encoder.left[0, 0], encoder.right[0, 0] = 1, 2
    encoder.value[0, 1:] = torch.tensor([-2.0, 3.0])
    encoder.value[1, 0] = 0.25
    encoder.base.fill_(-1.0)
    return asked


def test_a_score_is_the_log_odds_of_the_mean_of_both_probabilities():
    encoder, rows = encoder_of(), FoldedCharacters().transform(TEXTS)
    features = encoder.pair_features([[text.lower() for text in TEXTS]], *SIDES).astype(np.float64)
    weights = encoder.coefficients.detach().numpy()
    linear = weights[0] + features @ weights[1:]
    np.testing.assert_allclose(score_pairs(encoder, rows, *SIDES), linear, rtol=1e-4)
    asked = grow(encoder)
    trees = -1 + 0.25 + np.where(features[:, asked] > 0.3, 3.0, -2.0)
    expected = logit((expit(linear) + expit(trees)) / 2)
    np.testing.assert_allclose(score_pairs(encoder, rows, *SIDES), expected, rtol=1e-3)


def test_a_score_does_not_depend_on_the_other_pairs_of_a_batch():
    encoder, rows = encoder_of(), FoldedCharacters().transform(TEXTS)
    grow(encoder)
    together = score_pairs(encoder, rows, *SIDES)
    alone = [score_pairs(encoder, rows, *(side[[pair]] for side in SIDES))[0] for pair in range(len(SIDES[0]))]
    np.testing.assert_allclose(together, alone, rtol=1e-4)


def test_features_are_the_same_in_whatever_blocks_they_are_computed(monkeypatch):
    encoder, texts = encoder_of(), [[text.lower() for text in TEXTS]]
    expected = encoder.pair_features(texts, *SIDES)
    monkeypatch.setattr("twicetold.models.matcher.BLOCK", 3)
    np.testing.assert_allclose(encoder.pair_features(texts, *SIDES), expected, rtol=1e-5, atol=1e-6)
    assert encoder.pair_features(texts, *np.empty((2, 0), np.int64)).shape == (0, len(encoder.names))


def test_each_column_is_compared_with_the_same_of_the_other_text():
    given = {"text": ["tent red", "tent red"], "brand": ["acme", "zenith"], "size": ["red", "red"]}
    features = FoldedCharacters(columns=["brand", "size"])
    encoder, rows = encoder_of(columns=3), features.fit(given).transform(given)
    assert (features.fields, features.shape["columns"]) == (("brand", "size"), 3)
    columns = columns_of(Encoding(rows.gather(np.arange(2))), 3)
    assert columns == list(given.values())
    pair = dict(zip(encoder.names, encoder.pair_features(columns, np.array([0]), np.array([1]))[0]))
    assert [round(float(pair[f"{column}:letters"]), 3) for column in range(3)] == [1.0, 0.0, 1.0]
    assert encoder.score(*(Encoding(rows.gather(np.array([row]))) for row in (0, 1))).shape == (1,)


def test_characters_are_the_normal_form_of_a_text_and_cannot_be_taken_for_columns():
    rows = FoldedCharacters().transform(["Ａ\ud800\U0001f3d5", f"one{COLUMN_SEPARATOR}two"])
    assert columns_of(Encoding(rows.gather(np.arange(2))), 1) == [["a\ud800\U0001f3d5", "one two"]]


def test_texts_with_another_number_of_columns_are_refused():
    rows = FoldedCharacters().transform(["one"])
    with pytest.raises(ValueError, match="expected 2 columns of each text, got 1"):
        encoder_of(columns=2).score(*[Encoding(rows.gather(np.arange(1)))] * 2)
    with pytest.raises(TypeError, match="expected characters"):
        columns_of(Encoding(torch.zeros(1, 2)), 1)


@pytest.mark.parametrize(("name", "value"), [("feature", 999), ("left", 0), ("right", -1), ("right", 3)])
def test_stored_trees_that_would_not_end_are_refused(name, value):
    encoder, rows = encoder_of(), FoldedCharacters().transform(TEXTS)
    grow(encoder)
    getattr(encoder, name)[0, 0] = value
    with pytest.raises(ValueError, match="whose nodes lead to later ones"):
        score_pairs(encoder, rows, *SIDES)
