"""What the report reads from run folders and data folders."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.decision import Decision, Verdict
from twicetold.evaluation.inputs import ScoredPairs, described, is_number
from twicetold.evaluation.ranking import RocCurve
from twicetold.evaluation.stored import json_object, record
from twicetold.evaluation.units import Kept
from twicetold.evaluation.units import from_json as units_from_json
from twicetold.files import write_text
from twicetold_lab.data.download import FileRecord, Manifest
from twicetold_lab.evaluation.operating_points import OperatingPoint, points_from_json
from twicetold_lab.runs.summary import POINTS, UNITS, may_have_met
from twicetold_lab.scoring.cost import FILE, Cost

CARDS = Path("data/cards")  # of datasets


@dataclass(frozen=True, order=True)
class Cell:
    """One cell of the grid: one model on one dataset with one seed."""

    data: str
    model: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its config file, run folder and stages."""
        return layout.cell(self.data, self.model, self.seed)


@dataclass(frozen=True)
class Run:
    """Results of training and evaluating one cell."""

    cell: Cell
    folder: Path
    metrics: Mapping[str, Mapping[str, float]]
    """Split -> metric -> value; NaN where the metric is undefined."""
    intervals: Mapping[str, tuple[float, float]]
    """Test metric -> ends of its 95 % interval."""
    parameters: int
    epochs: int
    samples: tuple[Verdict, ...]
    """Scores and decisions of the evaluator's sample pairs; empty for documents."""
    primary: str
    """The metric that training selected by on validation."""
    train_seconds: float | None
    pretrained_on: str | None = None
    """What its weights were pretrained on, in words; None if they were not."""
    seen: tuple[str, ...] | None = None
    """Sources of data that these texts are known to have; None where nobody knows."""
    tuned_how: str | None = None
    """Where its settings come from, in words; None where an older summary does not say it."""
    word_hashing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Word hashing statistics of each view of its features; empty if it hashes no words."""
    cost: Cost | None = None
    """What it costs in use; None where this was not measured."""

    units: Mapping[str, Kept] = field(default_factory=dict)
    """Test measure -> what a comparison of two models in pairs needs; empty where an older summary does not have it."""
    points: tuple[OperatingPoint, ...] = ()
    """Operating points of labelled pairs."""

    @property
    def is_clean(self) -> bool:
        """Whether its weights, as far as is known, had never met texts of this dataset before it was trained."""
        return self.pretrained_on is None or not may_have_met(self.seen, self.cell.data)

    @property
    def is_baseline(self) -> bool:
        """Whether no parameter was trained: the lexical baselines."""
        return self.parameters == 0


@dataclass(frozen=True)
class Abroad:
    """Results of one model on the test texts of several datasets, its own among them."""

    run: Run
    metrics: Mapping[str, Mapping[str, float]]
    """Dataset -> metric -> value."""
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    """Dataset -> metric -> ends of its 95 % interval."""
    shared: Mapping[str, int]
    """Dataset -> how many of its test texts are known from the model's own."""

    def is_clean_of(self, data: str) -> bool:
        """Whether its weights, as far as is known, had never met texts of a dataset before it was trained."""
        return self.run.pretrained_on is None or not may_have_met(self.run.seen, data)


@dataclass(frozen=True)
class KnnCurves:
    """Rates of the pairwise k-NN rule on one split for each k, each (K,)."""

    k: NDArray[np.float64]
    true_positive_rate: NDArray[np.float64]
    true_negative_rate: NDArray[np.float64]
    false_positive_rate: NDArray[np.float64]
    false_negative_rate: NDArray[np.float64]
    cross_entropy: NDArray[np.float64]


@dataclass(frozen=True)
class Mined:
    """Counts of false negatives from the card of mined triplets (`mining.false_negatives`)."""

    strategy: str
    triplets: int
    labelled_different: int | None
    """Triplets whose anchor and negative are labelled as different in train; None if the strategy uses no labels."""
    negatives: int
    """Different pairs (anchor, negative) when mined again with some labels hidden."""
    known_duplicates: int
    """Those that are duplicates according to all labels of train."""
    judged: int
    """Negatives that are hidden pairs."""
    judged_duplicates: int
    """Judged negatives that are labelled as duplicates."""


