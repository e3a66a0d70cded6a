"""The folder of a trained model: of its run, or of its own."""

from pathlib import Path

from twicetold import layout


def folder_of(model: str | Path) -> Path:
    """Return the model folder of what `twicetold.load` takes: the folder itself, or that in the folder of a run.

    Raises:
        FileNotFoundError: if there is no trained model; says what to do.
    """
    place = Path(model)
    for folder in (place, place / layout.MODEL):
        if (folder / layout.RECIPE).is_file():
            return folder
    way = "train it first"
    if (place / layout.METRICS).is_file():
        stages = f"dvc repro evaluate@{place.name} makes it (of an ensemble, dvc repro ensemble@{place.name})"
        way = f"the folder has the metrics of the run alone: {stages}"
    elif not place.is_dir():
        way = "there is no such folder: check the name, or train it first"
    raise FileNotFoundError(f"no trained model in {model}: expected {layout.RECIPE} there; {way}")
