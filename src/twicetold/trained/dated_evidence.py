"""What the thresholds and probabilities of a model rest on, in words, with the day of one's own labels.

`twicetold.trained.evidence` says what it is; `twicetold calibrate` records in the folder from which day its labels are,
and what the decision is worth by them.
"""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from twicetold.evaluation.inputs import is_number
from twicetold.trained import evidence
from twicetold.trained.model_folder import CALIBRATION

DAY = "labelled"
"""Of the record's `pairs`: the day on which the file of labels was last changed."""
SAME = "same"
"""Of the record's `pairs`: the share that says the same, with the weights of the draw."""


def of_pairs(folder: Path, about: str | None = None) -> str:
    """What the threshold and the probabilities of pairs rest on.

    Args:
        folder: of the model.
        about: the label of the verdicts; None: the one that was calibrated, if one was.

    Raises:
        ValueError: if the folder is damaged.
    """
    return _with_day(evidence.of_pairs(folder, about), folder, about)


def of_links(folder: Path, about: str | None = None) -> str:
    """What the threshold and the probabilities of links in a file rest on. Arguments and errors: `of_pairs`."""
    return _with_day(evidence.of_links(folder, about), folder, about)


def labelled_on(folder: Path) -> str | None:
    """The day of the labels that the decision in a model folder was fitted to, as 2026-01-31; None if it is not known.

    Raises:
        ValueError: if the folder is damaged.
    """
    day = _object(_record(folder), "pairs").get(DAY)
    if day is None:  # no labels, or of an earlier version
        return None
    try:
        return date.fromisoformat(day).isoformat()
    except (TypeError, ValueError):
        raise ValueError(
            f"expected a day such as 2026-01-31 as {DAY!r} in {CALIBRATION} of {folder}, got {day!r:.40}: calibrate "
            "the model again"
        ) from None


def no_better_than_one_answer(folder: Path, about: str | None = None) -> str | None:
    """A warning where, by the labels that it was calibrated on, a model is right less often than one fixed answer.

    Args:
        folder: of the model.
        about: the label of the verdicts; None: the one that was calibrated, if one was.

    Returns:
        None if it is right more often, or was not calibrated about this label, or by an earlier version that did not
        record it.
    """
    record = _record(folder)
    if about is not None and record.get("about", about) != about:
        return None
    right = _object(_object(record, "fitted"), "accuracy").get("value")
    same = _object(record, "pairs").get(SAME)
    if not (is_number(right) and is_number(same)):
        return None
    return one_answer(float(right), float(same), "the threshold")


def one_answer(right: float, same: float, what: str) -> str | None:
    """That always giving one answer is right more often than a threshold; None if it is not.

    Args:
        right: share of pairs about which the threshold is right.
        same: share of pairs that say the same.
        what: whose accuracy it is.
    """
    answer, always = ("yes", same) if same > 0.5 else ("no", 1 - same)
    if right >= always:
        return None
    return (
        f"by the labels, always answering {answer} is right for {always:.1%} of the pairs, and {what} for {right:.1%}: "
        "its verdicts are worth nothing as answers, at most as an order"
    )


def _record(folder: Path) -> Mapping[str, Any]:
    """What `calibrate` recorded; empty if the model was not calibrated."""
    if not (folder / CALIBRATION).is_file():
        return {}
    record = json.loads((folder / CALIBRATION).read_text(encoding="utf-8"))
    return record if isinstance(record, Mapping) else {}


def _object(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = values.get(name)
    return found if isinstance(found, Mapping) else {}


def _with_day(said: str, folder: Path, about: str | None) -> str:
    """A sentence that `evidence` has made, so the folder is known to be sound."""
    day = None if evidence.calibration_of(folder, about) is None else labelled_on(folder)
    return said if day is None else f"{said}; labels of {day}"
