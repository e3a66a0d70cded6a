"""Saving and loading of trained models.

The folder of an ensemble contains the folders of its members. A folder may come from anywhere, so loading it runs no
code but that of families and featurisers (`building`), unpickles nothing, and reads nothing outside the folder: before
anything in it is opened, `read_recipe` requires that all of it are regular files and folders.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from safetensors import safe_open

from twicetold import layout
from twicetold.evaluation.thresholds import DedupeThresholds
from twicetold.features.rows import Featuriser
from twicetold.features.saved import load_fitted
from twicetold.files import write_folder, write_json
from twicetold.packages import naming_the_extra
from twicetold.trained.building import construct
from twicetold.trained.columns import FAMILIES, ColumnEncoder
from twicetold.trained.ensemble import Ensemble, Stacking, Weights
from twicetold.trained.folder_files import field_of, read_recipe, refusing
from twicetold.trained.provenance import joined, pretrained_on_of, seen_of
from twicetold.trained.reading import AnyEncoder
from twicetold.trained.saving import write_trained
from twicetold.trained.scoring import Scorer, TrainedModel
from twicetold.trained.threshold_record import read_decisions, write_decisions

FILES = (layout.WEIGHTS, layout.FEATURISER_ARRAYS, layout.FEATURISER_STATE)
LEVELS = 3  # of ensembles within ensembles


def load_model(folder: str | Path) -> TrainedModel:
    """Load the model that `train.py` or `ensemble.py` wrote to `folder`.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the folder is damaged, or asks for anything that a model does not need.
    """
    return _load(Path(folder), LEVELS)


def _load(folder: Path, levels: int) -> TrainedModel:
    """Return a model, with at most so many levels of ensembles."""
    recipe = read_recipe(folder)
    if "members" not in recipe:
        return load_scorer(folder)
    with refusing(folder):
        if not levels:
            raise ValueError(f"expected at most {LEVELS} levels of ensembles within ensembles, this is a further one")
        places = _member_folders(folder, recipe["members"])
    members = {name: _load(place, levels - 1) for name, place in places.items()}
    with refusing(folder):
        as_documents = field_of(recipe, "as_documents", bool)
        decisions = read_decisions(folder)
        return Ensemble(members, decisions.selected, as_documents, _weights(recipe), decisions)


def load_trained(folder: str | Path) -> tuple[Featuriser, AnyEncoder, bool]:
    """Load the featuriser and the encoder that a training wrote, and whether it was on documents; nothing is decided.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the folder is damaged or asks for anything that a model does not need.
    """
    folder = Path(folder)
    recipe = read_recipe(folder)
    with refusing(folder):
        return _read_parts(folder, recipe)


def _read_parts(folder: Path, recipe: Mapping[str, Any]) -> tuple[Featuriser, AnyEncoder, bool]:
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise ValueError(f"there is no file {missing[0]}")
    settings = field_of(recipe, "encoder", dict)
    featuriser = load_featuriser(field_of(recipe, "features", dict), folder)
    encoder = _read_encoder(settings, featuriser.shape, folder / layout.WEIGHTS)
    return featuriser, encoder, field_of(recipe, "as_documents", bool)


def load_scorer(folder: str | Path) -> Scorer:
    """Load a model that is not an ensemble.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if it is an ensemble, or the folder is damaged or asks for anything that a model does not need.
    """
    folder = Path(folder)
    recipe = read_recipe(folder)
    if "members" in recipe:
        with refusing(folder):
            names = " and ".join(_member_folders(folder, recipe["members"]))
        raise ValueError(
            f"expected the model of one encoder, and {folder} is an ensemble of {names}: choose the run of one of them"
        )
    with refusing(folder):
        if not (folder / layout.DECISION).is_file():
            raise ValueError(f"there is no file {layout.DECISION}")
        featuriser, encoder, as_documents = _read_parts(folder, recipe)
        decisions = read_decisions(folder)
        scorer = Scorer(featuriser, encoder, decisions.selected, as_documents, decisions)
        if not np.isfinite(scorer.score(["a text"], ["another"])).all():
            raise ValueError("the score of two texts is not a number")
    return scorer


def _read_encoder(settings: Mapping[str, Any], shape: Mapping[str, Any], weights: Path) -> AnyEncoder:
    """Return an encoder with its weights; those of `FAMILIES` do without PyTorch."""
    if settings.get("_target_") in FAMILIES:
        from safetensors.numpy import load_file as load_arrays

        encoder: ColumnEncoder = construct(settings, "models", **shape)
        _require_shapes(encoder.shapes, weights)
        encoder.load(load_arrays(weights))
        return encoder
    with naming_the_extra("a model of this family"):
        import torch
        from safetensors.torch import load_file
    with torch.device("meta"):  # allocates nothing
        planned = construct(settings, "models", **shape).state_dict()
    _require_shapes({name: tuple(tensor.shape) for name, tensor in planned.items()}, weights)
    module = construct(settings, "models", **shape)
    module.load_state_dict(load_file(weights))
    return module.eval()


def load_featuriser(config: Mapping[str, Any], folder: Path) -> Featuriser:
    """Return the fitted featuriser of a model folder, whose state must make rows as wide as it says.

    Args:
        config: its settings in the recipe.
        folder: where its state is.

    Raises:
        ValueError: if the state is not what `fit` gives.
    """
    featuriser: Featuriser = load_fitted(construct(config, "features"), folder)
    width = featuriser.shape["width"]
    if (made := featuriser.transform(["a text"]).width) != width:
        raise ValueError(f"expected rows of {width} columns, the featuriser makes {made}")
    return featuriser


def save_scorer(
    folder: Path,
    scorer: Scorer,
    *,
    thresholds: DedupeThresholds | None = None,
    settings: Mapping[str, Any],
    **about: Any,
) -> None:
    """Write a model that is no ensemble to `folder`, atomically.

    Args:
        folder: the model folder.
        scorer: the model.
        thresholds: for a dedupe, if there are any.
        settings: configuration that the encoder was built from.
        about: the other arguments of `saving.write_trained`.
    """
    with write_folder(folder) as target:
        as_documents = scorer.as_documents
        write_trained(target, scorer.featuriser, scorer.encoder, as_documents=as_documents, settings=settings, **about)
        write_decisions(target, scorer.decisions, thresholds)


def save_ensemble(
    folder: Path,
    ensemble: Ensemble,
    models: Mapping[str, Path],
    *,
    thresholds: DedupeThresholds | None,
    metric: str,
    value: float,
    data: Mapping[str, str],
) -> None:
    """Write an ensemble to `folder`, with copies of its members' models.

    Args:
        folder: the model folder.
        ensemble: the model.
        models: name of each member -> its model folder.
        thresholds: for a dedupe, if there are any.
        metric: name of the primary metric.
        value: its value on validation.
        data: `name` of the corpus and digest of its `train` texts.
    """
    sources = dict.fromkeys(source for model in models.values() for source in pretrained_on_of(model))
    recipe = {"members": list(models), "as_documents": ensemble.as_documents, "data": dict(data)}
    recipe |= {"pretrained_on": list(sources), "seen": joined(map(seen_of, models.values())), "stacking": "mean"}
    if ensemble.weights is not None:
        stacked = {"weights": list(ensemble.weights.members), "intercept": ensemble.weights.intercept}
        recipe |= {"stacking": "logistic", **stacked}
        if ensemble.weights.features:
            recipe |= {"stacking": "features", "feature_weights": list(ensemble.weights.features)}
    trainings = [json.loads((model / layout.TRAINING).read_text(encoding="utf-8")) for model in models.values()]
    training = {"epochs": 0, "best_epoch": 0, "best_value": value, "precision": None, "metric": metric}
    training["parameters"] = sum(each["parameters"] for each in trainings)
    with write_folder(folder) as target:
        for name, model in models.items():
            shutil.copytree(model, target / layout.MEMBER_MODELS / name)
        write_json(target / layout.RECIPE, recipe)
        write_decisions(target, ensemble.decisions, thresholds)
        write_json(target / layout.TRAINING, training)


def trained_on(folder: Path) -> dict[str, str]:
    """Return `name` of the dataset that the model was trained on, and digest of its `train` texts.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if its recipe does not say so.
    """
    recipe = read_recipe(folder)
    with refusing(folder):
        data = field_of(recipe, "data", dict)
        return {name: field_of(data, name, str) for name in ("name", "train")}


def _member_folders(folder: Path, names: Any) -> dict[str, Path]:
    """Return the model folder of each member, which is within `folder`."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a list of names as members, got {names!r}")
    places = {name: folder / layout.MEMBER_MODELS / name for name in names}
    inside = (folder / layout.MEMBER_MODELS).resolve()
    for name, place in places.items():
        if name != place.name or place.resolve().parent != inside or inside.parent != folder.resolve():
            raise ValueError(f"expected a member within the folder, got {name!r}, which leads elsewhere")
    return places


def _weights(recipe: Mapping[str, Any]) -> Weights | None:
    """Return the stored weights of an ensemble's members; None if it is their mean."""
    if (stacking := recipe.get("stacking", "mean")) not in get_args(Stacking):
        raise ValueError(f"expected one of {get_args(Stacking)} as stacking in {layout.RECIPE}, got {stacking!r:.80}")
    if stacking == "mean":
        return None
    features = field_of(recipe, "feature_weights", list) if stacking == "features" else ()
    return Weights(tuple(field_of(recipe, "weights", list)), field_of(recipe, "intercept", float), tuple(features))


def _require_shapes(expected: Mapping[str, tuple[int, ...]], weights: Path) -> None:
    """Compare the shapes of an encoder's weights with those of a file, of which only the head is read."""
    with safe_open(weights, framework="numpy") as file:
        stored = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    for name in sorted(expected.keys() | stored.keys()):
        wanted, got = (str(shapes[name]) if name in shapes else "no such tensor" for shapes in (expected, stored))
        if wanted != got:
            raise ValueError(f"{weights.name}: expected {wanted} for {name!r}, as the recipe says, got {got}")
