"""The folder of a trained model: of its run, or of its own."""

import re
from pathlib import Path

from twicetold import layout

CELL = re.compile(r"(\w+)-(\w+)-(\d+)")  # the name of a run folder: data, model, seed


def folder_of(model: str | Path) -> Path:
    """The model folder of what `twicetold.load` takes.

    Raises:
        FileNotFoundError: if there is no trained model.
    """
    require_model(model)
    return model_folder(Path(model))


def model_folder(place: Path) -> Path:
    """The model folder of a run, or the folder itself."""
    inner = place / layout.MODEL
    return inner if not (place / layout.RECIPE).is_file() and (inner / layout.RECIPE).is_file() else place


def require_model(model: str | Path) -> None:
    """Check that there is a trained model.

    Raises:
        FileNotFoundError: if there is none; names the command that makes it, where that can be told.
    """
    place = Path(model)
    if (model_folder(place) / layout.RECIPE).is_file():
        return
    raise FileNotFoundError(f"no trained model in {model}: expected {layout.RECIPE} there; {_what_to_do(place)}")


def _what_to_do(place: Path) -> str:
    """Advice on making the model of a folder that has none, by its files and its name."""
    found = CELL.fullmatch(place.name)
    if "demo" in place.parts and found is not None:
        return "make demo trains it"
    if (place / layout.METRICS).is_file():
        if found is None:
            return "the folder has the metrics of the run alone: train it first"
        stages = f"dvc repro evaluate@{place.name} makes it (of an ensemble, dvc repro ensemble@{place.name})"
        return f"the folder has the metrics of the run alone: {stages}"
    if not place.is_dir():
        first = "there is no such folder: check the name, or train it first"
        if found is None:
            return first
        data, family, seed = found.groups()
        return f"{first}, with python pipelines/train.py data={data} model={family} seed={seed} hydra.run.dir={place}"
    return "train it first"
