"""Folders of vectors of tokens from anywhere: one clear message each, and no memory beyond what the files hold."""

import json
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import twicetold
from twicetold.trained import static_folder

TEXTS = ["a story", "a story b", "c d e"]


def of_tensors(**changes):
    """Change tensors, by name; None: leave it out."""

    def change(folder):
        tensors = load_file(folder / "model.safetensors")
        for name, made in changes.items():
            value = made(tensors["embeddings"]) if callable(made) else made
            tensors[name] = value
            if value is None:
                del tensors[name]
        save_file(tensors, folder / "model.safetensors")

    return change


def of_tokenizer(change_content):
    def change(folder):
        file = folder / "tokenizer.json"
        content = json.loads(file.read_text())
        file.write_text(json.dumps(change_content(content)))

    return change


def with_nan(vectors):
    vectors = vectors.copy()
    vectors[-1, -1] = np.nan
    return vectors


def ids(number):
    return lambda content: {
        **content,
        "model": {**content["model"], "vocab": {**content["model"]["vocab"], "huge": number}},
    }


def written(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def cut(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])


DAMAGED = {
    "no vectors": (lambda folder: (folder / "model.safetensors").unlink(), "there is no model.safetensors"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "there are no tokenizer.json and"),
    "vectors that are cut off": (cut, "SafetensorError"),
    "vectors that are something else": (written("model.safetensors", b"vectors"), "SafetensorError"),
    "no table": (of_tensors(embeddings=None, other=np.ones((3, 2), np.float32)), "expected a table embeddings or"),
    "whole numbers": (of_tensors(embeddings=lambda v: v.astype(np.int32)), "of F16, F32, F64"),
    "a vector alone": (of_tensors(embeddings=lambda v: v[0].copy()), "embeddings in 2 dimensions"),
    "vectors without numbers": (of_tensors(embeddings=lambda v: v[:, :0].copy()), "numbers in all vectors"),
    "no vector": (of_tensors(embeddings=lambda v: v[:0].copy()), "numbers in all vectors"),
    "NaN": (of_tensors(embeddings=with_nan), "expected finite numbers in embeddings"),
    "weights that are infinite": (
        of_tensors(weights=lambda v: np.full(len(v), np.inf, np.float32)),
        "expected finite numbers in weights",
    ),
    "too few weights": (of_tensors(weights=np.ones(3, np.float32)), "expected weights of the shape"),
    "a mapping beyond the table": (
        of_tensors(mapping=lambda v: np.full(len(v), len(v))),
        "expected a mapping to the rows",
    ),
    "a mapping below 0": (of_tensors(mapping=lambda v: np.full(len(v), -1)), "expected a mapping to the rows"),
    "a mapping of numbers with a point": (of_tensors(mapping=lambda v: np.zeros(len(v))), "expected mapping in 1"),
    "a mapping for no tokens": (of_tensors(mapping=np.zeros(1 << 20, np.uint8)), "expected a mapping of at most"),
    "a tokenizer that is cut off": (written("tokenizer.json", b'{"model": '), "tokenizer.json is not JSON"),
    "a tokenizer that is no UTF-8": (written("tokenizer.json", b"\xff\xfe"), "tokenizer.json is not JSON"),
    "a tokenizer that is no object": (written("tokenizer.json", b"[]"), "expected an object in tokenizer.json"),
    "a tokenizer without a model": (of_tokenizer(lambda content: {**content, "model": None}), "model of a tokenizer"),
    "a token with a negative id": (of_tokenizer(ids(-1)), "cannot read the vectors"),
    "a token with an id beyond all": (of_tokenizer(ids(1 << 40)), "cannot read the vectors"),
    "an empty vocabulary": (
        of_tokenizer(lambda content: {**content, "model": {**content["model"], "vocab": {}, "unk_token": None}}),
        "cannot read the vectors",
    ),
    "settings that are no JSON": (written("config.json", b"{"), "config.json is not JSON"),
    "settings that are no object": (written("config.json", b'["model2vec"]'), "expected an object in config.json"),
    "settings that are nested": (written("config.json", b"[" * 100_000), "config.json is not JSON"),
}


@pytest.fixture
def folder(tiny_static, tmp_path):
    return shutil.copytree(tiny_static, tmp_path / "vectors")


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_folder_ends_with_one_message_that_says_what_is_wrong(damage, folder):
    change, message = DAMAGED[damage]
    change(folder)
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        twicetold.fit(TEXTS, vectors=folder)
    assert str(folder) in str(refused.value)


def test_vectors_that_are_shared_are_not_multiplied_beyond_a_limit(folder, monkeypatch):
    of_tensors(mapping=lambda vectors: np.zeros(len(vectors), np.uint8))(folder)
    assert twicetold.fit(TEXTS, vectors=folder).dedupe(TEXTS).summary.counts.texts == 3
    count = len(load_file(folder / "model.safetensors")["mapping"])
    monkeypatch.setattr(static_folder, "NUMBERS", 256 * count - 1)
    with pytest.raises(ValueError, match=f"expected 1 to .* numbers in all vectors, got {count} x 256"):
        twicetold.fit(TEXTS, vectors=folder)


def test_large_files_of_json_are_not_opened(folder, monkeypatch):
    monkeypatch.setattr(static_folder, "STATE_LIMIT", 100)
    with pytest.raises(ValueError, match=r"expected at most 100 bytes in tokenizer\.json"):
        twicetold.fit(TEXTS, vectors=folder)
