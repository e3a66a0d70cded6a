"""Vectors of words from a transformer, against the transformer by itself."""

import numpy as np
import pytest
import torch

from twicetold.features.distilled import Distilled, principal
from twicetold.features.model_tokens import ModelTokens
from twicetold.features.saved import load_fitted, save_fitted
from twicetold.features.word_grams import WordGrams
from twicetold.models.minilm import MiniLm
from twicetold.scoring import search_matrices

WORDS = ["story", "a1", "b", "c", "storys", "d0", "e9"]


def tokens_of(model, **further):
    return ModelTokens(model=str(model), pretrained_on="nothing", max_length=8, **further)


@pytest.fixture
def embedded(tiny_bert):
    """The words as `minilm` embeds texts."""
    tokens = tokens_of(tiny_bert).fit([])
    return np.asarray(search_matrices(MiniLm(**tokens.shape), tokens.transform(WORDS), np.arange(len(WORDS)))[0])


def test_in_as_many_dimensions_as_there_are_they_lie_as_the_embeddings_of_minilm_do(tiny_bert, embedded):
    found = Distilled(tokens_of(tiny_bert), size=32).vectors(WORDS)
    assert found.shape == (len(WORDS), 32)
    assert found.dtype == np.float32
    distances, expected = (np.linalg.norm(v[:, None] - v, axis=2) for v in (found, embedded))
    np.testing.assert_allclose(distances, expected, atol=1e-5)


def test_fewer_dimensions_are_the_first_of_more(tiny_bert):
    few, more = (Distilled(tokens_of(tiny_bert), size=size).vectors(WORDS) for size in (3, 6))
    np.testing.assert_allclose(few, more[:, :3], atol=1e-5)
    assert (np.diff(more.var(axis=0)) <= 1e-9).all()


def test_a_word_that_the_tokenizer_knows_nothing_of_has_zeros(tiny_bert):
    found = Distilled(tokens_of(tiny_bert), size=4).vectors([*WORDS, "☃"])
    assert not found[-1].any()
    np.testing.assert_allclose(found[:-1], Distilled(tokens_of(tiny_bert), size=4).vectors(WORDS), atol=1e-5)


def test_no_words_have_no_vectors(tiny_bert):
    assert Distilled(tokens_of(tiny_bert), size=4).vectors([]).shape == (0, 4)


def test_principal_components_are_those_of_a_singular_value_decomposition():
    values = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32) * np.arange(1, 7)
    values[7] = 0
    kept = np.arange(40) != 7
    left, sizes, _ = np.linalg.svd(values[kept] - values[kept].mean(0), full_matrices=False)
    found = principal(values, 3)
    np.testing.assert_allclose(np.abs(found[kept]), np.abs(left * sizes)[:, :3], rtol=1e-3, atol=1e-4)
    assert not found[7].any()


def test_too_many_dimensions_and_none_are_errors_that_say_how_many_there_are(tiny_bert):
    with pytest.raises(ValueError, match=r"distilled.size=33, .* have 32 dimensions"):
        Distilled(tokens_of(tiny_bert), size=33).vectors(WORDS)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        Distilled(tokens_of(tiny_bert), size=0)


def test_words_have_vectors_of_a_file_and_of_a_transformer_side_by_side(tiny_bert, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("story 1 2\nb 3 5\nfar 2 1\n")
    texts, distilled = ["story b", "b cde"], Distilled(tokens_of(tiny_bert), size=3)
    both = WordGrams(vectors=str(file), further=3, distilled=distilled).fit(texts)
    ours, theirs = WordGrams(vectors=str(file), further=3).fit(texts), distilled.vectors(both.vocabulary_)
    assert both.vocabulary_ == ours.vocabulary_
    assert both.shape["given"] == both.given_ == 5
    assert np.array_equal(both.shape["vectors"][:, :2], ours.shape["vectors"])
    scale = np.linalg.norm(theirs, axis=1)[theirs.any(axis=1)].mean()
    np.testing.assert_allclose(both.shape["vectors"][1:, 2:], theirs / scale, atol=1e-5)
    assert WordGrams(distilled=distilled).fit(texts).given_ == 3


def test_a_saved_featuriser_needs_no_transformer(tiny_bert, tmp_path):
    fitted = WordGrams(distilled=Distilled(tokens_of(tiny_bert), size=3)).fit(["story b", "b cde"])
    save_fitted(fitted, tmp_path)
    loaded = load_fitted(WordGrams(distilled=Distilled(tokens_of("gone"), size=3)), tmp_path)
    assert loaded.shape["given"] == 3
    assert "vectors" not in loaded.shape
    assert torch.equal(*(torch.from_numpy(f.transform(["story cde"]).indices) for f in (fitted, loaded)))
