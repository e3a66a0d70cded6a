"""The folder of a trained model: of its run, of its own, or where the registry of the lab downloads it to.

The tool knows no registry: whichever package has one names a function in the entry points `REGISTRIES`.
"""

import re
from importlib.metadata import entry_points
from pathlib import Path

from twicetold import layout

REGISTRIES = "twicetold.registries"  # entry points: functions from an address to a model folder
CELL = re.compile(r"(\w+)-(\w+)-(\d+)")  # the name of a run folder: data, model, seed


def folder_of(model: str | Path) -> Path:
    """The model folder of what `twicetold.load` takes, downloaded if it is an address.

    Raises:
        FileNotFoundError: if there is no store, or no trained model.
        ValueError: if the registry has no such model.
    """
    if str(model).startswith(layout.REGISTRY):
        return _fetched(str(model))
    require_model(model)
    return model_folder(Path(model))


def _fetched(address: str) -> Path:
    for registry in entry_points(group=REGISTRIES):
        folder: Path = registry.load()(address, root=Path.cwd())
        return folder
    raise ValueError(f"expected a model folder, got {address}: no installed package has a registry of models")


def model_folder(place: Path) -> Path:
    """The model folder of a run, or the folder itself."""
    inner = place / layout.MODEL
    return inner if not (place / layout.RECIPE).is_file() and (inner / layout.RECIPE).is_file() else place


def require_model(model: str | Path) -> None:
    """Check that there is a trained model, unless it is in the registry.

    Raises:
        FileNotFoundError: if there is none; names the command that makes it, where that can be told.
    """
    place = Path(model)
    if str(model).startswith(layout.REGISTRY) or (model_folder(place) / layout.RECIPE).is_file():
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
