"""Threshold and calibration of a trained model, fitted again on one's own labelled pairs; the encoder stays as it is.

What is reported of the new decision is cross-fitted: the pairs are divided into folds, and those of a fold are decided
by the threshold and the calibration that the other folds give (Stone 1974, "Cross-validatory choice and assessment of
statistical predictions"). A threshold measured on the pairs that it was chosen on would look better than it is.

Pairs may have weights: pairs that `sampling` drew stand for 1 / probability candidates each, and the decision is then
the best one for all candidates. With equal weights the decision is that of `evaluation.decision`.

Shape letters: P pairs, K distinct scores, F folds, R resamples.
"""

import hashlib
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.decision import Aim, Decision
from twicetold.evaluation.inputs import binary, finite
from twicetold.evaluation.intervals import CHUNK
from twicetold.evaluation.labelled_links import LabelledLinks, thresholds
from twicetold.evaluation.pair_metrics import log_losses, squared_errors
from twicetold.evaluation.ranking import Floats
from twicetold.files import require_free, write_folder, write_json
from twicetold.labels.labelling import Labelling, draw_file, labels_of, read_labelling
from twicetold.labels.sampling import NEIGHBOURS, Ints
from twicetold.neighbours.grouping import row_dots
from twicetold.tables.blocks import Block
from twicetold.tables.files import choose_pair, open_rows
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.model_folder import CALIBRATION, require_model_files
from twicetold.trained.vectors import search_vectors
from twicetold.trained.vectors_identity import fingerprint

FOLDS = 5
LEAST_PAIRS, LEAST_OF_EACH = 20, 5
PROBABILITY, BAND = "inclusion_probability", "band"  # columns that `label` writes
METRICS = ("accuracy", "precision", "recall", "f1", "brier", "log_loss")

_Decided: TypeAlias = tuple[NDArray[np.bool_], Floats]
"""(P,) whether each pair is called a duplicate, and its probability."""


@dataclass(frozen=True)
class CalibrationPairs:
    """Pairs of texts with labels.

    Args:
        left: P texts.
        right: P texts.
        label: (P,) whether they say the same.
        weight: (P,) how many pairs each stands for; all 1 if they were not drawn by `label`.
        stratum: (P,) band from which each was drawn; all 0 if they were not.
        draw: that they belong to; None if they were not drawn by `label`, or its record is not beside them.
    """

    left: list[str]
    right: list[str]
    label: NDArray[np.bool_]
    weight: Floats
    stratum: Ints
    draw: Labelling | None = None

    @property
    def weighted(self) -> bool:
        """Whether the weights differ."""
        return bool((self.weight != self.weight[0]).any())


