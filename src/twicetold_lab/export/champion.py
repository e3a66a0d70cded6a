"""The run of a dataset to use: chosen on validation, and registered with its numbers.

The best run has the highest primary metric on validation. Runs that a paired test on the validation pairs cannot tell
from it (95 %) are as good for all that is known, so the cheapest of them is chosen: the one that encodes most texts a
second, as observed in its training. Runs whose speed was not observed, such as ensembles, come last. Speeds of several
processors say nothing of the models: then the best one is chosen.

Test is never read. Documents have no scores of pairs to compare, so there the best one is chosen.


Paired tests are of the pairs that both models scored: DeLong et al. 1988 for AUROC, a bootstrap for correlations; they
detect differences that two separate intervals do not. Pairs that share texts are one unit of sampling
(`evaluation.units.units_of`).
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twicetold import layout
from twicetold.evaluation.intervals import bootstrap_interval, few_units
from twicetold.trained.locate import folder_of, model_folder
from twicetold_lab.evaluation.comparisons import Comparison
from twicetold_lab.evaluation.pair_intervals import paired_auroc_test, pearson_statistic, spearman_statistic
from twicetold_lab.reporting.model_card import model_card
from twicetold_lab.runs.folder import RunFolder, SampledPairs
from twicetold_lab.runs.records import CARDS
from twicetold_lab.tracking.registry import Version, register

CORRELATIONS = {"pearson": pearson_statistic, "spearman": spearman_statistic}


@dataclass(frozen=True)
class FinishedRun:
    """A finished run of the dataset."""

    folder: Path
    primary: str
    value: float
    """The primary metric on validation."""
    texts_per_second: float | None
    processor: str | None
    """That the speed was observed on; None if it is not known."""
    behind: tuple[float, float] | None = None
    """95 % interval of the best run's metric minus its own, on the same validation pairs; None: not comparable."""

    @property
    def as_good(self) -> bool:
        """True if it is the best one, or a paired test cannot tell it from the best one."""
        return self.behind is not None and self.behind[0] <= 0


@dataclass(frozen=True)
class Choice:
    """The chosen run, and all there were, the best on validation first."""

    chosen: FinishedRun
    candidates: tuple[FinishedRun, ...]


def choose(data: str, runs: Path) -> Choice:
    """Choose among the finished runs of a dataset.

    Args:
        data: the dataset's name.
        runs: the folder of run folders.

    Raises:
        FileNotFoundError: if no finished run has a model of this dataset.
        ValueError: if the runs were trained on different train splits, or selected by different metrics.
    """
    finished = {place: RunFolder.with_model(place) for place in sorted(runs.glob("*/")) if _is_finished(place)}
    finished = {place: about for place, about in finished.items() if about.data == data}
    if not finished:
        raise FileNotFoundError(
            f"no finished run of {data} in {runs}: expected folders with {layout.METRICS} and {layout.MODEL}/; train "
            "and evaluate a model first"
        )
    for what in ("digest", "primary"):
        if len(kinds := {getattr(about, what): place for place, about in finished.items()}) > 1:
            one, other = list(kinds.values())[:2]
            said = "trained on different train splits" if what == "digest" else "selected by different metrics"
            raise ValueError(f"{one} and {other} were {said}, so they cannot be compared: move one of them elsewhere")
    candidates = [_candidate(place, about) for place, about in finished.items()]
    candidates = sorted((c for c in candidates if not np.isnan(c.value)), key=lambda c: (-c.value, c.folder.name))
    if not candidates:
        raise ValueError(f"the primary metric of validation is undefined in all runs of {data} in {runs}")
    candidates = [replace(c, behind=_behind(candidates[0], c)) for c in candidates]
    return Choice(_cheapest([c for c in candidates if c.as_good]), tuple(candidates))


def _cheapest(as_good: list[FinishedRun]) -> FinishedRun:
    """The fastest of those with a speed if all speeds are of one processor, else the first one, which is the best."""
    observed = [run for run in as_good if run.texts_per_second is not None]
    compared = len({run.processor for run in observed}) == 1
    return max(observed, key=lambda run: run.texts_per_second or 0.0) if compared else as_good[0]


