"""What leaves of conf/ expect beside the repository."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch


@pytest.fixture
def device(request):
    """The CPU, or a device that is not (`pretended_device`), on which trainings are tried in `test_devices`."""
    asked = getattr(request, "param", "cpu")
    return torch.device("cpu") if asked == "cpu" else request.getfixturevalue("pretended").device


@pytest.fixture(autouse=True)
def pretrained_vectors(news, tiny_static, tmp_path, monkeypatch):
    """The vectors that recipes name, with one for every word of the tiny corpus, and the MiniLM of the mirror."""
    words = sorted({word for text in news.texts.to_pylist() for word in text.split()})
    file = tmp_path / "data" / "pretrained" / "glove" / "glove.6B.50d.txt"
    file.parent.mkdir(parents=True)
    vectors = np.random.default_rng(0).normal(size=(len(words), 50))
    file.write_text("".join(f"{w} {' '.join(f'{n:.4f}' for n in v)}\n" for w, v in zip(words, vectors)))
    for name in ("potion", "wordllama"):
        file.parents[1].joinpath(name).symlink_to(tiny_static)
    if mirror := os.environ.get("TWICETOLD_MIRROR"):
        file.parents[1].joinpath("minilm").symlink_to(Path(mirror, "models", "all-MiniLM-L6-v2"))
    monkeypatch.chdir(tmp_path)