@dataclass(frozen=True)
class Number:
    """A metric with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """A new decision, and what the stored and the new one are worth on the pairs.

    Args:
        before: the stored decision.
        after: fitted on all pairs.
        stored: metric -> number, of `before`.
        fitted: metric -> number, of decisions that were cross-fitted.
        gained: metric -> number, `fitted` minus `stored` on the same resamples.
        links: thresholds for a dedupe; None if the pairs were not drawn with this model, and so do not say what share
            of a file's links is right.
        contradicted: whether the probabilities over all pairs of validation texts tell less about these pairs than
            their share of duplicates alone, see `_contradicted`; None without `links`, or without such probabilities.
        about: the label that both decisions are about; None: `Model.about`.
    """

    before: Decision
    after: Decision
    stored: dict[str, Number]
    fitted: dict[str, Number]
    gained: dict[str, Number]
    links: LabelledLinks | None = None
    contradicted: bool | None = None

    def better(self, aim: Aim) -> bool:
        """Whether the new decision is better than the stored one, as far as the cross-fitted numbers tell.

        It is if what was aimed at, the Brier score and the log loss all gain. It also is if the whole interval of the
        log loss gains, and not the whole interval of what was aimed at loses: probabilities can become right while the
        threshold was right before.
        """
        aimed, brier, loss = self.gained[aim], self.gained["brier"], self.gained["log_loss"]
        every = aimed.value > 0 and brier.value < 0 and loss.value < 0
        return every or (loss.high < 0 <= aimed.high)

    @property
    def better_links(self) -> bool:
        """Whether there are thresholds for a dedupe, and the pairs contradict those of validation texts, if any."""
        return self.links is not None and self.contradicted is not False

    about: str | None = None


def read_pairs(
    file: Path, *, left: str | None = None, right: str | None = None, label: str = "label", skip_bad: bool = False
) -> CalibrationPairs:
    """Read labelled pairs, with their weights where `label` wrote them.

    Args:
        file: CSV, TSV, JSON lines or Parquet.
        left: column with one text; None: the usual names.
        right: column with the other.
        label: column with 1 or 0, true or false.
        skip_bad: leave rows out that are malformed or have an empty text; a wrong label is always an error.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is malformed; names the row.
    """
    with open_rows(file) as rows:
        columns = choose_pair(rows, left, right)
        rows.require(label)
        drawn = {PROBABILITY, BAND} <= set(rows.columns)
        read = CalibrationPairs([], [], np.empty(0, bool), np.empty(0), np.empty(0, np.int64))
        for block in rows.blocks(columns, skip_bad=skip_bad):
            lines = block.lines.tolist()
            try:
                labels = labels_of(pc.cast(block.table[label], pa.string()).to_pylist(), lines, label)
                probability = _numbers(block, PROBABILITY) if drawn else np.ones(len(block))
                bad = np.flatnonzero(~((probability > 0) & (probability <= 1)))
                if len(bad):
                    raise ValueError(
                        f"line {lines[bad[0]]}, column {PROBABILITY!r}: expected a number above 0 and at most 1, got "
                        f"{probability[bad[0]]:g}"
                    )
                band = _numbers(block, BAND) if drawn else np.zeros(len(block))
            except ValueError as error:
                raise ValueError(f"{file}, {error}") from error
            read = CalibrationPairs(
                read.left + block.texts(columns[0]),
                read.right + block.texts(columns[1]),
                np.append(read.label, labels).astype(bool),
                np.append(read.weight, 1 / probability),
                np.append(read.stratum, band.astype(np.int64)),
            )
    return replace(read, draw=read_labelling(file)) if drawn and draw_file(file).is_file() else read


def calibrate(
    model: LoadedModel, pairs: CalibrationPairs, *, aim: Aim = "accuracy", seed: int = 0, about: str | None = None
) -> Calibration:
    """Fit threshold and calibration on labelled pairs.

    The intervals are of the Bayesian bootstrap (Rubin 1981, "The Bayesian bootstrap") within strata. Half a pair of
    either label is added to the pairs on which the decisions agree, or differ, in the same way, as in Jeffreys'
    interval of a share: without it, a precision of 1 would look certain, however few pairs it is measured on. The
    intervals do not contain that another sample would give another threshold.

    Args:
        model: any family.
        pairs: at least 20, and at least 5 of each label.
        aim: what the threshold is best for.
        seed: of folds and resamples.
        about: what pairs with label 1 share; None: the label of their draw if the model has it, else `Model.about`.

    Raises:
        ValueError: if there are too few pairs, or a score is not finite.
    """
    positives, count = int(pairs.label.sum()), len(pairs.label)
    if count < LEAST_PAIRS or min(positives, count - positives) < LEAST_OF_EACH:
        raise ValueError(
            f"expected at least {LEAST_PAIRS} labelled pairs, and at least {LEAST_OF_EACH} of each label, to choose a "
            f"threshold and to measure it; got {count}, of which {positives} say the same. Label more pairs"
        )
    score = finite(model.similarity(pairs.left, pairs.right), "scores")
    after = decide_weighted(score, pairs.label, pairs.weight, aim=aim)
    drawn = None if pairs.draw is None else pairs.draw.about
    label = about or (drawn if drawn in model.decisions.labels else None) or model.about
    before = model.decisions.of(label).stored
    numbers = _numbers_of(_decided(before, score), _cross_fitted(score, pairs, aim, seed=seed), pairs, seed=seed)
    links = _links(model, score, pairs) if label == model.about else None
    if links is None or (measured := model.thresholds) is None:
        return Calibration(before, after, *numbers, about=label, links=links)
    contradicted = _contradicted(measured.decision.probability(_dots(model, pairs)), pairs)
    return Calibration(before, after, *numbers, about=label, links=links, contradicted=contradicted)


def _cross_fitted(score: Floats, pairs: CalibrationPairs, aim: Aim, *, seed: int) -> _Decided:
    """Each fold decided by what the others give."""
    from sklearn.model_selection import StratifiedKFold

    said, probability = np.zeros(len(score), bool), np.zeros(len(score))
    for others, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(score, pairs.label):
        decision = decide_weighted(score[others], pairs.label[others], pairs.weight[others], aim=aim)
        said[fold], probability[fold] = _decided(decision, score[fold])
    return said, probability


def _decided(decision: Decision, score: Floats) -> _Decided:
    return decision.duplicate(score), decision.probability(score)


def _contradicted(probability: Floats, pairs: CalibrationPairs) -> bool:
    """Whether probabilities have both a higher Brier score and a higher log loss than the share of duplicates alone.

    A lower bar than to be as good as what is fitted to these pairs: that is better among the nearest pairs, which it is
    fitted to, also where thresholds over all pairs make better groups.
    """
    share = np.full(len(probability), np.average(pairs.label, weights=pairs.weight))
    losses = (squared_errors, log_losses)
    return all(
        np.average(loss(probability, pairs.label), weights=pairs.weight)
        > np.average(loss(share, pairs.label), weights=pairs.weight)
        for loss in losses
    )


def _dots(model: LoadedModel, pairs: CalibrationPairs) -> Floats:
    """(P,) dot products of search vectors, which thresholds over all pairs are about."""
    queries, documents = search_vectors(model.trained, [*pairs.left, *pairs.right])
    left, right = np.arange(2 * len(pairs.left)).reshape(2, -1)
    return row_dots(queries, left, documents, right)


def _links(model: LoadedModel, score: Floats, pairs: CalibrationPairs) -> LabelledLinks | None:
    """Thresholds for a dedupe, from pairs that were drawn from the nearest ones by this model."""
    draw = pairs.draw
    if draw is None or not draw.texts or draw.source["model"].split("-")[0] != fingerprint(model.folder):
        return None
    represented = round(float(pairs.weight.sum()))
    best = decide_weighted(score, pairs.label, pairs.weight, aim="f1").threshold
    links = thresholds(score, pairs.label, pairs.weight)
    return LabelledLinks(draw.file, draw.texts, NEIGHBOURS, represented, len(pairs.label), best, links)


def decide_weighted(scores: Floats, labels: NDArray[np.bool_], weights: Floats, *, aim: Aim = "accuracy") -> Decision:
    """The decision with the highest weighted accuracy or F1, and Platt's calibration with weights.

    Ties are broken as in `evaluation.decision.decide_counts`. Platt's smoothed targets count Kish's effective number of
    pairs, (Σ w)² / Σ w² (Kish 1965, "Survey Sampling").

    Args:
        scores: (P,)
        labels: (P,) both classes.
        weights: (P,) positive.
        aim: what the threshold is best for.

    Raises:
        ValueError: if a number is not finite, a weight is not positive, or only one class occurs.
    """
    truth, weight = binary(labels), finite(weights, "weights")
    if weight.min() <= 0:
        raise ValueError(f"expected positive weights, got {weight.min():g}")
    weight = weight * (weight.sum() / np.square(weight).sum())  # their sum is the effective number of pairs
    score, place = np.unique(finite(scores, "scores"), return_inverse=True)
    counts = [np.bincount(place, weight * of_class, minlength=len(score)) for of_class in (truth, ~truth)]
    positive, negative = (count.astype(np.float64) for count in counts)
    slope, intercept = _platt(score, positive, negative)
    return Decision(_threshold(score, positive, negative, aim), slope, intercept)


def _threshold(score: Floats, positive: Floats, negative: Floats, aim: Aim) -> float:
    """The middle of the widest gap between scores that is best, of equally wide ones the highest."""
    # Cut k calls everything from score k up a duplicate; cut K calls nothing one.
    true, false = (np.append(np.cumsum(weight[::-1])[::-1], 0.0) for weight in (positive, negative))
    value = true - false if aim == "accuracy" else 2 * true / (true + false + true[0])
    middle = (score[:-1] + score[1:]) / 2
    middle = np.where(middle > score[:-1], middle, score[1:])  # adjacent floats have no middle
    cut = np.concatenate([score[:1], middle, [np.nextafter(score[-1], np.inf)]])
    gap = np.concatenate([[0.0], np.diff(score), [0.0]])
    best = np.flatnonzero(value >= value.max() - 1e-9 * (true[0] + false[0]))  # sums of weights are rounded
    widest = best[gap[best] == gap[best].max()]
    return float(cut[widest[-1]])


def _platt(score: Floats, positive: Floats, negative: Floats) -> tuple[float, float]:
    """Slope and intercept of the log-odds: a logistic regression on Platt's smoothed targets.

    A score with the target t is a positive of weight t and a negative of weight 1 - t.
    """
    from sklearn.linear_model import LogisticRegression

    weight = positive + negative
    positives, negatives = positive.sum(), negative.sum()
    target = (positive * (positives + 1) / (positives + 2) + negative / (negatives + 2)) / weight
    mean = np.average(score, weights=weight)
    spread = np.sqrt(np.average((score - mean) ** 2, weights=weight))
    if not spread:
        share = np.average(target, weights=weight)
        return 0.0, float(np.log(share / (1 - share)))
    z = np.tile((score - mean) / spread, 2)[:, None]
    twice = np.concatenate([weight * target, weight * (1 - target)])
    labels = np.repeat([1, 0], len(score))
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-7, max_iter=1000).fit(z, labels, twice)
    slope = float(fit.coef_[0, 0] / spread)
    return slope, float(fit.intercept_[0] - slope * mean)


def save_calibrated(
    model: LoadedModel,
    new: Path,
    calibration: Calibration,
    pairs: CalibrationPairs,
    *,
    file: Path,
    aim: Aim,
    force: bool = False,
    anyway: bool = False,
) -> None:
    """Write a copy of the model's folder with the new decision and a record of how it was chosen.

    Thresholds over all pairs of validation texts stay, unless the pairs contradict them and give others.

    Args:
        model: what was calibrated.
        new: the new folder, which appears only when it is whole.
        calibration: the result.
        pairs: that it was fitted on.
        file: where these came from.
        aim: what the threshold is best for.
        force: replace a model folder that is there.
        anyway: take thresholds for a dedupe also if the pairs do not contradict those of validation texts.

    Raises:
        FileExistsError: if `new` is there, and `force` is not given or it is no model folder.
        ValueError: if `new` is the model itself, a part of it, or a folder around it.
    """
    require_free_of(model.folder, new, force=force)
    label = calibration.about or model.about
    if not (anyway or calibration.better_links):
        calibration = replace(calibration, links=None)
    record = {
        "pairs": {
            "file": file.name,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "count": len(pairs.label),
            "duplicates": int(pairs.label.sum()),
            "weighted": pairs.weighted,
        },
        "aim": aim,
        "folds": FOLDS,
        **asdict(calibration),
        "about": label,
    }
    require_model_files(model.folder)  # again: what a link leads to would be copied
    with write_folder(new) as target:
        shutil.copytree(model.folder, target, dirs_exist_ok=True)
        write_json(target / layout.DECISION, model.decisions.changed(label, calibration.after).to_json())
        write_json(target / CALIBRATION, record)
        if calibration.links is not None:  # they take the place of those of validation texts
            (target / layout.PRECISION).unlink(missing_ok=True)


def require_free_of(model: Path, new: Path, *, force: bool) -> None:
    """Check that a folder may be written, before anything is computed. Errors: `save_calibrated`."""
    replaces = layout.RECIPE if force else None
    require_free(new, apart_from=model, replaces=replaces, otherwise="replace it with --force")


def _terms(said: NDArray[np.bool_], probability: Floats, label: NDArray[np.bool_]) -> Floats:
    """(P, 6) what each pair adds to the sums of which metrics are made."""
    counts = [said & label, said & ~label, ~said & label, ~said & ~label]
    return np.stack([*counts, squared_errors(probability, label), log_losses(probability, label)], axis=1)


def _metrics(sums: Floats) -> Floats:
    """(R, 6) metrics, in the order of `METRICS`, of (R, 6) sums; as in scikit-learn, 0 where a denominator is 0."""
    true, false, missed, rejected, squared, loss = sums.T
    total = true + false + missed + rejected
    parts = [(true + rejected, total), (true, true + false), (true, true + missed)]
    parts += [(2 * true, 2 * true + false + missed), (squared, total), (loss, total)]
    ratios = [np.divide(part, whole, out=np.zeros_like(part), where=whole > 0) for part, whole in parts]
    return np.stack(ratios, axis=1)


def _numbers_of(
    stored: _Decided, fitted: _Decided, pairs: CalibrationPairs, *, seed: int, resamples: int = 2000
) -> tuple[dict[str, Number], dict[str, Number], dict[str, Number]]:
    """Metrics by both decisions and their difference, with percentile intervals over the same resamples."""
    rng = np.random.default_rng(seed)

    def terms(label: NDArray[np.bool_]) -> Floats:
        return np.concatenate([_terms(*decided, label) for decided in (stored, fitted)], axis=1)

    both, same, other = (terms(label) for label in (pairs.label, np.full_like(pairs.label, True), pairs.label & False))
    both, same, other = (values * pairs.weight[:, None] for values in (both, same, other))
    cell = 2 * stored[0] + fitted[0]
    sums = np.zeros((resamples, both.shape[1]))
    for stratum in np.unique(pairs.stratum):
        rows = np.flatnonzero(pairs.stratum == stratum)
        cells = (cell[rows] == np.unique(cell[rows])[:, None]).astype(np.float64)
        cells /= cells.sum(axis=1, keepdims=True)
        values = np.concatenate([both[rows], cells @ same[rows], cells @ other[rows]])
        shape = np.append(np.ones(len(rows)), np.full(2 * len(cells), 0.5))
        step = max(1, CHUNK // len(shape))
        for start in range(0, resamples, step):
            part = slice(start, min(start + step, resamples))
            sums[part] += len(rows) * rng.dirichlet(shape, part.stop - part.start) @ values
    value = both.sum(axis=0, keepdims=True)
    before, after = ((_metrics(value[:, part])[0], _metrics(sums[:, part])) for part in (slice(0, 6), slice(6, 12)))
    return _named(*before), _named(*after), _named(after[0] - before[0], after[1] - before[1])


def _named(values: Floats, drawn: Floats) -> dict[str, Number]:
    """Metric -> its value with the percentile interval of (R, 6) resampled ones, which holds it."""
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    rows = (values, np.minimum(low, values), np.maximum(high, values))
    return {name: Number(*map(float, row)) for name, *row in zip(METRICS, *rows, strict=True)}


def _numbers(block: Block, column: str) -> Floats:
    """(R,) a column of numbers.

    Raises:
        ValueError: if a value is none; names the line.
    """
    values = pc.cast(block.table[column], pa.string()).to_pylist()
    for line, value in zip(block.lines.tolist(), values, strict=True):
        try:
            float(value)
        except (TypeError, ValueError):
            raise ValueError(f"line {line}, column {column!r}: expected a number, got {value!r}") from None
    return np.array([float(value) for value in values])
