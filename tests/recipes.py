"""The recipes of `conf/model`: families, which have an encoder of their own, and settings of a family."""

from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[1] / "conf" / "model"


def family_of(recipe: str) -> str:
    """The family that a recipe names in its defaults, whose encoder it takes; itself if it names none."""
    defaults = yaml.safe_load((FOLDER / f"{recipe}.yaml").read_text())["defaults"]
    named = [entry for entry in defaults if isinstance(entry, str) and entry != "_self_"]
    (family,) = named or [recipe]
    return family


def targets(value):
    """The parts with a `_target_` in settings, at any depth."""
    if isinstance(value, dict):
        yield from [value] if isinstance(value.get("_target_"), str) else []
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from targets(item)


RECIPES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
FAMILIES = [recipe for recipe in RECIPES if family_of(recipe) == recipe]
NOT_IN_GRID = {"bge_small", "e5_small", "potion_base_32m", "potion_retrieval_32m", "static_similarity_mrl"}
"""Recipes by name: the mirror that the published grid was made with does not have their files."""
