"""A trained model on the test texts of another dataset: how well it ranks them, and how good its threshold is there.

Nothing is chosen on the other data. The threshold is the one that the model brings, about its finest label.

| test data | metrics |
|---|---|
| labelled pairs | `average_precision_cluster` over all pairs of texts, `accuracy` and `f1` of the labelled pairs |
| graded pairs | `pearson`; `accuracy` and `f1` at the positive grade |
| documents | `average_precision_<finest group>` and `f1` over all pairs of texts |

`same_share` is the share of the decided pairs that are the same. What a model cannot say is left out: average precision
without a vector for each text; decisions of a model that gives no verdict.

Shape letters: M texts of test, P pairs.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import Interval, Statistic, bootstrap_interval, few_units
from twicetold.evaluation.labels import NoVerdict
from twicetold.evaluation.link_metrics import link_statistics, links_above, with_known
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import Floats, pearson
from twicetold.trained.ensemble import constant
from twicetold.trained.reading import ReadTexts
from twicetold.trained.scoring import TrainedModel
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation import pair_intervals
from twicetold_lab.evaluation.comparisons import TEXT_RANKING
from twicetold_lab.evaluation.dedupe_report import rank_pairs
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.evaluation.text_ranking import rank_texts
from twicetold_lab.evaluation.units import units_of
from twicetold_lab.scoring.duplicates import duplicate_groups

MOST_SHARED = 0.01
"""Share of test texts from which on two datasets count as of one kind, as both partitions of Quora's questions do."""


@dataclass(frozen=True)
class CrossDomain:
    """Results on the test split of one dataset.

    Args:
        metrics: name -> value.
        intervals: name -> 95 % interval.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)

    def __or__(self, other: "CrossDomain") -> "CrossDomain":
        return CrossDomain(self.metrics | other.metrics, self.intervals | other.intervals)


def evaluate_cross_domain(model: TrainedModel, corpus: Corpus, evaluator: Standard) -> CrossDomain:
    """Evaluate a model on the test texts of a dataset that it may never have seen.

    Args:
        model: with the threshold that it brings.
        corpus: the dataset.
        evaluator: its classes, bins and resamples are used.
    """
    members = corpus.members["test"]
    read: ReadTexts = model.read(corpus.texts_of("test")).keeping(np.arange(len(members)))
    vectors = _vectors(read, corpus, evaluator)
    report = CrossDomain()
    if vectors is not None:
        (group,) = vectors.groups
        ranked, texts = rank_pairs(vectors, group, evaluator.bins), rank_texts(vectors, group)
        by_pair, by_text = f"average_precision_{group}", f"{TEXT_RANKING}{group}"
        report = CrossDomain(
            {by_text: texts.mean, by_pair: ranked.average_precision},
            {by_text: texts.interval, by_pair: ranked.average_precision_interval},
        )
    try:
        threshold = model.decisions.of().usable.threshold
    except NoVerdict:
        threshold = None
    if corpus.kind == "documents":
        if vectors is None:
            return report
        least = None if threshold is None or not read.score_is_dot_product else threshold - constant(model)
        return report | _links(vectors, evaluator, least)
    pairs = corpus.pairs["test"]
    score = read.score(*(np.searchsorted(members, side) for side in (pairs.left, pairs.right)))
    units = units_of(pairs.left, pairs.right)
    measured = CrossDomain()
    if corpus.kind == "graded_pairs":
        correlated = pair_intervals.pearson_statistic(score, pairs.label)
        spread = bootstrap_interval(correlated, len(pairs), units, resamples=evaluator.resamples, seed=evaluator.seed)
        measured |= CrossDomain({"pearson": pearson(score, pairs.label)}, {"pearson": spread})
    truth = pairs.label >= corpus.positive_label
    measured |= CrossDomain({"same_share": float(truth.mean())})
    if threshold is not None:
        measured |= _decided(score >= threshold, truth, units, evaluator)
    return report | (CrossDomain(measured.metrics) if few_units(units) else measured)


def shared_texts(source: Corpus, other: Corpus) -> int:
    """Number of test texts of another dataset that are, word for word, among those that were learnt from or chosen on.

    Raises:
        ValueError: if they are more than `MOST_SHARED` of them.
    """
    known = {*source.texts_of("train"), *source.texts_of("val")}
    texts = other.texts_of("test")
    shared = sum(text in known for text in texts)
    if shared > MOST_SHARED * len(texts):
        raise ValueError(
            f"{shared} of the {len(texts)} test texts of {other.name} are texts of train or validation of "
            f"{source.name}, so a model of {source.name} knows them: expected data of another kind"
        )
    return shared


def _vectors(read: ReadTexts, corpus: Corpus, evaluator: Standard) -> DocumentVectors | None:
    """The vectors of the test texts whose group is known, with that group alone; None without vectors or groups."""
    groups = duplicate_groups(corpus, "test", classes=evaluator.classes)
    if groups is None or not read.searchable:
        return None
    name, codes = groups
    return with_known(DocumentVectors(*read.search_matrices(np.arange(len(codes))), {name: codes}), name)


def _links(vectors: DocumentVectors, evaluator: Standard, least: float | None) -> CrossDomain:
    """F1 of the links from a dot product on, over all pairs of documents, with an interval that resamples groups."""
    (codes,) = vectors.groups.values()
    _, sizes = np.unique(codes, return_counts=True)
    report = CrossDomain({"same_share": float((sizes * (sizes - 1)).sum() / (len(codes) * (len(codes) - 1)))})
    if least is None:
        return report
    links = links_above(vectors, least)
    f1 = _f1_statistic(*link_statistics(codes, links))
    interval = bootstrap_interval(f1, len(sizes), resamples=evaluator.resamples, seed=evaluator.seed)
    return report | CrossDomain({"f1": float(f1(np.ones((1, len(sizes))))[0])}, {"f1": interval})


def _f1_statistic(precision: Statistic, recall: Statistic) -> Statistic:
    def f1(weights: Floats) -> Floats:
        one, other = np.nan_to_num(precision(weights)), recall(weights)
        both = one + other
        return np.asarray(np.divide(2 * one * other, both, out=np.zeros_like(both), where=both > 0))

    return f1


def _decided(
    predicted: NDArray[np.bool_], truth: NDArray[np.bool_], units: NDArray[np.int64], evaluator: Standard
) -> CrossDomain:
    """Return accuracy and F1 of decisions about pairs."""
    confusion = Confusion.of(predicted, truth)
    drawn = pair_intervals.confusion_intervals(
        predicted, truth, units, resamples=evaluator.resamples, seed=evaluator.seed
    )
    return CrossDomain(
        {"accuracy": confusion.accuracy, "f1": confusion.f1},
        {"accuracy": pair_intervals.share_interval(predicted == truth, units), "f1": drawn["f1"]},
    )
