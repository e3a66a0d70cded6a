"""A run folder: what a training and its evaluation left of one model on one dataset.

Every reader of run folders (report, model card, checks, registration) has this one. A file is read when it is first
asked for. What is missing is empty or None, so that a published run folder (metrics and summary alone) and a bare model
folder can be read as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.evaluation.guarantee import MeasuredLinks
from twicetold.evaluation.labels import Decisions
from twicetold.trained.folder_files import read_recipe
from twicetold.trained.threshold_record import ThresholdRecord, read_decisions, read_thresholds
from twicetold_lab.evaluation.units import PairedUnits
from twicetold_lab.evaluation.units import from_json as units_from_json
from twicetold_lab.runs.records import intervals_of, read_metrics, read_object, require
from twicetold_lab.runs.summary import UNITS, may_be_contaminated
from twicetold_lab.scoring.cost import FILE, Cost
from twicetold_lab.scoring.cross_domain import CrossDomain

CLEAN, LISTED, NOT_KNOWN = "no", "listed", "not known"
"""Exposure of a model to a dataset: nothing was pretrained, the sources that are known have it, nobody knows."""
OF_ENSEMBLES = "weights by stacking"
"""Begins what an ensemble says of its settings (conf/ensemble.yaml)."""


@dataclass(frozen=True, order=True)
class Cell:
    """One cell of the grid: one model on one dataset with one seed."""

    data: str
    model: str
    seed: int

    @classmethod
    def of(cls, name: str) -> "Cell":
        """Return the cell of a folder that is called as `layout.cell` calls it; of another one, without data."""
        data, _, rest = name.partition("-")
        model, _, seed = rest.rpartition("-")
        return cls(data, model, int(seed)) if data and model and seed.isdecimal() else cls("", name, 0)

    @property
    def name(self) -> str:
        """The name of its config file, run folder and stages."""
        return layout.cell(self.data, self.model, self.seed) if self.data else self.model


@dataclass(frozen=True)
class RunFolder:
    """A run folder, or the folder of a model without its run.

    Args:
        path: of the folder.
        cell: which data, model and seed it is of; without data if nobody knows.
        audit: split -> finding of the leakage audit of its dataset; None if it is not known.
    """

    path: Path
    cell: Cell
    audit: Mapping[str, Any] | None = None

    @classmethod
    def at(cls, place: Path) -> "RunFolder":
        """Return the folder at a place, whose name may say which cell it is of."""
        return cls(place, Cell.of(place.resolve().name))

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.resolve().name

    @cached_property
    def model(self) -> Path:
        """The model folder."""
        return self.path if (self.path / layout.RECIPE).is_file() else self.path / layout.MODEL

    @cached_property
    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        """Split -> metric -> value; NaN where the metric is undefined."""
        return read_metrics(self.path)

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The results of the evaluation besides metrics, see `runs.summary`."""
        return read_object(self.path / layout.SUMMARY)

    @cached_property
    def observed(self) -> Mapping[str, Any]:
        """Seconds and speed of the training, and its environment."""
        return read_object(self.path / layout.OBSERVED)

    @cached_property
    def recipe(self) -> Mapping[str, Any]:
        """The recipe of the model."""
        return read_recipe(self.model) if (self.model / layout.RECIPE).is_file() else {}

    @property
    def data(self) -> str | None:
        """Name of the dataset that the model was trained on, as its recipe says; None if it does not."""
        data = self.recipe.get("data")
        name = data.get("name") if isinstance(data, Mapping) else None
        return name if isinstance(name, str) else None

    @cached_property
    def training(self) -> Mapping[str, Any]:
        """The training's own record: parameters, epochs, metric."""
        return read_object(self.model / layout.TRAINING)

    @cached_property
    def decisions(self) -> Decisions:
        """The model's decisions by label."""
        return read_decisions(self.model)

    @cached_property
    def thresholds(self) -> ThresholdRecord:
        """All that the model folder says of thresholds."""
        return ThresholdRecord.read(self.model)

    @cached_property
    def promised(self) -> Sequence[MeasuredLinks]:
        """The promises of links for other files; empty without the model, whose folder has it."""
        chosen = read_thresholds(self.model) if (self.model / layout.PRECISION).is_file() else None
        return chosen.promised if chosen else ()

    @cached_property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Test metric -> ends of its 95 % interval."""
        return intervals_of(self.summary)

    @cached_property
    def cost(self) -> Cost | None:
        """The cost of the model in use; None if it was not measured."""
        file = self.path / FILE
        return Cost.from_json(read_object(file), file) if file.is_file() else None

    @cached_property
    def units(self) -> Mapping[str, PairedUnits]:
        """Test measure -> what a comparison of two models in pairs needs; empty in summaries of earlier code."""
        return units_from_json(self.summary.get(UNITS, []))

    @cached_property
    def cross_domain(self) -> Mapping[str, CrossDomain]:
        """Dataset -> results on its test texts; empty if there are none.

        Raises:
            ValueError: if the file holds something else.
        """
        file, results = self.path / layout.ELSEWHERE, {}
        for data, each in read_object(file).items():
            if not isinstance(each, Mapping) or not isinstance(each.get("metrics"), Mapping):
                raise ValueError(f"expected metrics of {data!r:.80} in {file}: evaluate the run elsewhere again")
            results[data] = CrossDomain(dict(each["metrics"]), dict(intervals_of(each)))
        return results

    @property
    def parameters(self) -> int:
        """Number of trained or pretrained parameters."""
        return int(self.summary.get("parameters", 0))

    @property
    def epochs(self) -> int:
        """The number of epochs of training."""
        return int(self.summary.get("epochs", 0))

    @property
    def primary(self) -> str:
        """The metric that training selected by on validation; empty if unknown."""
        metric = self.training.get("metric", self.summary.get("primary"))
        return metric if isinstance(metric, str) else ""

    @property
    def tuned_how(self) -> str | None:
        """The source of its settings, in words; None where an older summary does not say it."""
        return self.summary.get("tuned_how")

    @property
    def pretrained_on(self) -> tuple[str, ...] | None:
        """The sources that its weights were pretrained on; None if unknown."""
        sources = self.summary.get("pretrained_on", self.recipe.get("pretrained_on"))
        return tuple(map(str, sources)) if isinstance(sources, list) else None

    @property
    def seen(self) -> tuple[str, ...] | None:
        """Sources of data that these texts are known to have; None where nobody knows."""
        sources = self.summary.get("seen", self.recipe.get("seen"))
        return tuple(map(str, sources)) if isinstance(sources, list) else None

    def is_clean_of(self, data: str) -> bool:
        """Return true if its weights, as far as is known, had never met texts of a dataset before it was trained."""
        return not self.pretrained_on or not may_be_contaminated(self.seen, data)

    @property
    def exposure(self) -> str:
        """Say whether the texts of its dataset were pretrained on: `CLEAN`, `LISTED` or `NOT_KNOWN`."""
        if self.pretrained_on is not None and not self.pretrained_on:
            return CLEAN
        listed = self.seen is not None and not self.is_clean_of(self.cell.data)
        return LISTED if listed else NOT_KNOWN

    @property
    def is_untrained(self) -> bool:
        """True if nothing of it learnt from labels: it counts words or letters, or is as it was pretrained."""
        return not self.epochs and not str(self.tuned_how).startswith(OF_ENSEMBLES)


def read_runs(cells: Sequence[Cell], runs: Path) -> dict[str, list[RunFolder]]:
    """Return the evaluated runs of each dataset, datasets in order of first appearance, runs by model and seed.

    Raises:
        ValueError: if there are no cells, or a run has no metrics of validation or test.
        FileNotFoundError: if a cell was not trained or not evaluated; says which stage to run.
    """
    if not cells:
        raise ValueError("no cells to report on: name datasets, models and seeds, then run `dvc repro compose`")
    by_data: dict[str, list[RunFolder]] = {cell.data: [] for cell in cells}
    for cell in sorted(cells):
        by_data[cell.data].append(_evaluated(RunFolder(runs / cell.name, cell)))
    return by_data


def read_cross_domain(cells: Sequence[Cell], runs: Path) -> list[RunFolder]:
    """Return runs that were evaluated on other datasets as well, in the order of the cells.

    Raises:
        FileNotFoundError: if a model was not evaluated there; says which stage to run.
    """
    for cell in cells:
        require(runs / cell.name / layout.ELSEWHERE, stage=f"evaluate_elsewhere@{cell.name}")
    return [_evaluated(RunFolder(runs / cell.name, cell)) for cell in cells]


def _evaluated(run: RunFolder) -> RunFolder:
    stage = f"evaluate@{run.cell.name}"
    for file in (layout.METRICS, layout.SUMMARY):
        require(run.path / file, stage=stage)
    for split in ("val", "test"):
        if split not in run.metrics:
            raise ValueError(
                f"{run.path.name}/{layout.METRICS} has no {split!r}, only {sorted(run.metrics)}: "
                f"expected 'val' and 'test'. Run `dvc repro --force {stage}`."
            )
    return run
