"""What the thresholds and probabilities of a model rest on, in words."""

from pathlib import Path

from twicetold import layout
from twicetold.evaluation.stored import json_object
from twicetold.trained.model_folder import CALIBRATION, Calibrated, read_calibrated, read_recipe, read_thresholds


def calibrated_about(folder: Path) -> str | None:
    """The label whose decision `twicetold calibrate` fitted again; None if none, or by a version that did not say it.

    Raises:
        ValueError: if the folder is damaged.
    """
    if read_calibrated(folder) is None:
        return None
    found = json_object(folder / CALIBRATION, CALIBRATION).get("about")
    return found if isinstance(found, str) else None


def calibration_of(folder: Path, about: str | None) -> Calibrated | None:
    """On what the decision about a label was fitted again; None if it was not, though another one may have been.

    Args:
        folder: of the model.
        about: the label; None: whichever it was.

    Raises:
        ValueError: if the folder is damaged.
    """
    found = read_calibrated(folder)
    return found if about is None or calibrated_about(folder) in (None, about) else None


def of_pairs(folder: Path, about: str | None = None) -> str:
    """What the threshold and the probabilities of pairs rest on.

    Args:
        folder: of the model.
        about: the label of the verdicts; None: the one that was calibrated, if one was.

    Raises:
        ValueError: if the folder is damaged.
    """
    calibrated = calibration_of(folder, about)
    return f"the validation split of {_data(folder)}" if calibrated is None else _labels(calibrated)


def of_links(folder: Path, about: str | None = None) -> str:
    """What the threshold and the probabilities of links among all texts of a file rest on. Arguments: `of_pairs`.

    Raises:
        ValueError: if the folder is damaged.
    """
    measured, calibrated = read_thresholds(folder), calibration_of(folder, about)
    if measured is None:
        return f"{'labelled pairs of ' if calibrated is None else ''}{of_pairs(folder, about)}"
    said = f"all pairs of the {measured.texts:,} validation texts of {_data(folder)}"
    if calibrated is not None:
        said += f", not on {_labels(calibrated)}, which say nothing about all pairs of a file"
    return said


def _labels(calibrated: Calibrated) -> str:
    """Names from elsewhere are shown as Python would write them, without control characters."""
    links = calibrated.links
    if links is None:
        return f"the {calibrated.labelled:,} labelled pairs of {calibrated.file!r}"
    return (
        f"{links.labelled:,} labelled pairs, drawn from the {links.pairs:,} pairs of nearest texts among the "
        f"{links.texts:,} of {links.file!r}"
    )


def _data(folder: Path) -> str:
    if not (folder / layout.RECIPE).is_file():  # a model that was made in this process
        return "its data"
    data = read_recipe(folder).get("data")
    name = data.get("name") if isinstance(data, dict) else None
    return repr(name) if isinstance(name, str) else f"its data, which {layout.RECIPE} does not name"
