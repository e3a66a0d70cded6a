"""Checks that a folder's model is the one that a config asks for, trained on what a corpus has as train now."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twicetold.trained.folder_files import read_recipe
from twicetold.trained.model_folder import trained_on
from twicetold_lab.data.corpus import Corpus


def require_trained_on(folder: Path, corpus: Corpus) -> None:
    """Check that the model was trained on the train split that the corpus has now, so that test is new to it.

    Raises:
        ValueError: if it was not.
    """
    data = trained_on(folder)
    if data["train"] != corpus.train_digest():
        raise ValueError(
            f"{folder} was trained on other train texts ({data['name']}) than {corpus.name} has now, so what is test "
            "here may have been train there: prepare the data as they were, or train again"
        )


def other_parts(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """Return names of the parts of the model in `folder` whose settings differ from `config`.

    Args:
        folder: the model folder.
        config: resolved; of an ensemble, `members` are families or run folders.
    """
    recipe = read_recipe(folder)
    if "members" in config:
        wanted = {"members": names_of(config["members"]), "stacking": config["stacking"]}
        found = {"members": recipe.get("members"), "stacking": recipe.get("stacking", "mean")}
        return [part for part in wanted if wanted[part] != found[part]]
    return [part for part in ("features", "encoder") if recipe.get(part) != config[part]]


def names_of(members: Sequence[str]) -> list[str]:
    """Return names of an ensemble's members, which are families or run folders."""
    return [Path(member).name for member in members]
