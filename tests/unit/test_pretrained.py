import sys

import pytest

from twicetold import pretrained
from twicetold.errors import readable_errors
from twicetold.packages import PackageMissing


def test_a_folder_is_taken_before_the_mirror_and_the_mirror_before_the_hub(tmp_path, monkeypatch):
    mirrored = tmp_path / "mirror" / "models" / "tiny"
    mirrored.mkdir(parents=True)
    monkeypatch.delenv("TWICETOLD_MIRROR", raising=False)
    assert pretrained.located("someone/tiny") == "someone/tiny"
    monkeypatch.setenv("TWICETOLD_MIRROR", str(tmp_path / "mirror"))
    assert pretrained.located("someone/tiny") == pretrained.located("tiny") == str(mirrored)
    here = tmp_path / "tiny"
    here.mkdir()
    assert pretrained.located(str(here)) == str(here)


def test_a_mirrors_folder_of_the_full_name_comes_first(tmp_path, monkeypatch):
    for name in ("someone/tiny", "tiny"):
        (tmp_path / "models" / name).mkdir(parents=True)
    monkeypatch.setenv("TWICETOLD_MIRROR", str(tmp_path))
    assert pretrained.located("someone/tiny") == str(tmp_path / "models/someone/tiny")


def test_only_fetch_asks_the_hub_and_only_for_what_is_nowhere_else(monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    asked = []
    monkeypatch.setattr(hub, "snapshot_download", lambda model, allow_patterns: asked.append(model))
    monkeypatch.setenv("TWICETOLD_MIRROR", str(tmp_path))
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    for model in (str(tmp_path), "someone/tiny", "someone/else"):
        pretrained.fetch(model)
    with pytest.raises(pretrained.ModelUnavailable, match="else"):
        pretrained.read("someone/else")
    assert asked == ["someone/else"]


def test_a_model_that_nobody_has_is_one_message_that_says_where_it_was_sought(monkeypatch, tmp_path):
    pytest.importorskip("transformers")
    monkeypatch.setenv("TWICETOLD_MIRROR", str(tmp_path))
    said = r"'no/such'.*no folder.*mirror has no models/such.*Set features.model"
    with pytest.raises(SystemExit, match=said), readable_errors():
        pretrained.read("no/such")


def test_a_folder_without_a_model_is_one_message(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(pretrained.ModelUnavailable, match=r"it is a folder.*config.json, tokenizer.json"):
        pretrained.read(str(tmp_path))


def test_without_the_package_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(PackageMissing, match=r"pip install 'twicetold\[transformers\]'"):
        pretrained.transformers()


def test_weights_in_any_format_but_safetensors_are_refused(tiny_bert, tmp_path):
    import torch

    for file in tiny_bert.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    _, config = pretrained.read(str(tmp_path))
    with pytest.raises(pretrained.ModelUnavailable, match="safetensors"):
        pretrained.build(config.to_json_string(use_diff=False), str(tmp_path))
