"""The thresholds of a model folder, what they were chosen on, and what labels let expect of them: one reader.

- `decision.json` has threshold and calibration for each label, chosen on pairs of validation;
- `precision.json` has thresholds for a dedupe, chosen over all pairs of validation texts; not of every model;
- `matcher.json` has a matcher of pairs that validation has moved, with thresholds; of models of labelled pairs;
- `calibration.json` says on which labels `twicetold calibrate` fitted a decision again. The precision on the labels
  that a threshold was chosen on flatters; what is recorded is corrected for the choice, with a 95 % interval, among the
  pairs that could be drawn (`twicetold.labels.matched_links`).

`evidence` says in sentences what they rest on.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import is_number
from twicetold.evaluation.labels import DUPLICATE, Decisions
from twicetold.evaluation.stored import json_object, record
from twicetold.evaluation.thresholds import DedupeThresholds, LabelledLinks
from twicetold.files import write_json
from twicetold.matching.matcher import LEAST_SCALE, SCORE, Matcher
from twicetold.trained.folder_files import field_of, read_object, read_recipe, refusing, require_model_files
from twicetold.trained.vectors_identity import VectorProbes

T = TypeVar("T")
UNNAMED = "unknown"  # label of a decision of documents that does not say which one it is about


@dataclass(frozen=True)
class CalibrationRecord:
    """On which labels `twicetold calibrate` fitted a decision again, and what it is worth by them.

    Args:
        file: name of the file of labelled pairs.
        labelled: how many there were.
        about: the label of the decision; None, as all below, if an earlier version did not record it.
        day: on which the file of labels was last changed, as 2026-01-31.
        same: share of the pairs that says the same, with the weights of the draw.
        accuracy: of the decision, on other pairs of the kind.
        links: thresholds for a dedupe, if the pairs were drawn from a file of texts.
        matched: links by a matcher that the labels have moved, if it drew the pairs.
    """

    file: str
    labelled: int
    about: str | None = None
    day: str | None = None
    same: float | None = None
    accuracy: float | None = None
    links: LabelledLinks | None = None
    matched: "MatchedLinks | None" = None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read the record that `labels.calibration.save_calibrated` wrote.

        Raises:
            ValueError: if something is of another type.
        """
        pairs = field_of(content, "pairs", dict, file="")
        accuracy = (content.get("fitted") or {}).get("accuracy") or {}
        matched = field_of(content, "matched", dict | None, file="")
        return cls(
            file=field_of(pairs, "file", str, file=""),
            labelled=field_of(pairs, "count", int, file=""),
            about=field_of(content, "about", str | None, file=""),
            day=_day(pairs.get("labelled")),
            same=_number(pairs, "same"),
            accuracy=_number(accuracy, "value"),
            links=None if content.get("links") is None else _links(content),
            matched=None if matched is None else MatchedLinks.from_json(matched),
        )

    def is_about(self, label: str | None) -> bool:
        """Return true if the decision about a label (None: any) was fitted again, as far as is recorded."""
        return label is None or self.about in (None, label)


@dataclass(frozen=True)
class MatchedLinks:
    """Links by a matcher that labels have moved.

    Args:
        matcher: with its coefficients.
        decision: the threshold with the highest F1 that is expected, and the calibration of its log odds.
        links: thresholds for a dedupe, with the precision to expect from each.
        usual: mean and standard deviation of each feature among the pairs of validation; empty of other labels.
    """

    matcher: Matcher
    decision: Decision
    links: LabelledLinks
    usual: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def by_model(self) -> bool:
        """True if the score of a trained model is one of the features."""
        return SCORE in self.matcher.names

    def shift(self, columns: Mapping[str, NDArray[np.float32]]) -> float:
        """Return how far the means of (P,) features are from the usual ones, in standard deviations, on average."""
        known = {name: (columns[name], *usual) for name, usual in self.usual.items() if len(columns[name])}
        shifts = [
            abs(float(column.mean()) - mean) / max(spread, LEAST_SCALE) for column, mean, spread in known.values()
        ]
        return float(np.mean(shifts)) if shifts else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        parts = {"decision": asdict(self.decision), "links": asdict(self.links), "usual": dict(self.usual)}
        return {"matcher": self.matcher.to_json(), **parts}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Invert `to_json`.

        Raises:
            ValueError: if something is of another type.
        """
        matcher, decision = (field_of(stored, name, dict, file="") for name in ("matcher", "decision"))
        usual, moved = _usual(stored.get("usual") or {}), Matcher.from_json(matcher)
        return cls(moved, record(Decision, decision, "'decision'"), _links(stored), usual)


@dataclass(frozen=True)
class ThresholdRecord:
    """All that a model folder says of its thresholds.

    Args:
        data: name of the dataset of the training; None if the recipe does not name it.
        decisions: by label; None if the folder has none, such as that of a model that was made in this process.
        dedupe: thresholds over all pairs of validation texts; None if there are none.
        calibration: on which labels a decision was fitted again; None if none was.
        validation: the labels of validation, with a matcher that they have moved; None if there is none.
        saved: whether the folder holds a model.
        probes: of the vectors that a decision file is about; None if an earlier version did not record them.
    """

    data: str | None
    decisions: Decisions | None
    dedupe: DedupeThresholds | None
    calibration: CalibrationRecord | None
    validation: CalibrationRecord | None = None
    saved: bool = True
    probes: VectorProbes | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the record of a model folder.

        Raises:
            ValueError: if a file holds something else.
        """
        saved = (folder / layout.RECIPE).is_file()
        data = read_recipe(folder).get("data") if saved else None
        name = data.get("name") if isinstance(data, dict) else None
        return cls(
            data=name if isinstance(name, str) else None,
            decisions=read_decisions(folder) if saved and (folder / layout.DECISION).is_file() else None,
            dedupe=read_thresholds(folder),
            calibration=_read(folder, layout.CALIBRATION, CalibrationRecord.from_json, again="calibrate the model"),
            validation=_read(folder, layout.MATCHER, CalibrationRecord.from_json),
            saved=saved,
        )

    @property
    def labels(self) -> CalibrationRecord | None:
        """The labels of a person that say something of the links of a file, or else those of validation."""
        return self.calibration if self.calibration and self.calibration.links else self.validation

    def calibrated(self, label: str | None) -> CalibrationRecord | None:
        """Return the labels that the decision was fitted on again; None if it was not, though another may have been."""
        found = self.calibration
        return found if found is not None and found.is_about(label) else None


