"""Datasets and models whose files are not at hand: what they say then, and that a miniature in their place is read."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from safetensors.numpy import save_file

from recipes import NOT_IN_GRID
from twicetold_lab.data import download
from twicetold_lab.data.download import DownloadError, RemoteFile, fetch
from twicetold_lab.data.transfer import AddressError

CONF = Path(__file__).parents[2] / "conf"
LEAVES = [f"data/{name}" for name in ("amazon_google", "hlgd", "quora_paws", "twitter_url")]
LEAVES += [f"pretrained/{name}" for name in sorted(NOT_IN_GRID)]


def files_of(leaf):
    return [
        RemoteFile.from_config(file) for file in OmegaConf.to_container(OmegaConf.load(CONF / f"{leaf}.yaml").download)
    ]


@pytest.mark.parametrize("leaf", LEAVES)
def test_what_cannot_be_had_ends_with_its_addresses_and_the_place_for_it(leaf, tmp_path, monkeypatch):
    def refuse(url, *args, **options):
        raise AddressError("cannot be reached")

    monkeypatch.setattr(download, "download", refuse)
    first, *_ = files = files_of(leaf)
    with pytest.raises(DownloadError) as error:
        fetch(files, tmp_path / "raw", mirror=None, store=tmp_path / "store")
    assert all(url in str(error.value) for url in first.urls)
    assert str(tmp_path / "store" / first.source / first.name) in str(error.value)


@pytest.mark.parametrize("model", sorted(NOT_IN_GRID))
def test_a_miniature_in_the_layout_of_the_files_is_read(model, tmp_path, composed, tiny_bert, tiny_static):
    cfg = composed("train", "data=toy_questions", f"model={model}")
    files, static = files_of(f"pretrained/{model}"), cfg.features._target_.endswith("StaticTokens")
    for file in files:
        place = tmp_path / "mirror" / file.source / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy((tiny_static if static else tiny_bert) / place.name, place)
        if static and place.name == "model.safetensors":
            table = np.ones((len(OmegaConf.load(tiny_static / "tokenizer.json").model.vocab), cfg.encoder.embedding))
            save_file({"embedding.weight": table.astype(np.float32)}, place)
    fetch(files, tmp_path / cfg.features.model, mirror=str(tmp_path / "mirror"), store=tmp_path / "store")
    features = instantiate(cfg.features).fit(["a story"])
    rows = features.transform(["a story"]).gather(np.arange(1))
    embedding = instantiate(cfg.encoder, **features.shape).encode(rows).embedding
    assert embedding.shape == (1, cfg.encoder.embedding if static else 32)
    assert embedding.abs().sum() > 0