@dataclass(frozen=True)
class Peer:
    """Another library's dedupe of the test texts of one dataset."""

    data: str
    name: str
    version: str
    settings: str
    metrics: Mapping[str, float]
    """Names as in a run's metrics of test. Without an aimed precision it has `link_precision` and `link_recall`, of its
    own links; without a rule of grouping `ari`, `b3` and `pair_f1`, of its own groups."""
    intervals: Mapping[str, tuple[float, float]]
    """Metric -> ends of its 95 % interval."""
    seconds: float | None


@dataclass(frozen=True)
class Provenance:
    """Description of one dataset."""

    name: str
    kind: str
    card: Mapping[str, Any]
    """Counts and notes of the source, without the audit."""
    audit: Mapping[str, Any]
    files: tuple[FileRecord, ...]
    """Empty for generated corpora."""
    mined: tuple[Mined, ...]
    """By strategy; empty if no labelled pairs could be hidden, as for documents."""


def read_runs(cells: Sequence[Cell], runs: Path) -> dict[str, list[Run]]:
    """The runs of each dataset, datasets in order of first appearance, runs by model and seed.

    Raises:
        ValueError: if there are no cells.
        FileNotFoundError: if a cell was not trained or not evaluated; says which stage to run.
    """
    if not cells:
        raise ValueError("no cells to report on: name datasets, models and seeds, then run `dvc repro compose`")
    by_data: dict[str, list[Run]] = {cell.data: [] for cell in cells}
    for cell in sorted(cells):
        by_data[cell.data].append(_read_run(cell, runs / cell.name))
    return by_data


def read_elsewhere(cells: Sequence[Cell], runs: Path) -> list[Abroad]:
    """The results of some models on other datasets, in the order of the cells.

    Raises:
        FileNotFoundError: if a model was not evaluated there; says which stage to run.
    """
    found = []
    for cell in cells:
        content = _read_json(runs / cell.name / layout.ELSEWHERE, stage=f"evaluate_elsewhere@{cell.name}")
        found.append(
            Abroad(
                _read_run(cell, runs / cell.name),
                {data: each["metrics"] for data, each in content.items()},
                {data: intervals_of(each) for data, each in content.items()},
                {data: each["shared_texts"] for data, each in content.items()},
            )
        )
    return found


def read_peers(runs: Path) -> dict[str, list[Peer]]:
    """Peers by dataset, in the order of their file; empty where there is no file.

    Raises:
        ValueError: if the file holds something else.
    """
    path = runs / layout.PEERS
    if not path.exists():
        return {}
    found: dict[str, list[Peer]] = {}
    try:
        for record in json.loads(path.read_text(encoding="utf-8")):
            peer = _peer(**record)
            found.setdefault(peer.data, []).append(peer)
    except (AttributeError, TypeError, ValueError) as error:
        names = ", ".join(each.name for each in fields(Peer))
        raise ValueError(f"expected a list of objects with {names} in {path}: {error}. Write it again") from error
    return found


def _peer(
    *,
    data: str,
    name: str,
    version: str,
    settings: str | Mapping[str, Any],
    metrics: Mapping[str, float | None],
    intervals: Mapping[str, tuple[float, float]] | None = None,
    seconds: float | None = None,
) -> Peer:
    if isinstance(settings, Mapping):
        settings = ", ".join(f"{key} {value}" for key, value in settings.items())
    return Peer(
        data=str(data),
        name=str(name),
        version=str(version),
        settings=str(settings),
        metrics={metric: _number(metric, value) for metric, value in metrics.items()},
        intervals={metric: (float(low), float(high)) for metric, (low, high) in (intervals or {}).items()},
        seconds=None if seconds is None else float(seconds),
    )


