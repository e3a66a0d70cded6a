"""Every leaf of conf/ composes and builds; a misspelt key fails at composition."""

from itertools import product
from pathlib import Path

import pytest
from hydra.errors import ConfigCompositionException
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

CONF = Path(__file__).parents[2] / "conf"
MODELS = sorted(p.stem for p in (CONF / "model").glob("*.yaml"))
PROFILES = sorted(p.stem for p in (CONF / "profile").glob("*.yaml"))
SHARED = ("features", "examples", "objective", "optimizer", "trainer", "evaluator", "runtime", "tracking")


def targets(node):
    if isinstance(node, DictConfig):
        if node.get("_target_"):
            yield node
        for key in node:
            yield from targets(node[key]) if not OmegaConf.is_missing(node, key) else ()
    elif isinstance(node, ListConfig):
        for item in node:
            yield from targets(item)


@pytest.mark.parametrize(("model", "profile", "data"), list(product(MODELS, PROFILES, ("toy_news", "quora", "stsb"))))
def test_every_recipe_composes_with_every_profile(model, profile, data, composed):
    cfg = composed("train", f"data={data}", f"model={model}", f"profile={profile}")
    for node in targets(cfg):
        assert callable(get_object(node._target_))


@pytest.mark.parametrize("profile", PROFILES)
def test_data_is_prepared_with_every_profile(profile, composed):
    assert composed("prepare", "data=toy_questions", f"profile={profile}").data.name == "toy_questions"


@pytest.mark.parametrize("leaf", sorted(p for g in SHARED for p in (CONF / g).glob("*.yaml")), ids=lambda p: p.stem)
def test_every_shared_leaf_can_be_chosen_on_the_command_line(leaf, composed):
    composed("train", "data=toy_news", "model=dae", f"{leaf.parent.name}={leaf.stem}")


@pytest.mark.parametrize("leaf", sorted((CONF / "trainer").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_trainer_names_every_setting_so_that_each_can_be_changed_on_the_command_line(leaf):
    assert OmegaConf.load(leaf).keys() == OmegaConf.load(CONF / "trainer" / "default.yaml").keys()


@pytest.mark.parametrize("typo", ["objective.alfa=3", "trainer.epoch=3", "encoder.hiden=3", "objectiv=triplet"])
def test_a_misspelt_key_fails_at_composition(typo, composed):
    with pytest.raises(ConfigCompositionException):
        composed("train", "data=toy_news", "model=dae", typo)


def test_the_published_profile_leaves_tuned_values_out(composed):
    tuned = composed("train", "data=uci_news", "model=dae")
    published = composed("train", "data=uci_news", "model=dae", "profile=published")
    assert published.objective.alpha == 10
    assert published.trainer.epochs == 200
    assert published.trainer.batch_size == 100
    assert tuned.objective.alpha != published.objective.alpha


def test_the_siamese_lstm_is_evaluated_at_its_published_threshold_as_well(composed):
    evaluator = composed("train", "data=toy_questions", "model=siamese_lstm").evaluator
    assert evaluator.published_threshold == 0.7
    standard = composed("train", "data=toy_questions", "model=siamese_cnn").evaluator
    assert standard.published_threshold is None
    assert {**evaluator, "published_threshold": None} == standard


def test_leaves_do_not_interpolate_so_that_dvc_can_set_them():
    allowed = set((CONF / "examples").glob("*.yaml"))  # they take the label from the dataset
    for group in (*SHARED, "data", "mining"):
        for leaf in (CONF / group).glob("*.yaml"):
            assert leaf in allowed or "${" not in leaf.read_text(), leaf
