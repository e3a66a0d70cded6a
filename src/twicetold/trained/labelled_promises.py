"""What labels let expect of links: `twicetold calibrate` records it for each threshold that it chose.

The precision on the labels that a threshold was chosen on flatters; what is recorded is corrected for the choice, with
a 95 % interval, among the pairs that could be drawn (`twicetold.labels.promises`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twicetold.evaluation.dedupe import carried_over
from twicetold.evaluation.inputs import described, is_number
from twicetold.evaluation.stored import objects, record
from twicetold.trained.model_folder import CALIBRATION

PROMISED = "promised"
"""Of the record: a list with an object for each threshold that was chosen."""


@dataclass(frozen=True)
class ExpectedPrecision:
    """A precision that is to be expected, with its 95 % interval."""

    value: float
    low: float
    high: float

    def carried_over(self, *, measured_on: int, texts: int) -> "ExpectedPrecision":
        """The same in a file of another size, see `evaluation.dedupe.carried_over`."""
        return ExpectedPrecision(
            *(carried_over(each, measured_on=measured_on, texts=texts) for each in (self.value, self.low, self.high))
        )


def read_expected(folder: Path) -> dict[float | None, ExpectedPrecision]:
    """What a threshold was chosen for -> the precision of links from it on: a precision; None: the highest F1.

    Args:
        folder: of a model.

    Returns:
        Empty if the model was not calibrated on pairs that were drawn from a file, or by an earlier version.

    Raises:
        ValueError: if the record is damaged.
    """
    file = folder / CALIBRATION
    if not file.is_file():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping) or content.get(PROMISED) is None:
            return {}
        return dict(filter(None, map(_of, objects(content, PROMISED))))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}: calibrate the model again") from error


def _of(values: Mapping[str, Any]) -> tuple[float | None, ExpectedPrecision] | None:
    """One threshold; None if nothing is known of it."""
    aimed, precision = values.get("aimed"), values.get("precision")
    if precision is None:
        return None
    if not (aimed is None or is_number(aimed)) or not isinstance(precision, Mapping):
        raise ValueError(f"expected an aim and a precision in {PROMISED!r}, got {described(dict(values))}")
    found: ExpectedPrecision = record(ExpectedPrecision, precision, f"a precision in {PROMISED!r}")
    if not 0 <= found.low <= found.value <= found.high <= 1:
        raise ValueError(f"expected 0 <= low <= value <= high <= 1 in {PROMISED!r}, got {dict(precision)}")
    return aimed, found
