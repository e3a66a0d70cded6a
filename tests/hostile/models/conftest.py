"""Small trained models in folders, to be attacked."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from sklearn.base import BaseEstimator

from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_hashing import WordHashing
from twicetold.models.static import Static
from twicetold.models.tfidf import TfIdfCosine
from twicetold.trained.fitted import UNTRAINED
from twicetold.trained.model_folder import save_scorer
from twicetold.trained.scoring import Scorer

TEXTS = ["the cat sat on the mat", "a dog sat on the log", "rain is falling on the town", "the town is in the rain"]
PARTS = {
    "static": (WordHashing(), Static, {"embedding": 4, "init_std": 0.1, "input_dropout": 0.0}),
    "tfidf": (TfIdf(), TfIdfCosine, {}),
}


def target_of(part) -> str:
    return f"{part.__module__}.{part.__name__}"


@pytest.fixture(scope="session")
def recipe_of():
    return _recipe_of


@pytest.fixture(scope="session")
def save_model():
    return _save_model


def _recipe_of(part):
    """A featuriser, and the parts in it, as a recipe names them."""
    if isinstance(part, list):
        return [_recipe_of(each) for each in part]
    if not isinstance(part, BaseEstimator):
        return part
    settings = {name: _recipe_of(value) for name, value in part.get_params(deep=False).items()}
    return {"_target_": target_of(type(part)), **settings}


def _save_model(folder: Path, featuriser, family, settings=None) -> Path:
    """Train nothing, save everything."""
    settings = settings or {}
    features = _recipe_of(featuriser)
    torch.manual_seed(0)
    encoder = family(**featuriser.fit(TEXTS).shape, **settings)
    scorer = Scorer(featuriser, encoder.eval(), Decision(0.5, 2.0, -1.0))
    data = {"name": "toy", "train": "0" * 64}
    training = UNTRAINED | {"metric": "auroc", "best_value": 0.5, "epochs": 1, "parameters": 4}
    settings = {"_target_": target_of(family), **settings}
    save_scorer(folder, scorer, features=features, settings=settings, data=data, training=training)
    return folder


@pytest.fixture(scope="session")
def originals(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {name: _save_model(folder / name, *parts) for name, parts in PARTS.items()}


@pytest.fixture
def model(originals, tmp_path) -> Path:
    """The folder of a model with weights, to be damaged."""
    return Path(shutil.copytree(originals["static"], tmp_path / "model"))


@pytest.fixture
def nested(originals, tmp_path):
    """Makes the folder of an ensemble of a model and an ensemble, and so on for some levels."""

    def _nested(levels, folder=None):
        folder = folder or tmp_path / f"{levels} levels"
        other = "tfidf" if levels == 1 else "inner"
        for name in ("static", "tfidf")[: 1 + (levels == 1)]:
            shutil.copytree(originals[name], folder / layout.MEMBER_MODELS / name)
        if levels > 1:
            _nested(levels - 1, folder / layout.MEMBER_MODELS / other)
        recipe = {"members": ["static", other], "as_documents": False, "data": {}, "pretrained_on": []}
        (folder / layout.RECIPE).write_text(json.dumps(recipe))
        shutil.copy(originals["static"] / layout.DECISION, folder)
        return folder

    return _nested


@pytest.fixture
def ensemble(nested, tmp_path):
    """The folder of an ensemble of two models."""
    return nested(1, tmp_path / "ensemble")