def read_provenance(data: str, *, processed: Path, raw: Path, triplets: Path) -> Provenance:
    """The corpus card, the manifest of raw files and the cards of mined triplets of one dataset.

    Raises:
        FileNotFoundError: if one of them is missing; says which stage to run.
    """
    about = _read_json(processed / data / layout.CARD, stage=f"prepare@{data}")
    _require(raw / data / layout.MANIFEST, stage=f"download@{data}")
    card = dict(about["card"])
    audit = card.pop("audit", {})
    for elsewhere in ("files", "source"):  # these are in the manifest and in `conf/data`
        card.pop(elsewhere, None)
    mined = [read_mined(path) for path in sorted((triplets / data).glob(f"*{layout.TRIPLETS_CARD}"))]
    known = tuple(found for found in mined if found is not None)
    return Provenance(data, about["kind"], card, audit, Manifest.load(raw / data).files, known)


def write_card(about: Provenance, folder: Path) -> None:
    """Write the description of a dataset, without the addresses that its files were downloaded from."""
    files = tuple(replace(file, origin="") for file in about.files)
    text = json.dumps(asdict(replace(about, files=files)), ensure_ascii=False, indent=2, sort_keys=True)
    write_text(_card_file(about.name, folder), text + "\n")


def has_card(data: str, folder: Path) -> bool:
    """Whether `write_card` wrote the description of a dataset."""
    return _card_file(data, folder).is_file()


def read_card(data: str, folder: Path) -> Provenance:
    """The description of a dataset that `write_card` wrote.

    Raises:
        FileNotFoundError: if it is missing.
    """
    about = _read_json(_card_file(data, folder), stage="report")
    files = tuple(FileRecord(**file) for file in about.pop("files"))
    return Provenance(**about | {"files": files, "mined": tuple(Mined(**mined) for mined in about["mined"])})


def _card_file(data: str, folder: Path) -> Path:
    return folder / f"{data}.json"


def read_mined(path: Path) -> Mined | None:
    """Counts of false negatives from a card of mined triplets; None if it has none."""
    card = json.loads(path.read_text(encoding="utf-8"))
    found = card.get("false_negatives")
    if found is None:
        return None
    return Mined(
        strategy=path.name.removesuffix(layout.TRIPLETS_CARD),
        triplets=card["triplets"],
        labelled_different=card.get("negatives_labelled_different"),
        **{name: found[name] for name in ("negatives", "known_duplicates", "judged", "judged_duplicates")},
    )


def read_curves(run: Run) -> dict[str, RocCurve]:
    """ROC curves of a run by label (`category`, `story`); empty where it has none."""
    names = ("false_positive_rate", "true_positive_rate")
    return {label: RocCurve(*columns) for label, columns in _read_csv(run.folder / layout.ROC, "label", names).items()}


def read_knn_curves(run: Run) -> dict[str, KnnCurves]:
    """Rates of the pairwise k-NN rule by split; empty where a run has none, as for documents."""
    names = [field.name for field in fields(KnnCurves)]
    found = _read_csv(run.folder / layout.PAIRWISE_KNN, "split", names)
    return {split: KnnCurves(*columns) for split, columns in found.items()}


def _read_csv(path: Path, key: str, names: Sequence[str]) -> dict[str, list[NDArray[np.float64]]]:
    """Columns of a table for each value of its column `key`; empty where there is no table or no row in it."""
    if not path.exists() or not (table := pa_csv.read_csv(path)).num_rows:
        return {}
    parts = {str(value): table.filter(pc.equal(table[key], value)) for value in pc.unique(table[key]).to_pylist()}
    return {value: [rows[name].cast("float64").to_numpy() for name in names] for value, rows in parts.items()}


@dataclass(frozen=True)
class SampledPairs(ScoredPairs):
    """Scores of pairs.

    Args:
        units: (P,) unit of sampling of each pair, see `evaluation.pairwise_knn.units_of`; None where it is not known.
    """

    units: NDArray[np.int64] | None = None


