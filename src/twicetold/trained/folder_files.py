"""Files of a model folder that may come from anywhere: what they may be, and one message for what they are not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any

from twicetold import layout
from twicetold.errors import damaged
from twicetold.evaluation.stored import json_object
from twicetold.files import require_regular
from twicetold.packages import PackageMissing
from twicetold.pretrained import ModelUnavailable

STATE_LIMIT = 1 << 27  # bytes of a featuriser's state, such as ten million words
JSON_LIMIT = 1 << 22  # bytes of any other JSON file


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


def read_recipe(folder: Path) -> dict[str, Any]:
    """Return the settings of the parts of the model in `folder`, whose entries are checked before this file is opened.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the file holds something else, or there is a link, a pipe or a device in the folder.
    """
    if not (folder / layout.RECIPE).is_file():
        todo = "train it first" if folder.is_dir() else "there is no such folder: check the name, or train it first"
        raise FileNotFoundError(f"no trained model in {folder}: expected {layout.RECIPE} there; {todo}")
    with refusing(folder):
        require_model_files(folder)
        return read_object(folder / layout.RECIPE)


def recipes(folder: Path) -> list[dict[str, Any]]:
    """Return the recipes of a model and of its members. Errors: `read_recipe`."""
    read_recipe(folder)
    with refusing(folder):
        return [read_object(file) for file in sorted(folder.rglob(layout.RECIPE))]


def require_model_files(folder: Path, *, what: str = "a model folder") -> None:
    """Check that nothing in a folder leads out of it or never ends, before anything in it is opened.

    Raises:
        ValueError: if there is a link, a pipe or a device, or a JSON file of more than `STATE_LIMIT` bytes.
    """
    require_regular(folder, what=what, json_limit=STATE_LIMIT)


def field_of(values: Mapping[str, Any], name: str, kind: type | UnionType, file: str = layout.RECIPE) -> Any:
    """Return a value of a JSON object, which must be of this type; messages name the file, unless it is empty."""
    if not isinstance(found := values.get(name), kind):
        place, wanted = f" in {file}" if file else "", getattr(kind, "__name__", str(kind))
        raise ValueError(f"expected {name!r}{place} to be of type {wanted}, got {found!r:.80}")
    return found


def read_object(file: Path, *, limit: int = JSON_LIMIT) -> dict[str, Any]:
    """Return the JSON object in a file of at most so many bytes."""
    if (size := file.stat().st_size) > limit:
        raise ValueError(f"expected at most {limit:,} bytes in {file.name}, got {size:,}")
    return json_object(file, file.name)


@contextmanager
def refusing(folder: Path, *, what: str = "load the model", again: str = "train the model") -> Iterator[None]:
    """End with one message that names the folder, whatever a file from elsewhere brings about.

    Args:
        folder: from elsewhere.
        what: could not be done.
        again: what makes such a folder.
    """
    try:
        yield
    except (ModelUnavailable, PackageMissing, KeyboardInterrupt, SystemExit):  # the first says what to install
        raise
    except BaseException as error:  # a panic of the tokenizers library is no Exception
        raise damaged(folder, error, what=what, again=again) from error
