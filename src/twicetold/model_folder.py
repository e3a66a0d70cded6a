"""Saving and loading of trained models.

The folder of an ensemble contains the folders of its members. Only classes of this library are built, and nothing is
unpickled.
"""

import importlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.ensemble import Ensemble
from twicetold.evaluation.decision import Decision
from twicetold.features.saved import load_fitted
from twicetold.files import write_folder, write_json
from twicetold.provenance import pretrained_on_of
from twicetold.scoring import Scorer, TrainedModel


def load_model(folder: str | Path) -> TrainedModel:
    """Load the model that `train.py` or `ensemble.py` wrote to `folder`.

    Raises:
        FileNotFoundError: if there is no trained model.
    """
    folder = Path(folder)
    recipe = read_recipe(folder)
    if "members" not in recipe:
        return load_scorer(folder)
    members = {name: load_model(folder / layout.MEMBER_MODELS / name) for name in recipe["members"]}
    return Ensemble(members, read_decision(folder), recipe["as_documents"])


def load_scorer(folder: str | Path) -> Scorer:
    """Load a model that is not an ensemble.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if it is an ensemble.
    """
    folder = Path(folder)
    recipe = read_recipe(folder)
    if "members" in recipe:
        raise ValueError(
            f"expected the model of one encoder, and {folder} is an ensemble of {' and '.join(recipe['members'])}: "
            "choose the run of one of them"
        )
    featuriser = load_fitted(construct(recipe["features"]), folder)
    encoder = construct(recipe["encoder"], **featuriser.shape)
    encoder.load_state_dict(load_file(folder / layout.WEIGHTS))
    return Scorer(featuriser, encoder.eval(), read_decision(folder), recipe["as_documents"])


def load_members(models: Mapping[str, Path], corpus: Corpus) -> dict[str, TrainedModel]:
    """Load the members of an ensemble.

    Args:
        models: name of each member -> its model folder.
        corpus: the data of the ensemble.

    Raises:
        FileNotFoundError: if one has no trained model.
        ValueError: if one was trained on another train split.
    """
    now = {"name": corpus.name, "train": corpus.train_digest()}
    for name, model in models.items():
        if not (model / layout.RECIPE).exists():
            raise FileNotFoundError(
                f"the ensemble's member {name} has no trained model in {model}: train it first, or name the run "
                "folders, members=[runs/...,runs/...]"
            )
        if (data := trained_on(model)) != now:
            raise ValueError(
                f"the ensemble's member {name} was trained on another train split ({data['name']}) than the one of "
                f"{corpus.name} that is there now, so validation may not be new to it: train {name} again"
            )
    return {name: load_model(model) for name, model in models.items()}


def save_ensemble(
    folder: Path, ensemble: Ensemble, models: Mapping[str, Path], *, metric: str, value: float, data: Mapping[str, str]
) -> None:
    """Write an ensemble to `folder`, with copies of its members' models.

    Args:
        folder: the model folder.
        ensemble: the model.
        models: name of each member -> its model folder.
        metric: name of the primary metric.
        value: its value on validation.
        data: `name` of the corpus and digest of its `train` texts.
    """
    seen = dict.fromkeys(source for model in models.values() for source in pretrained_on_of(model))
    recipe = {"members": list(models), "as_documents": ensemble.as_documents, "data": dict(data)}
    recipe["pretrained_on"] = list(seen)
    trainings = [json.loads((model / layout.TRAINING).read_text(encoding="utf-8")) for model in models.values()]
    training = {"epochs": 0, "best_epoch": 0, "best_value": value, "precision": None, "metric": metric}
    training["parameters"] = sum(each["parameters"] for each in trainings)
    with write_folder(folder) as target:
        for name, model in models.items():
            shutil.copytree(model, target / layout.MEMBER_MODELS / name)
        write_json(target / layout.RECIPE, recipe)
        write_json(target / layout.DECISION, asdict(ensemble.decision))
        write_json(target / layout.TRAINING, training)


def names_of(members: Sequence[str]) -> list[str]:
    """Names of an ensemble's members, which are families or run folders."""
    return [Path(member).name for member in members]


def other_parts(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """Names of the parts of the model in `folder` whose settings differ from `config`.

    Args:
        folder: the model folder.
        config: resolved; of an ensemble, `members` are families or run folders.
    """
    recipe = read_recipe(folder)
    if "members" in config:
        return [] if recipe.get("members") == names_of(config["members"]) else ["members"]
    return [part for part in ("features", "encoder") if recipe.get(part) != config[part]]


def trained_on(folder: Path) -> dict[str, str]:
    """`name` of the dataset that the model was trained on, and digest of its `train` texts."""
    found: dict[str, str] = read_recipe(folder)["data"]
    return found


def read_decision(folder: Path) -> Decision:
    """Threshold and calibration that were stored with the model."""
    return Decision.from_json(json.loads((folder / layout.DECISION).read_text(encoding="utf-8")))


def read_recipe(folder: Path) -> dict[str, Any]:
    """The settings of the parts of the model in `folder`.

    Raises:
        FileNotFoundError: if there is no trained model.
    """
    if not (folder / layout.RECIPE).exists():
        raise FileNotFoundError(f"no trained model in {folder}: expected {layout.RECIPE} there; train it first")
    recipe: dict[str, Any] = json.loads((folder / layout.RECIPE).read_text(encoding="utf-8"))
    return recipe


def construct(config: Mapping[str, Any], **further: Any) -> Any:
    """Build the object that a configuration with `_target_` describes; only classes of this library are allowed.

    Raises:
        ValueError: if a target is outside the library, as a model folder must not run foreign code.
    """
    settings = {name: _constructed(value) for name, value in {**config, **further}.items() if name != "_convert_"}
    target, later = settings.pop("_target_"), settings.pop("_partial_", False)
    module, _, name = target.rpartition(".")
    if not module.startswith("twicetold."):
        raise ValueError(f"expected a _target_ within twicetold, got {target!r}: this model folder is not one of ours")
    made = getattr(importlib.import_module(module), name)
    return partial(made, **settings) if later else made(**settings)


def _constructed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return construct(value) if "_target_" in value else {n: _constructed(v) for n, v in value.items()}
    return [_constructed(v) for v in value] if isinstance(value, list) else value