def read_scores(folder: Path, split: str) -> SampledPairs | None:
    """Scores of a run on one split, in the corpus's order of pairs.

    None for documents, whose pairs are too many to keep, and where nothing was evaluated.
    """
    file = folder / layout.SCORES
    if not file.is_file():
        return None
    units = "unit" if "unit" in pq.read_schema(file).names else None  # runs of earlier code have none
    rows = pq.read_table(file, columns=["split", "label", "score", *filter(None, [units])])
    rows = rows.filter(pc.equal(rows["split"].cast("string"), split))
    if not rows.num_rows:
        return None
    score, label = (rows[name].cast("float64").to_numpy() for name in ("score", "label"))
    return SampledPairs(score, label, rows[units].cast("int64").to_numpy() if units else None)


def read_decision(run: Run) -> Decision:
    """The threshold and the calibration that a run chose on validation."""
    file = run.folder / layout.MODEL / layout.DECISION
    return record(Decision, _read_json(file, stage=f"evaluate@{run.cell.name}"), layout.DECISION)


def read_metrics(folder: Path) -> dict[str, dict[str, float]]:
    """Split -> metric -> value of a run, NaN where it is undefined; empty if it was not evaluated.

    Raises:
        ValueError: if the file holds something else.
    """
    found = read_object(folder / layout.METRICS)
    splits = {split: found[split] for split in ("val", "test", "train") if isinstance(found.get(split), Mapping)}
    return {split: {name: _number(name, value) for name, value in values.items()} for split, values in splits.items()}


def read_cost(folder: Path) -> Cost | None:
    """What the model of a run costs in use; None if it was not measured.

    Raises:
        ValueError: if the file holds something else.
    """
    file = folder / FILE
    return Cost.from_json(read_object(file), file) if file.is_file() else None


def intervals_of(summary: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Test metric -> ends of its 95 % interval, from the summary of a run; empty if it has none."""
    return {name: (float(low), float(high)) for name, (low, high) in summary.get("intervals", {}).items()}


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no file.

    Raises:
        ValueError: if the file holds something else.
    """
    return json_object(file, str(file)) if file.is_file() else {}


def _read_run(cell: Cell, folder: Path) -> Run:
    stage = f"evaluate@{cell.name}"
    _require(folder / layout.METRICS, stage=stage)
    metrics, about = read_metrics(folder), _read_json(folder / layout.SUMMARY, stage=stage)
    observed = read_object(folder / layout.OBSERVED)
    for split in ("val", "test"):
        if split not in metrics:
            raise ValueError(
                f"{folder.name}/{layout.METRICS} has no {split!r}, only {sorted(metrics)}: "
                f"expected 'val' and 'test'. Run `dvc repro --force {stage}`."
            )
    return Run(
        cell=cell,
        folder=folder,
        metrics=metrics,
        intervals=intervals_of(about),
        parameters=int(about["parameters"]),
        epochs=int(about["epochs"]),
        samples=tuple(Verdict(**verdict) for verdict in about["samples"]),
        primary=about["primary"],
        train_seconds=observed.get("train_seconds"),
        pretrained_on=" and ".join(about["pretrained_on"]) or None,
        seen=None if about.get("seen") is None else tuple(about["seen"]),
        tuned_how=about.get("tuned_how"),
        word_hashing=about["word_hashing"],
        cost=read_cost(folder),
        units=units_from_json(about.get(UNITS, [])),
        points=points_from_json(about.get(POINTS, [])),
    )


def _read_json(path: Path, *, stage: str) -> dict[str, Any]:
    _require(path, stage=stage)
    return read_object(path)


def _require(path: Path, *, stage: str) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: the report needs it and the stage {stage} writes it. "
            f"Run `dvc repro {stage}`, or take the cell out of the grid."
        )


def _number(name: str, value: Any) -> float:
    """A metric of JSON; null where it is undefined."""
    if value is None:
        return math.nan
    if not (is_number(value) or type(value) is float):
        raise ValueError(f"expected numbers as metrics, got {described(value)} as {name!r:.80}")
    return float(value)
