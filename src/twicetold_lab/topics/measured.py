"""Topics of labelled texts against their labels.

For each label, texts are grouped into as many topics as it has values: how many there are is given, what they are is
not. Texts of which the model knows nothing count as one more topic.

Shape letters: M texts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.inputs import UNKNOWN, finest_clusters
from twicetold.neighbours.nearest import Matrix
from twicetold.topics.grouping import METHODS, Method, Topics, group_topics
from twicetold.topics.spherical import MOST_AGGLOMERATED
from twicetold_lab.evaluation.topic_agreement import MEASURES, TopicAgreement, agreement

SEEDS = 3
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MeasuredTopics:
    """How well topics agree with one label."""

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
    found: dict[str, dict[Method, MeasuredTopics]] = {}
    for name, codes in labels.items():
        rows = np.flatnonzero(codes != UNKNOWN)
        count = len(np.unique(codes[rows]))
        if count < 2:
            continue
        methods = [method for method in METHODS if method == "kmeans" or len(rows) <= MOST_AGGLOMERATED]
        part, said = vectors[rows], [texts[row] for row in rows.tolist()]
        found[name] = {}
        for method in methods:
            seeds = range(seed, seed + (SEEDS if method == "kmeans" else 1))
            grouped = [group_topics(part, said, count=count, method=method, seed=each) for each in seeds]
            found[name][method] = _measured(grouped, codes[rows], unit[rows], count)
    return found


def _measured(grouped: list[Topics], label: Ints, unit: Ints, count: int) -> MeasuredTopics:
    each: list[TopicAgreement] = [agreement(found.topic, label, unit) for found in grouped]
    deviations = {}
    if len(each) > 1:
        deviations = {name: float(np.std([one.values[name] for one in each], ddof=1)) for name in MEASURES}
    return MeasuredTopics({**each[0].values, "count": float(count)}, each[0].intervals, deviations)
