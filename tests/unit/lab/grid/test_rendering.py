"""Configs that are composed many at a time are those that Hydra composes one by one."""

from pathlib import Path

import hydra
import pytest
from hydra import initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf

from twicetold_lab.grid.rendering import compose

ROOT = Path(__file__).parents[4]


@pytest.fixture
def conf():
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield


@pytest.mark.parametrize(
    "overrides",
    [
        ("train", "data=quora_wang", "model=static", "seed=3"),  # with a tuned file
        ("train", "data=uci_news", "model=dssm", "profile=published"),
        ("train", "data=toy_questions", "model=static", "+experiment=two_kinds", "optimizer.lr=0.5"),
        ("train", "data=toy_news", "model=dae", "+tracking.x=1", "~objective.alpha"),
        ("prepare", "data=toy_news"),  # chooses a part of Hydra's own settings
        ("download_pretrained", "pretrained=glove"),
        ("mine_with_model", "data=toy_questions", "mining=pseudo_labels", "teacher=static"),
        ("ensemble", "data=toy_news", "name=both", "members=[dae,tfidf]"),
        ("evaluate_elsewhere", "run=runs/x", "others=[stsb]"),
    ],
    ids=" ".join,
)
def test_a_config_is_that_of_hydra(conf, overrides):
    primary, *rest = overrides
    expected, found = hydra.compose(primary, rest), compose(primary, rest)
    assert OmegaConf.to_yaml(found) == OmegaConf.to_yaml(expected)
    assert OmegaConf.to_yaml(found, resolve=True) == OmegaConf.to_yaml(expected, resolve=True)


@pytest.mark.parametrize(
    "overrides",
    [
        ("train", "data=toy_news", "model=dea"),
        ("train", "data=toy_news"),
        ("train", "data=toy_news", "model=dae", "optimizer.lrr=1"),
        ("train", "data=toy_news", "model=dae,dssm"),
        ("trains",),
    ],
    ids=" ".join,
)
def test_what_hydra_refuses_is_refused_in_its_words(conf, overrides):
    primary, *rest = overrides
    with pytest.raises(HydraException) as expected:
        hydra.compose(primary, rest)
    with pytest.raises(HydraException) as found:
        compose(primary, rest)
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)


def test_a_file_that_changes_is_read_again(tmp_path):
    (tmp_path / "one.yaml").write_text("a: 1\n")
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        assert compose("one", []) == {"a": 1}
        (tmp_path / "one.yaml").write_text("a: 2\n")
        assert compose("one", []) == {"a": 2}
