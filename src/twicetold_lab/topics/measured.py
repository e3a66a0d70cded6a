r"""Topics of labelled texts against their labels.

For each label, texts are grouped into as many topics as it has values: how many there are is given, what they are is
not. Texts of which the model knows nothing count as one more topic.

Three measures of agreement, with H the entropy of a grouping's shares and I(P, L) = H(P) + H(L) − H(P, L) the mutual
information of predicted topics P and labels L:

- NMI = I / √(H(P) · H(L)) (Strehl and Ghosh 2002);
- V-measure, the harmonic mean of homogeneity I / H(L) and completeness I / H(P) (Rosenberg and Hirschberg 2007), so
  2 I / (H(P) + H(L)), which is NMI by the arithmetic mean;
- ARI, the share of pairs on which both agree, corrected for chance (Hubert and Arabie 1985).

Many small topics share much information with labels by chance alone, so NMI and V-measure mean something only beside
`by_chance`, the V-measure of topics of the same sizes whose texts are dealt out at random.

95 % intervals are by the jackknife over units (stories), with all their texts: texts of one story are no independent
observations, of a category neither. Topics stay as they are, so the intervals say nothing of how topics vary with the
texts that they are made of, or with the seed.

All follow from sums of n log n or n² over the table of topics by labels and over its margins (`left_out`).

Shape letters: M texts, G units.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.group_metrics import LeftOut
from twicetold.evaluation.inputs import UNKNOWN, finest_clusters
from twicetold.evaluation.intervals import Interval, effective_degrees, jackknife_variance, quantile
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import Matrix
from twicetold.topics.grouping import METHODS, Method, Topics, group_topics
from twicetold.topics.spherical import MOST_AGGLOMERATED

SEEDS = 3
Ints = NDArray[np.int64]
MEASURES = ("nmi", "v_measure", "ari")


@dataclass(frozen=True)
class MeasuredTopics:
    """Agreement of topics with one label."""

    metrics: dict[str, float]
    """`MEASURES` and `by_chance` of the first seed, and `count`, the number of topics that were asked for."""
    intervals: dict[str, tuple[float, float]]
    deviations: dict[str, float]
    """Of `MEASURES`, the standard deviation over `SEEDS` seeds; none of a method without a seed."""


def measure_topics(
    vectors: Matrix, texts: list[str], labels: Mapping[str, Ints], *, seed: int = 0
) -> dict[str, dict[Method, MeasuredTopics]]:
    """Compare topics with labels.

    Args:
        vectors: (M, D) dense or CSR.
        texts: (M,).
        labels: name -> (M,) codes, `UNKNOWN` where there is none; the finest is what intervals resample.
        seed: the first one.

    Returns:
        Label -> method -> measures; `agglomerative` only where there are not too many texts. A label that all texts
        share, or none has, is left out.
    """
    unit = finest_clusters(labels, ())
    measures: dict[str, dict[Method, MeasuredTopics]] = {}
    for name, codes in labels.items():
        rows = np.flatnonzero(codes != UNKNOWN)
        count = len(np.unique(codes[rows]))
        if count < 2:
            continue
        methods = [method for method in METHODS if method == "kmeans" or len(rows) <= MOST_AGGLOMERATED]
        part, said = vectors[rows], [texts[row] for row in rows.tolist()]
        measures[name] = {}
        for method in methods:
            seeds = range(seed, seed + (SEEDS if method == "kmeans" else 1))
            grouped = [group_topics(part, said, count=count, method=method, seed=each) for each in seeds]
            measures[name][method] = _measured(grouped, codes[rows], unit[rows], count)
    return measures


def _measured(grouped: list[Topics], label: Ints, unit: Ints, count: int) -> MeasuredTopics:
    each: list[TopicAgreement] = [agreement(topics.topic, label, unit) for topics in grouped]
    deviations = {}
    if len(each) > 1:
        deviations = {name: float(np.std([one.values[name] for one in each], ddof=1)) for name in MEASURES}
    return MeasuredTopics({**each[0].values, "count": float(count)}, each[0].intervals, deviations)


@dataclass(frozen=True)
class TopicAgreement:
    """Agreement of topics with labels; 1 if they are the same."""

    values: dict[str, float]
    """`MEASURES` and `by_chance`."""
    intervals: dict[str, Interval]
    """Of `MEASURES`; without those of which the jackknife has no variance, as of a single unit."""


def agreement(predicted: ArrayLike, label: ArrayLike, unit: ArrayLike, *, seed: int = 0) -> TopicAgreement:
    """Compare topics with labels.

    Args:
        predicted: (M,) topic codes.
        label: (M,) label codes.
        unit: (M,) code of what is drawn as a whole, such as the story.
        seed: of the dealing for `by_chance`.

    Raises:
        ValueError: if the lengths differ or there is no text.
    """
    topic, true, whole = (np.asarray(codes) for codes in (predicted, label, unit))
    if not topic.shape == true.shape == whole.shape or topic.ndim != 1 or not topic.size:
        raise ValueError(
            f"expected a topic, a label and a unit of each text, got shapes {topic.shape}, {true.shape}, {whole.shape}"
        )
    values = _of_all(topic, true)
    intervals = {}
    for name, left in without_each(topic, true, whole).items():
        variance = jackknife_variance(left)
        if math.isfinite(variance):
            half = quantile(effective_degrees(left)) * math.sqrt(variance)
            lowest = -1.0 if name == "ari" else 0.0
            intervals[name] = max(lowest, values[name] - half), min(1.0, values[name] + half)
    dealt = np.random.default_rng(seed).permutation(topic)
    return TopicAgreement({**values, "by_chance": _of_all(dealt, true)["v_measure"]}, intervals)


def _of_all(topic: ArrayLike, label: ArrayLike) -> dict[str, float]:
    measures = _measures(LeftOut.of(topic, label, np.zeros_like(topic), nothing=True))
    return {name: float(values[0]) for name, values in measures.items()}


def without_each(predicted: ArrayLike, label: ArrayLike, unit: ArrayLike) -> dict[str, Floats]:
    """Each of `MEASURES` -> (G,) its value without each unit, in the order of codes; NaN without any text."""
    return _measures(LeftOut.of(predicted, label, unit))


def _measures(left: LeftOut) -> dict[str, Floats]:
    texts = left.texts
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = [np.maximum(np.log(texts) - each / texts, 0) for each in left.sums(_n_log_n)]
        values = _information(*entropy) | {"ari": _adjusted_rand(*left.pairs())}
    return {name: np.where(texts > 0, value, np.nan) for name, value in values.items()}


def _n_log_n(count: Floats) -> Floats:
    return np.asarray(count * np.log(np.maximum(count, 1)))


def _information(topic: Floats, label: Floats, both: Floats) -> dict[str, Floats]:
    """NMI and V-measure from entropies; 1 where both groupings have one group, as then they are the same."""
    shared = np.maximum(topic + label - both, 0)
    single = (topic < 1e-12) & (label < 1e-12)
    product, total = np.sqrt(topic * label), topic + label
    nmi = np.divide(shared, product, out=np.zeros_like(shared), where=product > 1e-12)
    v_measure = np.divide(2 * shared, total, out=np.zeros_like(shared), where=total > 1e-12)
    return {
        name: np.where(single, 1.0, np.minimum(value, 1)) for name, value in (("nmi", nmi), ("v_measure", v_measure))
    }


def _adjusted_rand(topic: Floats, label: Floats, both: Floats, every: Floats) -> Floats:
    """ARI from the pairs within topics, within labels, within both, and all; 1 where the groupings are the same."""
    expected, most = topic * label / np.maximum(every, 1), (topic + label) / 2
    same = (np.abs(topic - both) < 0.5) & (np.abs(label - both) < 0.5)
    value = np.divide(both - expected, most - expected, out=np.zeros_like(both), where=np.abs(most - expected) > 1e-12)
    return np.where(same, 1.0, value)
