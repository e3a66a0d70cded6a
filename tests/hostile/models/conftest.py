"""Small trained models in folders, to be attacked."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from saved_models import save_model
from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_hashing import WordHashing
from twicetold.models.static import Static
from twicetold.models.tfidf import TfIdfCosine
from twicetold.trained.scoring import Scorer

TEXTS = ["the cat sat on the mat", "a dog sat on the log", "rain is falling on the town", "the town is in the rain"]
PARTS = {
    "static": (WordHashing(), Static, {"embedding": 4, "init_std": 0.1, "input_dropout": 0.0}),
    "tfidf": (TfIdf(), TfIdfCosine, {}),
}


def trained(featuriser, family, settings) -> Scorer:
    """A model that has learnt nothing."""
    torch.manual_seed(0)
    encoder = family(**featuriser.fit(TEXTS).shape, **settings)
    return Scorer(featuriser, encoder.eval(), Decision(0.5, 2.0, -1.0))


@pytest.fixture(scope="session")
def originals(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    about = {"data": {"name": "toy", "train": "0" * 64}, "epochs": 1, "parameters": 4}
    return {
        name: save_model(folder / name, trained(*parts), settings=parts[2], **about) for name, parts in PARTS.items()
    }


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
