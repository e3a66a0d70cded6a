"""Pretrained word vectors in GloVe's text format."""

import numpy as np
import pytest

from twicetold.features import vectors
from twicetold.features.saved import load_fitted, save_fitted
from twicetold.features.tokens import Words
from twicetold.features.vectors import alike, first_words, word_vectors

LINES = 'the 0.5 -1 2\n" 1 1 1\n, 3 3 3\n. . 9 9 9\nbank 1e-3 0.25 -4\nnull 7 7 7\n'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "glove" / "mine.txt"
    path.parent.mkdir()
    path.write_text(LINES, encoding="utf-8")
    return path


def test_words_get_their_vectors_and_others_zeros(file):
    found = word_vectors(file, ["bank", "unheardof", "the"])
    expected = np.array([[1e-3, 0.25, -4], [0, 0, 0], [0.5, -1, 2]], np.float32)
    np.testing.assert_array_equal(expected, found)


def test_quotes_commas_and_the_word_null_are_words_like_others(file):
    assert word_vectors(file, ['"', ",", "null"])[:, 0].tolist() == [1, 3, 7]


def test_a_word_is_looked_up_in_lower_case_if_its_own_form_is_missing(file):
    assert word_vectors(file, ["The", "BANK"])[:, 1].tolist() == [-1, 0.25]


def test_lines_with_a_blank_within_the_word_are_left_out(file):
    assert not word_vectors(file, ["."]).any()


def test_the_first_words_are_those_that_the_file_begins_with(file):
    assert first_words(file, 3) == ["the", '"', ","]
    assert len(first_words(file, 100)) == 6


def test_blocks_make_no_difference(file, monkeypatch):
    whole = word_vectors(file, ["the", "bank", "null"])
    monkeypatch.setattr(vectors, "BLOCK", 64)
    np.testing.assert_array_equal(whole, word_vectors(file, ["the", "bank", "null"]))


def test_a_missing_file_that_nobody_publishes_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mine.txt.*glove.6B.50d.txt"):
        word_vectors(tmp_path / "mine.txt", ["the"])


def test_a_file_without_numbers_is_an_error(tmp_path):
    (tmp_path / "words.txt").write_text("the\nbank\n")
    with pytest.raises(ValueError, match="holds no vectors"):
        word_vectors(tmp_path / "words.txt", ["the"])


def test_a_missing_file_is_not_fetched_and_the_message_names_the_command(tmp_path, monkeypatch):
    mirror = tmp_path / "mirror" / "glove" / "glove.6B.50d.txt"
    mirror.parent.mkdir(parents=True)
    mirror.write_text("the " + " ".join(["1"] * 50) + "\n")
    monkeypatch.setenv("TWICETOLD_MIRROR", str(tmp_path / "mirror"))
    file = tmp_path / "pretrained" / "glove" / "glove.6B.50d.txt"
    with pytest.raises(FileNotFoundError, match=r"`python pipelines/download_pretrained.py pretrained=glove` fetches"):
        word_vectors(file, ["the"])
    assert not file.parent.exists()


def test_the_featuriser_hands_them_to_the_encoder_saves_no_copy_and_needs_no_file_again(file, tmp_path):
    featuriser = Words(vectors=str(file)).fit(["the bank unheardof"])
    shape = featuriser.shape
    assert shape["width"] == 4
    assert shape["vectors"].shape == (4, 3)
    assert not shape["vectors"][0].any()  # of unknown words
    assert [n for n, v in vars(featuriser).items() if n.endswith("_")] == ["vocabulary_"]
    save_fitted(featuriser, tmp_path)
    loaded = load_fitted(Words(vectors="gone"), tmp_path)
    assert loaded.transform(["bank"]).indices.tolist() == featuriser.transform(["bank"]).indices.tolist()
    assert loaded.shape == {"width": 4}


@pytest.mark.real
def test_the_mirrors_glove_knows_most_words(mirror):
    found = word_vectors(mirror / "glove" / "glove.6B.50d.txt", ["the", "Question", "bank", "zzzyx"])
    assert found.any(1).tolist() == [True, True, True, False]


def test_vectors_made_alike_lie_about_their_mean_at_length_one_and_words_without_one_at_zero():
    values = np.random.default_rng(0).normal(5, 2, size=(9, 3)).astype(np.float32) * (np.arange(9) % 3 > 0)[:, None]
    made, found = alike(values), values.any(axis=1)
    assert made.dtype == np.float32
    assert not made[~found].any()
    np.testing.assert_allclose(made[found].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(made[found], axis=1).mean(), 1, rtol=1e-6)
    np.testing.assert_allclose(made, alike(values * 7 + 3 * found[:, None]), atol=1e-6)


@pytest.mark.parametrize("values", [np.zeros((0, 2)), np.zeros((3, 2)), np.array([[1.0, 2.0], [0.0, 0.0]])])
def test_one_vector_and_none_are_zeros_when_made_alike(values):
    assert not alike(values.astype(np.float32)).any()
