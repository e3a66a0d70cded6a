"""Static tokens and their vectors against the packages that they come from."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from twicetold.features.saved import load_fitted, save_fitted
from twicetold.features.static_tokens import StaticTokens
from twicetold.models.pretrained_static import PretrainedStatic
from twicetold.pretrained import ModelUnavailable

ROOT = Path(__file__).parents[3]
ODD = ["", " ", "\U00013000 \u4f60\u597d", "word " * 1200, "unbroken" * 600 + " x", "a\nb\tc  d", "caf\u00e9 CAF\u00c9"]
SETTINGS = {"init": "pretrained", "trained": "table", "rank": 1, "input_dropout": 0.0}


@pytest.fixture(scope="module")
def texts():
    """A thousand lines of the documentation, and odd ones."""
    lines = [line for page in sorted(ROOT.rglob("docs/**/*.md")) for line in page.read_text().splitlines() if line]
    assert len(lines) >= 1000
    return lines[:1000] + ODD


def tokens_of(model, **settings):
    return StaticTokens(str(model), "nothing", **settings)


def embedded(tokens, texts):
    """Embeddings of unit length; of zero length for a text without a known token."""
    encoder = PretrainedStatic(**tokens.shape, embedding=tokens.shape["vectors"].shape[1], **SETTINGS).eval()
    encoding = encoder.encode(tokens.transform(texts).gather(np.arange(len(texts))))
    return encoder.search_vectors(encoding)[0].detach().numpy()


def unit(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def test_wordllama_embeds_alike(texts, tmp_path):
    package = pytest.importorskip("wordllama", reason="needs the extra [static]")
    folder = Path(find_spec("wordllama").origin).parent
    (tmp_path / "model.safetensors").symlink_to(folder / "weights" / "l2_supercat_256.safetensors")
    (tmp_path / "tokenizer.json").symlink_to(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    theirs = package.WordLlama.load(cache_dir=folder, disable_download=True).embed(texts)
    np.testing.assert_allclose(embedded(tokens_of(tmp_path).fit([]), texts), unit(theirs), rtol=0, atol=1e-6)


@pytest.mark.real
def test_model2vec_embeds_alike(texts, mirror):
    package = pytest.importorskip("model2vec", reason="needs the package model2vec")
    folder = mirror / "models" / "potion-base-8M"
    theirs = package.StaticModel.from_pretrained(folder).encode(texts)
    ours = embedded(tokens_of(folder, max_length=512).fit([]), texts)
    np.testing.assert_allclose(ours, unit(theirs), rtol=0, atol=1e-6)


def test_weights_and_shared_vectors_of_a_folder_of_model2vec_count_as_there(texts, tiny_static, tmp_path):
    package = pytest.importorskip("model2vec", reason="needs the package model2vec")
    whole = package.StaticModel.from_pretrained(tiny_static)
    random, tokens = np.random.default_rng(0), len(whole.tokens)
    shared = {"weights": random.random(tokens), "token_mapping": random.integers(0, 9, tokens)}
    package.StaticModel(whole.embedding[:9], whole.tokenizer, {}, **shared, max_length=7).save_pretrained(tmp_path)
    ours = embedded(tokens_of(tmp_path, max_length=7).fit([]), texts)
    np.testing.assert_allclose(
        ours, unit(package.StaticModel.from_pretrained(tmp_path).encode(texts)), rtol=0, atol=1e-6
    )


def test_unknown_tokens_have_number_zero_and_no_special_token_is_added(tiny_static):
    tokens = tokens_of(tiny_static).fit([])
    rows = tokens.transform(["Bank \u4f60 rate", ""])
    assert rows.indptr.tolist() == [0, 3, 3]
    assert rows.values is None
    assert tokens.get_feature_names_out()[rows.indices].tolist() == ["bank", "(unknown)", "rate"]


def test_smooth_inverse_frequency_counts_tokens_of_train(tiny_static):
    tokens = tokens_of(tiny_static, weighting="sif", sif_a=0.5).fit(["bank bank rate", "cut"])
    assert tokens.transform(["bank rate film"]).values.tolist() == pytest.approx([0.5 / 1.0, 0.5 / 0.75, 1])


def test_zipf_weighs_by_the_place_in_the_vocabulary_as_model2vec_does(tiny_static):
    tokens = tokens_of(tiny_static, weighting="zipf").fit([])
    rows = tokens.transform(["bank rate film"])
    assert rows.values.tolist() == pytest.approx(np.log(rows.indices).tolist())  # log(1 + place from 0)


def test_a_word_for_a_weighting_that_there_is_not_is_refused(tiny_static):
    with pytest.raises(ValueError, match="expected none, sif or zipf as weighting, got 'idf'"):
        tokens_of(tiny_static, weighting="idf").fit([])


def test_the_saved_state_needs_no_folder_and_has_no_vectors(tiny_static, tmp_path):
    tokens = tokens_of(tiny_static, weighting="sif").fit(["bank rate"])
    save_fitted(tokens, tmp_path)
    loaded = load_fitted(tokens_of("gone", weighting="sif"), tmp_path)
    before, after = (each.transform(["bank story7 film"]) for each in (tokens, loaded))
    assert before.indices.tolist() == after.indices.tolist()
    assert before.values.tolist() == after.values.tolist()
    assert loaded.shape == {"width": tokens.shape["width"]}


def test_state_from_elsewhere_with_other_weights_or_more_tokens_reads_no_foreign_memory(tiny_static):
    tokens = tokens_of(tiny_static, weighting="sif").fit([])
    tokens.width_ = 3
    with pytest.raises(ValueError, match="expected 3 float32 as weights_"):
        tokens.transform(["film"])
    tokens.weights_ = None
    assert tokens.transform(["film"]).indices.tolist() == [0]


def test_a_folder_of_sentence_transformers_is_read(tiny_static, tmp_path):
    from safetensors.numpy import load_file

    folder = tmp_path / "0_StaticEmbedding"
    folder.mkdir()
    (folder / "tokenizer.json").symlink_to(tiny_static / "tokenizer.json")
    vectors = load_file(tiny_static / "model.safetensors")["embeddings"]
    save_file({"embedding.weight": vectors.astype(np.float16)}, folder / "model.safetensors")
    found = tokens_of(tmp_path).fit([]).shape["vectors"]
    assert found.dtype == np.float32
    assert not found[0].any()
    np.testing.assert_array_equal(found[1:], vectors.astype(np.float16))


def test_a_folder_that_is_not_there_or_is_of_another_kind_is_refused_in_words(tiny_static, tmp_path):
    with pytest.raises(ModelUnavailable, match="cannot read the pretrained model 'gone'"):
        tokens_of("gone").fit([])
    with pytest.raises(ModelUnavailable, match=r"expected a folder with tokenizer\.json and model\.safetensors"):
        tokens_of(tmp_path).fit([])
    (tmp_path / "tokenizer.json").symlink_to(tiny_static / "tokenizer.json")
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ValueError, match="expected vectors in the format safetensors"):
        tokens_of(tmp_path).fit([])
    for tensors, reason in [
        ({"a": np.ones(3)}, r"expected embeddings or embedding\.weight in"),
        ({"embeddings": np.ones(3)}, r"got vectors \(3,\)"),
        ({"embeddings": np.ones((3, 2)), "weights": np.ones(2)}, r"got vectors \(3, 2\) and weights \(2,\)"),
    ]:
        save_file(tensors, tmp_path / "model.safetensors")
        with pytest.raises(ValueError, match=reason):
            tokens_of(tmp_path).fit([])


def test_a_tokenizer_may_put_a_prefix_before_each_text(tiny_static):
    tokens = tokens_of(tiny_static).fit([])
    tokenizer = json.loads(tokens.tokenizer_)
    tokens.tokenizer_ = json.dumps({**tokenizer, "normalizer": {"type": "Prepend", "prepend": "film "}})
    assert tokens.transform(["bank"]).indptr.tolist() == [0, 2]