def register_run(place: Path, *, alias: str | None, root: Path) -> Version:
    """Register the model of a finished run as a version of `twicetold-<data>`.

    Args:
        place: the run folder, with the metrics of its evaluation.
        alias: such as `champion`; None for none.
        root: the project's root, where the MLflow store and the cards of the datasets are.

    Raises:
        FileNotFoundError: if there is no trained model, or it was not evaluated.
        ValueError: if MLflow refuses.
    """
    about = RunFolder.with_model(place)
    if not about.metrics:
        raise FileNotFoundError(
            f"{place} has no {layout.METRICS}: expected the folder of a finished run; evaluate the model first"
        )
    if about.data is None:
        raise ValueError(f"the recipe of {place} does not say what data the model was trained on: train it again")
    run_name = place.resolve().name.removeprefix(f"{about.data}-")
    tags = {"data": about.data, "data_digest": about.digest or "", "primary": about.primary or ""}
    verdicts = about.decisions.of()
    threshold = "none" if verdicts.no_verdict else repr(verdicts.usable.threshold)
    tags |= {"pretrained_on": ", ".join(about.pretrained_on or ()), "about": verdicts.label, "threshold": threshold}
    tags |= {name: str(about.training[name]) for name in ("parameters", "epochs") if name in about.training}
    return register(
        model_folder(place),
        data=about.data,
        run_name=run_name,
        metrics={
            f"{split}/{name}": value
            for split, values in about.metrics.items()
            for name, value in values.items()
            if not np.isnan(value)
        },
        tags=tags,
        description=model_card(
            about, cards=root / CARDS, use=f"models:/twicetold-{about.data}@{alias}" if alias else None
        ),
        alias=alias,
        root=root,
    )


def card(model: str, *, cards: Path) -> str:
    """The model card of what `twicetold.load` takes.

    Args:
        model: run folder, model folder or address.
        cards: folder of the cards of datasets.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if a file of it holds something else than it should.
    """
    place = folder_of(model) if model.startswith(layout.REGISTRY) else Path(model)
    return model_card(RunFolder.with_model(place), cards=cards, use=model)


def paired(metric: str, one: SampledPairs, two: SampledPairs) -> Comparison | None:
    """The test of whether two models differ in a metric that needs no threshold, on the same pairs.

    Args:
        metric: "auroc" of labelled pairs; "pearson" or "spearman", whose interval is a bootstrap's, without a p-value
            (NaN).
        one: scores of model a.
        two: scores of model b.

    Returns:
        Model a minus model b; None for other metrics, and where the pairs are not the same. Where units are few, the
        interval is all that there can be.
    """
    if not np.array_equal(one.label, two.label):
        return None
    few = few_units(one.units)
    if metric == "auroc" and np.isin(one.label, (0, 1)).all():
        test = paired_auroc_test(one.score, two.score, one.label, one.units)
        return Comparison(test.difference, -1.0, 1.0, 1.0) if few else test
    if metric not in CORRELATIONS:
        return None
    first, second = (CORRELATIONS[metric](pairs.score, pairs.label) for pairs in (one, two))
    everything = np.ones((1, len(one)))
    ends = (-2.0, 2.0) if few else bootstrap_interval(lambda drawn: first(drawn) - second(drawn), len(one), one.units)
    return Comparison(float((first(everything) - second(everything))[0]), *ends, float("nan"))


def _is_finished(place: Path) -> bool:
    return (place / layout.METRICS).is_file() and (place / layout.MODEL / layout.RECIPE).is_file()


def _candidate(place: Path, about: RunFolder) -> FinishedRun:
    primary = about.primary or ""
    value = about.metrics.get("val", {}).get(primary, float("nan"))
    speed = about.observed.get("texts_per_second")
    processor = (about.observed.get("environment") or {}).get("processor")
    return FinishedRun(place, primary, value, None if speed is None else float(speed), processor)


def _behind(best: FinishedRun, other: FinishedRun) -> tuple[float, float] | None:
    if other is best:
        return 0.0, 0.0
    one, two = (RunFolder.at(each.folder).scores("val") for each in (best, other))
    test = None if one is None or two is None else paired(best.primary, one, two)
    return None if test is None else (test.low, test.high)