def read_decisions(folder: Path) -> Decisions:
    """Return thresholds and calibrations that were stored with the model, by label.

    A model of labelled pairs has one decision, about `duplicate`: three numbers. That of a fitted member of an
    ensemble is about nothing, as is that of a model of documents of an early version, which `LoadedModel` refuses.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the file holds something else, or a number is not finite.
    """
    recipe, values = read_recipe(folder), read_object(folder / layout.DECISION)
    if "labels" in values:
        try:
            return Decisions.from_json(values)
        except ValueError as error:
            raise ValueError(f"{layout.DECISION}: {error}") from error
    decision = record(Decision, values, layout.DECISION)
    return Decisions.about(UNNAMED if recipe.get("as_documents") is True else DUPLICATE, decision)


def read_vector_decision(file: Path) -> ThresholdRecord:
    """Return the record in a file of `labels.decision_file`, of vectors that have no model folder.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it holds something else; the message names it.
    """
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    try:
        content = json_object(file, "the file")
        stored = field_of(content, "calibration", dict, file="")
        decision = record(Decision, field_of(stored, "decision", dict, file=""), "'decision'")
        calibration = CalibrationRecord.from_json(stored)
        probes = None if content.get("vectors") is None else record(VectorProbes, content["vectors"], "'vectors'")
    except (ValueError, AttributeError) as error:
        raise ValueError(
            f"{file}: expected what twicetold calibrate writes for vectors: {error}. Calibrate again: twicetold "
            f"calibrate PAIRS -o {file}"
        ) from error
    label = calibration.about or UNNAMED
    return ThresholdRecord(None, Decisions.about(label, decision), None, calibration, saved=False, probes=probes)


def read_thresholds(folder: Path) -> DedupeThresholds | None:
    """Return thresholds for a dedupe that were stored with the model; None if it has none.

    Raises:
        ValueError: if the file holds something else.
    """
    return _read(folder, layout.PRECISION, DedupeThresholds.from_json)


def write_decisions(
    folder: Path, decisions: Decisions, thresholds: DedupeThresholds | None, matched: Mapping[str, Any] | None = None
) -> None:
    """Write what was decided about a model into its folder.

    Args:
        folder: that has all else.
        decisions: by label.
        thresholds: for a dedupe, if there are any.
        matched: the matcher that validation has moved, and its labels, if there is one.
    """
    write_json(folder / layout.DECISION, decisions.to_json())
    if thresholds is not None:
        write_json(folder / layout.PRECISION, thresholds.to_json())
    if matched is not None:
        write_json(folder / layout.MATCHER, matched)


def _read(
    folder: Path, name: str, reader: Callable[[dict[str, Any]], T], *, again: str = "train the model"
) -> T | None:
    """Read a file of a model folder; None if there is no such file."""
    with refusing(folder, again=again):
        require_model_files(folder)
        if not (folder / name).is_file():
            return None
        content = read_object(folder / name)
        try:
            return reader(content)
        except (ValueError, AttributeError) as error:
            raise ValueError(f"{name}: {error}") from error


def _links(values: Mapping[str, Any]) -> LabelledLinks:
    links = field_of(values, "links", dict, file="")
    beside = values.get("promised") or []  # where an earlier version has it
    return record(LabelledLinks, {"promised": beside, **links}, "'links'")


def _usual(values: Any) -> dict[str, tuple[float, float]]:
    if not isinstance(values, dict) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)) for pair in values.values()
    ):
        raise ValueError(f"expected two finite numbers for each feature in 'usual', got {values!r:.80}")
    return {name: (float(mean), float(spread)) for name, (mean, spread) in values.items()}


def _number(values: Mapping[str, Any], name: str) -> float | None:
    if (value := values.get(name)) is not None and not is_number(value):
        raise ValueError(f"expected a finite number as {name!r}, got {value!r:.80}")
    return value


def _day(day: Any) -> str | None:
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except (TypeError, ValueError):
        raise ValueError(f"expected a day such as 2026-01-31 as 'labelled', got {day!r:.40}") from None
