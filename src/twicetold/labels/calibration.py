"""Threshold and calibration of a trained model, fitted again on one's own labelled pairs; the encoder stays as it is.

Pairs may have weights: pairs that `sampling` drew stand for 1 / probability candidates each, and the decision is then
the best one for all candidates (`weighted`). On the pairs that it was chosen on, a decision looks better than it is. So
what it is worth is measured by decisions that are fitted in the same way, to four fifths of the pairs, on the others.

Shape letters: P pairs.
"""

import hashlib
import shutil
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold import layout
from twicetold.dedupe.options import DEFAULTS
from twicetold.dedupe.thresholds import Thresholds
from twicetold.evaluation.decision import Decision, decide_weighted, effective_size
from twicetold.evaluation.guarantee import IntervalEstimate
from twicetold.evaluation.inputs import finite
from twicetold.evaluation.intervals import exact_interval
from twicetold.evaluation.pair_metrics import log_losses
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.files import require_free, write_folder, write_json
from twicetold.labels.labelling import Labelling, draw_file, features_file, labels_of, read_labelling
from twicetold.labels.matched_links import FOLDS, Curve, MatchedCandidates, curve_links, matched_links
from twicetold.labels.review import BY, SAME
from twicetold.labels.sampling import NEIGHBOURS, Ints
from twicetold.matching.matcher import Matcher
from twicetold.tables.bad_rows import BadRows
from twicetold.tables.blocks import Block
from twicetold.tables.columns import MISSING, strings_of
from twicetold.tables.files import choose_pair, open_rows
from twicetold.trained.folder_files import require_model_files
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.threshold_record import MatchedLinks
from twicetold.trained.vectors_identity import fingerprint

LEAST_PAIRS, LEAST_OF_EACH = 20, 5
NUMBER, PROBABILITY, BAND = "pair", "inclusion_probability", "band"  # columns that `label` writes


@dataclass(frozen=True)
class CalibrationPairs:
    """Pairs of texts with labels.

    Args:
        left: P texts.
        right: P texts.
        label: (P,) whether they are duplicates.
        weight: (P,) how many pairs each stands for; all 1 if they were not drawn by `label`.
        draw: that they belong to; None if they were not drawn by `label`, or its record is not beside them.
        numbers: (P,) of each pair in the draw, from 0; -1 if they were not drawn.
        bad: rows of their file that were left out.
    """

    left: list[str]
    right: list[str]
    label: NDArray[np.bool_]
    weight: Floats
    draw: Labelling | None = None
    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    bad: BadRows = field(default_factory=BadRows)

    @property
    def weighted(self) -> bool:
        """True if the weights differ."""
        return bool((self.weight != self.weight[0]).any())

    @property
    def share(self) -> float:
        """Share that says the same, by the weights."""
        return float(np.average(self.label, weights=self.weight))

    @property
    def effective(self) -> float:
        """Effective sample size, see `effective_size`."""
        return effective_size(self.weight)


@dataclass(frozen=True)
class Quality:
    """Quality of the verdicts and probabilities of a decision, on all pairs that the labelled ones stand for.

    Args:
        accuracy: share of the verdicts that are right.
        precision: the same of those that say duplicate.
        recall: the same of those about duplicates.
        log_loss: of the probabilities.
    """

    accuracy: IntervalEstimate
    precision: IntervalEstimate
    recall: IntervalEstimate
    log_loss: float

    @classmethod
    def of(cls, called: NDArray[np.bool_], probability: Floats, pairs: CalibrationPairs) -> "Quality":
        """Measure (P,) verdicts and probabilities on labelled pairs."""
        label, weight = pairs.label, pairs.weight
        return cls(
            accuracy=_share(called == label, np.ones(len(label), bool), weight),
            precision=_share(label, called, weight),
            recall=_share(called, label, weight),
            log_loss=float(np.average(log_losses(probability, label), weights=weight)),
        )


