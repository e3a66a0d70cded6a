"""What a model folder may have built is what `conf/` and `fit` name, and the parts of every recipe are among it."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
import torch
import yaml

import twicetold
from recipes import RECIPES, targets
from twicetold.trained.building import _buildable, construct
from twicetold.trained.fitted import WITH_VECTORS

CONF = Path(__file__).parents[2] / "conf"
FITTED = {part.features["_target_"] for part in WITH_VECTORS.values()}


def named(group, block=None):
    found = [yaml.safe_load(path.read_text()) for path in (CONF / group).glob("*.yaml")]
    parts = [part for each in found for part in targets(each if block is None else each.get(block))]
    return {part["_target_"] for part in parts}


def public_names():
    """Every name of every module of the package, as a `_target_`: functions, imported names and modules among them."""
    for found in pkgutil.walk_packages(twicetold.__path__, "twicetold."):
        module = importlib.import_module(found.name)
        yield from (f"{found.name}.{name}" for name in dir(module))


def buildable(target, kind):
    try:
        return inspect.isclass(_buildable(target, kind))
    except ValueError:
        return False


def test_of_all_names_of_the_package_a_model_folder_may_build_the_classes_that_conf_or_fit_names_and_no_others():
    names = sorted(public_names())
    assert len(names) > 3000
    assert {name for name in names if buildable(name, "features")} == named("features") | FITTED
    assert {name for name in names if buildable(name, "models")} == named("model", "encoder")


@pytest.mark.parametrize("name", sorted(named("features") | FITTED))
def test_the_constructor_of_a_featuriser_only_keeps_its_arguments(name):
    """So that loading a model reads no file that its recipe names: files are read by `fit`."""
    made = _buildable(name, "features")
    arguments = {argument: f"/nowhere/{argument}" for argument in inspect.signature(made).parameters}
    assert made(**arguments).get_params(deep=False) == arguments


@pytest.mark.parametrize("model", RECIPES)
def test_the_encoder_of_a_recipe_has_numbers_texts_and_lists_for_settings(model, composed):
    """A setting that is a mapping could say where to fetch pretrained weights, so a model folder cannot have one."""
    from omegaconf import OmegaConf

    encoder = OmegaConf.to_container(composed("train", "data=toy_questions", f"model={model}").encoder, resolve=True)

    def flat(value):
        return all(map(flat, value)) if isinstance(value, list) else not isinstance(value, dict)

    assert all(map(flat, encoder.values()))
    assert buildable(encoder["_target_"], "models")


def test_an_encoder_is_measured_without_memory():
    settings = {"_target_": "twicetold.models.mfilm.MiniBatchFilm", "hidden": 10**9}
    with torch.device("meta"):
        planned = construct(settings, "models", width=10**9)
    assert all(tensor.is_meta for tensor in planned.state_dict().values())


def test_a_table_is_measured_without_memory():
    settings = {"_target_": "twicetold.models.static.Static", "embedding": 10**9, "init_std": 0.1, "input_dropout": 0.0}
    assert construct(settings, "models", width=10**9).shapes == {"weight": (10**9, 10**9)}
