"""Tokens of pretrained vectors and letters as columns of one table."""

import numpy as np
import pytest
import torch

from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.saved import load_fitted, save_fitted
from twicetold.features.static_tokens import StaticTokens
from twicetold.features.tokens_and_letters import TokensAndLetters
from twicetold.models.pretrained_static import PretrainedStatic

TRAIN = ["bank rate", "bank cut rate", "film star story7", "bank film"]
TEXTS = ["bank rate film", "", "\u4f60 cut", "bank bank"]
LETTERS = {"letters": 3, "words": 2, "max_features": 50}
SIF = {"weighting": "sif", "sif_a": 0.5}


def joined_of(model, share=0.25):
    return TokensAndLetters(str(model), "nothing", **LETTERS, share=share, **SIF)


def encoder_of(shape, embedding, init="pretrained"):
    torch.manual_seed(0)
    return PretrainedStatic(
        **shape, embedding=embedding, init=init, trained="table", rank=1, input_dropout=0.0
    ).requires_grad_(False)


def test_a_row_is_the_mean_of_the_tokens_beside_the_letters_at_their_share(tiny_static):
    joined = joined_of(tiny_static).fit(TRAIN)
    tokens = StaticTokens(str(tiny_static), "nothing", **SIF).fit(TRAIN)
    letters = LetterTfIdf(**LETTERS).fit(TRAIN)
    first = tokens.transform(TEXTS).to_scipy().toarray()
    first /= np.maximum(np.diff(tokens.transform(TEXTS).indptr), 1)[:, None]
    second = 0.25 * letters.transform(TEXTS).to_scipy().toarray()
    found = joined.transform(TEXTS).to_scipy()
    np.testing.assert_allclose(found.toarray(), np.hstack([first, second]), rtol=1e-6)
    names = [tokens.get_feature_names_out(), letters.get_feature_names_out()]
    assert joined.get_feature_names_out().tolist() == np.concatenate(names).tolist()


def test_tokens_keep_their_vectors_and_letters_begin_as_random_directions_of_the_mean_length(tiny_static):
    shape = joined_of(tiny_static).fit(TRAIN).shape
    tokens, vectors = len(shape["vectors"]), torch.from_numpy(shape["vectors"])
    table = encoder_of(shape, 512).table
    assert table.shape == (shape["width"], 512)
    torch.testing.assert_close(table[:tokens, :256], vectors)
    assert not table[:tokens, 256:].any()
    lengths = table[tokens:].norm(dim=1)
    assert lengths.mean().item() == pytest.approx(vectors[1:].norm(dim=1).mean().item(), rel=0.02)
    directions = table[tokens:] / lengths[:, None]
    assert (directions @ directions.T - torch.eye(len(directions))).abs().max() < 0.3


def test_the_saved_state_makes_the_same_rows_and_needs_no_folder(tiny_static, tmp_path):
    joined = joined_of(tiny_static).fit(TRAIN)
    save_fitted(joined, tmp_path)
    loaded = load_fitted(joined_of("gone"), tmp_path)
    np.testing.assert_array_equal(*(each.transform(TEXTS).to_scipy().toarray() for each in (joined, loaded)))
    assert loaded.shape == {"width": joined.shape["width"]}
    assert joined.card_ == LetterTfIdf(**LETTERS).fit(TRAIN).card_
