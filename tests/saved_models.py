"""Folders of models, as a training writes them."""

from pathlib import Path

from twicetold.features.rows import Parameters
from twicetold.trained.fitted import UNTRAINED
from twicetold.trained.model_folder import save_scorer
from twicetold.trained.scoring import Scorer


def target_of(part) -> str:
    return f"{part.__module__}.{part.__name__}"


def recipe_of(part):
    """A featuriser, and the parts in it, as a recipe names them."""
    if isinstance(part, list):
        return [recipe_of(each) for each in part]
    if not isinstance(part, Parameters):
        return part
    settings = {name: recipe_of(value) for name, value in part.get_params(deep=False).items()}
    return {"_target_": target_of(type(part)), **settings}


def save_model(folder: Path, scorer: Scorer, *, settings, data, **training) -> Path:
    """Save a model whose encoder has these settings."""
    recipe = {"features": recipe_of(scorer.featuriser), "data": data}
    recipe["settings"] = {"_target_": target_of(type(scorer.encoder)), **settings}
    save_scorer(folder, scorer, **recipe, training=UNTRAINED | {"metric": "auroc", "best_value": 0.5} | training)
    return folder
