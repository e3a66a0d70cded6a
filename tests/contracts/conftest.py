"""What leaves of conf/ expect beside the repository."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def pretrained_vectors(news, tmp_path, monkeypatch):
    """The vectors file that `glove_words` names, with a vector for every word of the tiny corpus."""
    words = sorted({word for text in news.texts.to_pylist() for word in text.split()})
    file = tmp_path / "data" / "downloads" / "glove" / "glove.6B.50d.txt"
    file.parent.mkdir(parents=True)
    vectors = np.random.default_rng(0).normal(size=(len(words), 50))
    file.write_text("".join(f"{w} {' '.join(f'{n:.4f}' for n in v)}\n" for w, v in zip(words, vectors)))
    monkeypatch.chdir(tmp_path)