@dataclass(frozen=True)
class Calibration:
    """A new decision, and what the stored and the new one are worth.

    Args:
        before: the stored decision.
        after: the decision that was fitted to the pairs.
        stored: quality of `before`.
        fitted: quality of decisions that are fitted as `after` is, on other pairs than those.
        error: standard error of the difference of their log losses.
        links: thresholds for a dedupe; None if the pairs were not drawn with this model, and so do not say what share
            of a file's links is right, or a higher score is not more alike.
        matched: links by the matcher, which dedupe makes in place of those by similarity; None if it drew no pairs.
    """

    before: Decision
    after: Decision
    stored: Quality
    fitted: Quality
    error: float
    links: LabelledLinks | None = None
    matched: MatchedLinks | None = None

    @property
    def alike(self) -> bool:
        """True if a higher score is more alike by the labels; else verdicts and probabilities contradict each other."""
        return self.after.slope > 0

    @property
    def better(self) -> bool:
        """True if the log loss on pairs that the new decision was not fitted to is lower by its standard error."""
        return self.fitted.log_loss + self.error < self.stored.log_loss

    def to_json(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        matched = None if self.matched is None else self.matched.to_json()
        return {**asdict(replace(self, matched=None)), "matched": matched}


def read_pairs(
    file: Path,
    *,
    left: str | None = None,
    right: str | None = None,
    label: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    skip_bad: bool = False,
) -> CalibrationPairs:
    """Read labelled pairs, with their weights where `label` wrote them.

    Args:
        file: CSV, TSV, JSON lines or Parquet.
        left: column with one text; None: the usual names.
        right: column with the other.
        label: column with the answers (`tables.columns.answers_of`); pairs without one are left out, and those of
            `same` that a command gave (`ask --by`). None: `label`, or where there is none, `same`.
        format: of a file without a known suffix.
        delimiter: between fields; None: detected.
        skip_bad: leave rows out that are malformed or have an empty text; a wrong label is always an error.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is malformed; names the row.
    """
    with open_rows(file, format=format, delimiter=delimiter) as rows:
        columns = choose_pair(rows, left, right)
        label = label or next((name for name in ("label", "same") if name in rows.columns), "label")
        rows.require(label)
        drawn = {PROBABILITY, BAND} <= set(rows.columns)
        blocks = list(rows.blocks(columns, skip_bad=skip_bad))
    block = Block(pa.concat_tables([each.table for each in blocks]), np.concatenate([each.lines for each in blocks]))
    labels = labels_of(rows, block, label)
    if BY in rows.columns and label == SAME:
        labels = np.where(np.array(strings_of(block.table[BY])) == "", labels, MISSING)  # others measure nothing
    block, labels = block.where(labels != MISSING), labels[labels != MISSING]
    probability = _numbers(block, PROBABILITY, file) if drawn else np.ones(len(block))
    bad = np.flatnonzero(~((probability > 0) & (probability <= 1)))
    if len(bad):
        raise ValueError(
            f"{file}, line {block.lines[bad[0]]}, column {PROBABILITY!r}: expected a number above 0 and at most 1, got "
            f"{probability[bad[0]]:g}"
        )
    number = _numbers(block, NUMBER, file) if drawn and NUMBER in rows.columns else np.zeros(len(block))
    return CalibrationPairs(
        block.texts(columns[0]),
        block.texts(columns[1]),
        labels == 1,
        1 / probability,
        draw=read_labelling(file) if drawn and draw_file(file).is_file() else None,
        numbers=number.astype(np.int64) - 1,
        bad=rows.bad,
    )


def calibrate(model: LoadedModel, pairs: CalibrationPairs) -> Calibration:
    """Fit threshold and calibration about `Model.about` on labelled pairs.

    Args:
        model: any family.
        pairs: at least 20, and at least 5 of each label.

    Raises:
        ValueError: if there are too few pairs, or a score is not finite.
    """
    require_enough(pairs)
    score = finite(model.similarity(pairs.left, pairs.right), "scores")
    before, draw = model.decisions.of().stored, pairs.draw
    after = decide_weighted(score, pairs.label, pairs.weight)
    stored, fitted = (before.duplicate(score), before.probability(score)), _on_other_folds(score, pairs)
    change = log_losses(stored[1], pairs.label) - log_losses(fitted[1], pairs.label)
    error = float(np.sqrt(np.cov(change, aweights=pairs.weight, ddof=0) / pairs.effective))
    found = Calibration(before, after, Quality.of(*stored, pairs), Quality.of(*fitted, pairs), error)
    if draw is None or draw.source["model"].split("-")[0] != fingerprint(model.folder) or not found.alike:
        return found
    curve = Curve.of(score, pairs.label, pairs.weight, scale=found.after)
    known = (score, pairs.weight), (score, pairs.label)
    _, links = curve_links(curve, *known, drawn=(draw.file, draw.texts, NEIGHBOURS))
    matched = None
    if draw.matched:
        among, rows = drawn_candidates(pairs)
        about: Any = {"file": draw.file, "texts": draw.texts, "matcher": _of_validation(model, among)}
        matched = matched_links(among, rows, pairs.label, pairs.weight, **about)
    return replace(found, links=links, matched=matched)


def _of_validation(model: LoadedModel, among: MatchedCandidates) -> Matcher | None:
    """Return the matcher that validation has moved, to start from; None without it, or for a file of another kind."""
    evidence = Thresholds.of(model, DEFAULTS, by_matcher=True)
    if evidence.matched is None or evidence.texts_alone or evidence.unlike(among.columns):
        return None
    return replace(evidence.matched.matcher, prior=evidence.matched.matcher.coefficients)


def require_enough(pairs: CalibrationPairs) -> None:
    """Check that there are enough labels of each kind.

    Raises:
        ValueError: if there are not.
    """
    positives, count = int(pairs.label.sum()), len(pairs.label)
    if count < LEAST_PAIRS or min(positives, count - positives) < LEAST_OF_EACH:
        raise ValueError(
            f"expected at least {LEAST_PAIRS} labelled pairs, and at least {LEAST_OF_EACH} of each label, to choose a "
            f"threshold and to measure it; got {count}, of which {positives} are duplicates. Label more pairs"
        )


def drawn_candidates(pairs: CalibrationPairs) -> tuple[MatchedCandidates, Ints]:
    """Return the candidates beside a draw, and (P,) positions of the labelled pairs among them.

    Raises:
        ValueError: if the pairs are not of the draw, or the file of candidates is damaged.
    """
    assert pairs.draw is not None
    candidates = MatchedCandidates.read(features_file(pairs.draw.out))
    if not len(pairs.numbers) or pairs.numbers.min() < 0 or pairs.numbers.max() >= len(candidates.drawn):
        raise ValueError(
            f"expected numbers of pairs of the draw, 1 to {len(candidates.drawn)}, in the column {NUMBER!r}: labels "
            "and draw do not belong together"
        )
    return candidates, candidates.drawn[pairs.numbers]


def _on_other_folds(score: Floats, pairs: CalibrationPairs) -> tuple[NDArray[np.bool_], Floats]:
    """Return (P,) verdicts and probabilities, each by a decision that is fitted to the pairs of the other folds."""
    fold, called, probability = np.empty(len(score), np.int64), pairs.label.copy(), np.empty(len(score))
    fold[np.argsort(pairs.label, kind="stable")] = np.arange(len(score)) % FOLDS  # each has some of either label
    for number in range(FOLDS):
        here = fold == number
        decision = decide_weighted(score[~here], pairs.label[~here], pairs.weight[~here])
        called[here], probability[here] = decision.duplicate(score[here]), decision.probability(score[here])
    return called, probability


def _share(right: NDArray[np.bool_], among: NDArray[np.bool_], weight: Floats) -> IntervalEstimate:
    """Return the share that is right among some pairs, with the interval of as many as their effective number."""
    if not among.any():
        return IntervalEstimate(0.0, 0.0, 1.0)
    value, size = float(np.average(right[among], weights=weight[among])), effective_size(weight[among])
    return IntervalEstimate(value, *exact_interval(value * size, (1 - value) * size))


def save_calibrated(
    model: LoadedModel,
    new: Path,
    calibration: Calibration,
    pairs: CalibrationPairs,
    *,
    file: Path,
    force: bool = False,
) -> None:
    """Write a copy of the model's folder with the new decision and a record of how it was chosen.

    Thresholds over all pairs of validation texts stay, unless the pairs give others.

    Args:
        model: what was calibrated.
        new: the new folder, which appears only when it is whole.
        calibration: the result.
        pairs: that it was fitted on.
        file: where these came from.
        force: replace a model folder that is there.

    Raises:
        FileExistsError: if `new` is there, and `force` is not given or it is no model folder.
        ValueError: if `new` is the model itself, a part of it, or a folder around it.
    """
    require_free_of(model.folder, new, force=force)
    record = {
        "pairs": {
            "file": file.name,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "count": len(pairs.label),
            "duplicates": int(pairs.label.sum()),
            "weighted": pairs.weighted,
            "effective": pairs.effective,
            "same": pairs.share,
            "labelled": datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat(),
        },
        **calibration.to_json(),
        "about": model.about,
    }
    require_model_files(model.folder)  # again: what a link leads to would be copied
    with write_folder(new) as target:
        shutil.copytree(model.folder, target, dirs_exist_ok=True)
        write_json(target / layout.DECISION, model.decisions.changed(model.about, calibration.after).to_json())
        write_json(target / layout.CALIBRATION, record)
        if calibration.links is not None:  # they take the place of those of validation texts
            (target / layout.PRECISION).unlink(missing_ok=True)


def require_free_of(model: Path, new: Path, *, force: bool) -> None:
    """Check that a folder may be written, before anything is computed. Errors: `save_calibrated`."""
    replaces = layout.RECIPE if force else None
    require_free(new, apart_from=model, replaces=replaces, otherwise="replace it with --force")


def _numbers(block: Block, column: str, file: Path) -> Floats:
    """Return (R,) a column of numbers.

    Raises:
        ValueError: if a value is none; names the file and the line.
    """
    values = []
    for line, value in zip(block.lines.tolist(), pc.cast(block.table[column], pa.string()).to_pylist(), strict=True):
        try:
            values.append(float(value))
        except (TypeError, ValueError):
            raise ValueError(f"{file}, line {line}, column {column!r}: expected a number, got {value!r}") from None
    return np.array(values)
