"""Where a trained model is: in its run's folder, in a folder of its own, or in MLflow's registry."""

from pathlib import Path

from twicetold import layout


def folder_of(model: str | Path) -> Path:
    """The model folder of what `twicetold.load` takes, downloaded if it is an address.

    Raises:
        FileNotFoundError: if there is no store.
        ValueError: if the registry has no such model.
    """
    if str(model).startswith(layout.REGISTRY):
        from twicetold.tracking.registry import fetch

        return fetch(str(model), root=Path.cwd())
    return model_folder(Path(model))


def model_folder(place: Path) -> Path:
    """The model folder of a run, or the folder itself."""
    inner = place / layout.MODEL
    return inner if not (place / layout.RECIPE).is_file() and (inner / layout.RECIPE).is_file() else place
