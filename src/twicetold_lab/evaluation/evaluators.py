"""Metrics of validation and test, with the threshold and calibration that are stored with the model.

| data | metrics |
|---|---|
| labelled pairs | `auroc, average_precision, accuracy, f1, mcc, precision, recall, log_loss, brier, threshold` |
| graded pairs | `pearson, spearman, auroc, threshold` (the last two at the positive grade) |
| documents | `auroc_<group>, average_precision_<group>` over all pairs; `knn_accuracy_<group>` of classes, |
| | `precision_at_<k>_<group>, recall_at_<k>_<group>` of all other groups; `f1_<primary group>, threshold` |

Metrics of pairs have no interval where one unit of sampling, or a few, hold most pairs (`few_units`).

Nothing is chosen here: `selection` does that, in training. If a source publishes a threshold, labelled pairs have
`published_threshold` as well, with its accuracy and F1. If train is asked for, its documents have the metrics over all
pairs. Search vectors are evaluated in `corpus_search`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.all_pairs import BINS, OVER_PAIRS, named_counts, pair_counts, pair_histograms
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs, finest_clusters
from twicetold.evaluation.intervals import Interval, Ints, Statistic, bootstrap_interval, few_units
from twicetold.evaluation.labels import DUPLICATE
from twicetold.evaluation.pair_metrics import Confusion, log_losses, squared_errors
from twicetold.evaluation.ranking import ON_TRAIN, RocCurve, ScoreCounts, pearson, spearman
from twicetold.evaluation.thresholds import DedupeThresholds
from twicetold_lab.evaluation import dedupe_report, pair_intervals
from twicetold_lab.evaluation.influence import all_pairs_intervals, all_pairs_units
from twicetold_lab.evaluation.retrieval import CorpusSearch, knn_right, nearest, precision_and_recall
from twicetold_lab.evaluation.selection import PRIMARY, Selection, misfit
from twicetold_lab.evaluation.units import PairedUnits, Units, f1_terms, pearson_terms, verdict_units

AT_PUBLISHED = ("accuracy", "f1")  # metrics that are also computed at a published threshold
SPLITS, WITH_TRAIN = ("val", "test"), ("val", "test", "train")


@dataclass(frozen=True)
class Evaluation:
    """Results of an evaluation.

    Args:
        metrics: split ("val", "test", and "train" where it is asked for) -> metric -> value.
        intervals: "test" -> metric -> 95 % interval, for the metrics that have one.
        curves: label ("duplicate", or the group) -> ROC curve on test, thinned; with `ON_TRAIN` behind it on train.
        units: test metric -> what a comparison of two models in pairs needs: accuracy and F1 of labelled pairs,
            Pearson's correlation of graded ones, of documents the primary metric.
    """

    metrics: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, Interval]]
    curves: dict[str, RocCurve]
    units: dict[str, PairedUnits] = field(default_factory=dict)


@dataclass(frozen=True)
class Retrieved:
    """A retrieval metric of each document that it is defined for."""

    values: NDArray[np.float64]
    units: NDArray[np.int64]
    """The unit of sampling of each of these documents."""


@dataclass(frozen=True)
class Standard:
    """The standard evaluator.

    Args:
        bins: steps of the score range in all-pairs metrics.
        neighbours: k of precision at k, recall at k and k-NN accuracy.
        primary: kind of data -> primary metric, see `Selection`; F1 of documents is for its group.
        classes: groups that are classes to predict; every other group is a cluster to retrieve.
        splits: val and test; with train, also AUROC and average precision over all pairs of the train documents.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        published_threshold: accuracy and F1 of labelled pairs are reported at this threshold as well, unless None.
        without_labels: `scoring.without_labels.WithoutLabels`, which is evaluated in place of the model; or None.
        corpus_search: settings of search in the whole corpus, see `twicetold_lab.scoring.corpus_search`.
    """

    bins: int = BINS
    neighbours: int = 10
    primary: Mapping[str, str] = field(default_factory=lambda: dict(PRIMARY))
    classes: Sequence[str] = ("category",)
    splits: Sequence[str] = SPLITS
    resamples: int = 1000
    seed: int = 0
    published_threshold: float | None = None
    without_labels: Any = None
    corpus_search: CorpusSearch = field(default_factory=CorpusSearch)

    def __post_init__(self) -> None:
        if tuple(self.splits) not in (SPLITS, WITH_TRAIN):
            raise ValueError(f"evaluator.splits is {[*SPLITS]} or {[*WITH_TRAIN]}, got {[*self.splits]}")
        Selection(self.primary, self.bins, self.classes)  # raises where `primary` names another metric

    @property
    def selection(self) -> Selection:
        """The primary metric and the bins of selection."""
        return Selection(self.primary, self.bins, self.classes)

    def documents(
        self,
        val: DocumentVectors,
        test: DocumentVectors,
        *,
        decision: Decision,
        train: DocumentVectors | None = None,
    ) -> Evaluation:
        """Evaluate labelled documents over all their pairs; those of train by AUROC and average precision alone.

        Raises:
            ValueError: if a group has no positive or no negative pair, or val and test have different groups.
        """
        if set(val.groups) != set(test.groups):
            raise ValueError(f"val has the groups {sorted(val.groups)}, test has {sorted(test.groups)}")
        group = self.selection.primary_group(val)
        histograms = {"val": pair_histograms(val, bins=self.bins), "test": pair_histograms(test, bins=self.bins)}
        counts = {split: named_counts(histogram) for split, histogram in histograms.items()}
        retrieved = {"val": self._retrieval(val), "test": self._retrieval(test)}
        metrics = {}
        for split in ("val", "test"):
            values = _over_all_pairs(counts[split])
            values |= {name: float(one.values.mean()) for name, one in retrieved[split].items()}
            values[f"f1_{group}"] = Confusion.at(counts[split][group], decision.threshold).f1
            metrics[split] = values | {"threshold": decision.threshold}
        curves = {name: count.roc_curve().thinned() for name, count in counts["test"].items()}
        if train is not None:
            counted = pair_counts(train, bins=self.bins)
            metrics["train"] = _over_all_pairs(counted)
            curves |= {f"{name}{ON_TRAIN}": count.roc_curve().thinned() for name, count in counted.items()}
        units = all_pairs_units(test, histograms["test"], clusters=finest_clusters(test.groups, self.classes))
        pairs = all_pairs_intervals(histograms["test"], units)
        intervals = {f"{measure}_{name}": ends for name, each in pairs.items() for measure, ends in each.items()}
        intervals |= {
            name: pair_intervals.clustered_mean_interval(one.values, one.units)
            for name, one in retrieved["test"].items()
        }
        ranked = next(metric for metric in OVER_PAIRS if self.primary["documents"].startswith(metric))
        kept: dict[str, PairedUnits] = {f"{ranked}{group}": units[group][ranked.removesuffix("_")]}
        return Evaluation(metrics, {"test": intervals}, curves, kept)

    def labelled_pairs(
        self, val: ScoredPairs, test: ScoredPairs, *, decision: Decision, units: Ints | None = None
    ) -> Evaluation:
        """Evaluate pairs labelled 0/1.

        Args:
            val: where thresholds are chosen.
            test: where they are measured.
            decision: threshold and calibration.
            units: (P,) unit of sampling of each test pair, from 0; None: each is one of its own.

        Raises:
            ValueError: if a split has only one class, or other labels.
        """
        splits = {"val": val, "test": test}
        metrics = {s: _pair_metrics(pairs, decision) | self._as_published(pairs) for s, pairs in splits.items()}
        curve = ScoreCounts.of(test.score, test.label).roc_curve().thinned()
        verdict = decision.duplicate(test.score)
        kept = {
            "accuracy": verdict_units(verdict, test.label, units),
            "f1": Units.of_rows(f1_terms(verdict, test.label), units, test.label),
        }
        intervals = {} if few_units(units) else self._pair_intervals(test, decision, units)
        return Evaluation(metrics, {"test": intervals}, {DUPLICATE: curve}, kept)

    def graded_pairs(
        self,
        val: ScoredPairs,
        test: ScoredPairs,
        *,
        decision: Decision,
        positive_grade: float,
        units: Ints | None = None,
    ) -> Evaluation:
        """Evaluate graded pairs; grades of at least `positive_grade` count as duplicates.

        Args:
            val: validation.
            test: what is measured.
            decision: threshold and calibration.
            positive_grade: of duplicates.
            units: (P,) unit of sampling of each test pair, from 0; None: each is one of its own.

        Raises:
            ValueError: if all pairs of a split are on one side of `positive_grade`.
        """
        truth = {"val": val.label >= positive_grade, "test": test.label >= positive_grade}
        metrics = {
            split: {
                "pearson": pearson(pairs.score, pairs.label),
                "spearman": spearman(pairs.score, pairs.label),
                "auroc": ScoreCounts.of(pairs.score, truth[split]).auroc(),
                "threshold": decision.threshold,
            }
            for split, pairs in (("val", val), ("test", test))
        }
        intervals = (
            {}
            if few_units(units)
            else {
                "pearson": self._bootstrap(pair_intervals.pearson_statistic(test.score, test.label), len(test), units),
                "spearman": self._bootstrap(
                    pair_intervals.spearman_statistic(test.score, test.label), len(test), units
                ),
                "auroc": pair_intervals.auroc_interval(test.score, truth["test"], units),
            }
        )
        curve = ScoreCounts.of(test.score, truth["test"]).roc_curve().thinned()
        kept = Units.of_rows(pearson_terms(test.score, test.label), units, np.rint(1000 * test.label))
        return Evaluation(metrics, {"test": intervals}, {DUPLICATE: curve}, {"pearson": kept})

    def dedupe(
        self, val: DocumentVectors, test: DocumentVectors, chosen: DedupeThresholds, *, ranked: bool
    ) -> dedupe_report.DedupeReport:
        """Evaluate a dedupe of the test texts at the thresholds that were chosen on validation.

        Args:
            val: the texts of validation.
            test: those of test.
            chosen: on validation.
            ranked: whether AUROC and average precision over all pairs are asked for, which `documents` has already.

        Raises:
            ValueError: if no pair, or every pair, shares a group.
        """
        return dedupe_report.report(
            test, chosen, val=val, ranked=ranked, bins=self.bins, resamples=self.resamples, seed=self.seed
        )

    def report(
        self,
        kind: str,
        *,
        val: DocumentVectors | ScoredPairs,
        test: DocumentVectors | ScoredPairs,
        decision: Decision,
        positive_grade: float | None = None,
        train: DocumentVectors | ScoredPairs | None = None,
        units: Ints | None = None,
    ) -> Evaluation:
        """Evaluate data of any kind.

        Args:
            kind: of data.
            val: the validation split.
            test: the test split.
            decision: threshold and calibration that are stored with the model.
            positive_grade: of graded pairs; those of at least this grade are duplicates.
            train: the train split, of documents alone; None if it is not asked for.
            units: (P,) unit of sampling of each test pair, see `units.units_of`; None: each is one of its own.

        Raises:
            ValueError: if `kind` is unknown or does not fit the inputs, or the data is degenerate.
        """
        if isinstance(train, ScoredPairs):
            raise ValueError(f"train is measured of documents alone: leave evaluator.splits at {[*SPLITS]}")
        match kind, val, test:
            case "documents", DocumentVectors(), DocumentVectors():
                return self.documents(val, test, decision=decision, train=train)
            case "labelled_pairs", ScoredPairs(), ScoredPairs():
                return self.labelled_pairs(val, test, decision=decision, units=units)
            case "graded_pairs", ScoredPairs(), ScoredPairs() if positive_grade is not None:
                return self.graded_pairs(val, test, decision=decision, positive_grade=positive_grade, units=units)
        raise ValueError(misfit(kind, val))

    def _retrieval(self, vectors: DocumentVectors) -> dict[str, Retrieved]:
        k, units = self.neighbours, finest_clusters(vectors.groups, self.classes)
        measures: dict[str, Retrieved] = {}
        for rows, known in vectors.by_known():
            neighbours = nearest(known, k=k)
            for name, codes in known.groups.items():
                if name in self.classes:
                    right = knn_right(neighbours, codes).astype(float)
                    measures[f"knn_accuracy_{name}"] = Retrieved(right, units[rows])
                else:
                    precision, recall, queries = precision_and_recall(neighbours, codes)
                    measures[f"precision_at_{k}_{name}"] = Retrieved(precision, units[rows[queries]])
                    measures[f"recall_at_{k}_{name}"] = Retrieved(recall, units[rows[queries]])
        return measures

    def _as_published(self, pairs: ScoredPairs) -> dict[str, float]:
        if self.published_threshold is None:
            return {}
        confusion = Confusion.of(pairs.score >= self.published_threshold, pairs.label)
        metrics = {_at_published(name): getattr(confusion, name) for name in AT_PUBLISHED}
        return metrics | {"published_threshold": self.published_threshold}

    def _pair_intervals(self, pairs: ScoredPairs, decision: Decision, units: Ints | None) -> dict[str, Interval]:
        probability = decision.probability(pairs.score)
        statistics = {
            "average_precision": pair_intervals.average_precision_statistic(pairs.score, pairs.label),
            "log_loss": pair_intervals.mean_statistic(log_losses(probability, pairs.label)),
            "brier": pair_intervals.mean_statistic(squared_errors(probability, pairs.label)),
        }
        published = {}
        if self.published_threshold is not None:
            drawn = self._verdict_intervals(pairs.score >= self.published_threshold, pairs.label, units)
            published = {_at_published(name): drawn[name] for name in AT_PUBLISHED}
        return {
            "auroc": pair_intervals.auroc_interval(pairs.score, pairs.label, units),
            **{name: self._bootstrap(each, len(pairs), units) for name, each in statistics.items()},
            **self._verdict_intervals(decision.duplicate(pairs.score), pairs.label, units),
            **published,
        }

    def _verdict_intervals(
        self, verdict: NDArray[np.bool_], label: NDArray[Any], units: Ints | None
    ) -> dict[str, Interval]:
        return {
            "accuracy": pair_intervals.share_interval(verdict == label.astype(bool), units),
            **pair_intervals.confusion_intervals(verdict, label, units, resamples=self.resamples, seed=self.seed),
        }

    def _bootstrap(self, statistic: Statistic, pairs: int, units: Ints | None) -> Interval:
        return bootstrap_interval(statistic, pairs, units, resamples=self.resamples, seed=self.seed)


def _over_all_pairs(counts: Mapping[str, ScoreCounts]) -> dict[str, float]:
    values = {f"auroc_{name}": count.auroc() for name, count in counts.items()}
    return values | {f"average_precision_{name}": count.average_precision() for name, count in counts.items()}


def _pair_metrics(pairs: ScoredPairs, decision: Decision) -> dict[str, float]:
    counts = ScoreCounts.of(pairs.score, pairs.label)
    confusion = Confusion.of(decision.duplicate(pairs.score), pairs.label)
    probability = decision.probability(pairs.score)
    return {
        "auroc": counts.auroc(),
        "average_precision": counts.average_precision(),
        "accuracy": confusion.accuracy,
        "f1": confusion.f1,
        "mcc": confusion.mcc,
        "precision": confusion.precision,
        "recall": confusion.recall,
        "log_loss": float(log_losses(probability, pairs.label).mean()),
        "brier": float(squared_errors(probability, pairs.label).mean()),
        "threshold": decision.threshold,
    }


def _at_published(name: str) -> str:
    return f"{name}_at_published_threshold"
