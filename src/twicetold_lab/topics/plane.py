r"""A map of topics: their centres in the plane that keeps most of how they differ.

Principal components of the centres, each with the weight of its texts. With A the T × D matrix of the rows
√w_t (c_t − mean) and A Aᵀ = U S² Uᵀ, the coordinates of topic t are U S / √w_t; no matrix is larger than T × T or the
centres. Distances on the map are no larger than they are; how much of their spread it keeps is said beside it.

Shape letters: M texts, T topics, D dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.inputs import UNKNOWN
from twicetold.neighbours.nearest import Matrix
from twicetold.topics.grouping import Topics

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MappedTopic:
    """A topic on the map."""

    name: str
    size: int
    x: float
    y: float
    label: str | None
    """That most of its texts have; None where none has one."""
    share: float
    """Of its texts with a label, those that have this one."""


@dataclass(frozen=True)
class TopicMap:
    """All topics, the largest first."""

    topics: tuple[MappedTopic, ...]
    kept: float
    """Share of the spread of the centres that the plane keeps."""


def topic_map(grouped: Topics, label: Ints, names: Sequence[str]) -> TopicMap:
    """Draw topics on a plane, each with the label that most of its texts have.

    Args:
        grouped: topics of M texts.
        label: (M,) codes, `UNKNOWN` where there is none.
        names: of the codes.
    """
    place, kept = plane(grouped.centre, grouped.size.astype(np.float64))
    known = (label != UNKNOWN) & (grouped.topic >= 0)
    counts = np.zeros((len(grouped), len(names)), np.int64)
    np.add.at(counts, (grouped.topic[known], label[known]), 1)
    most, total = counts.argmax(axis=1), counts.sum(axis=1)
    topics = tuple(
        MappedTopic(
            name=grouped.names[topic],
            size=int(grouped.size[topic]),
            x=round(float(place[topic, 0]), 4),
            y=round(float(place[topic, 1]), 4),
            label=names[most[topic]] if total[topic] else None,
            share=round(float(counts[topic, most[topic]] / max(total[topic], 1)), 4),
        )
        for topic in range(len(grouped))
    )
    return TopicMap(topics, round(kept, 4))


def plane(centres: Matrix, weight: Floats) -> tuple[Floats, float]:
    """(T, 2) coordinates, and the share of the weighted squares that they keep; each axis has its longest end up.

    Args:
        centres: (T, D) dense or CSR.
        weight: (T,) above 0.
    """
    count = len(weight)
    if not count:
        return np.empty((0, 2)), 1.0
    root, product = np.sqrt(weight), centres @ centres.T
    gram = np.asarray(product.toarray() if sparse.issparse(product) else product, np.float64)
    share = weight / weight.sum()
    mean = gram @ share
    gram = gram - mean[:, None] - mean + share @ mean  # of the centres less their mean
    values, vectors = np.linalg.eigh(root[:, None] * gram * root)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    place = np.zeros((count, 2))
    axes = min(2, count)
    place[:, :axes] = vectors[:, :axes] * np.sqrt(values[:axes]) / root[:, None]
    longest = place[np.abs(place).argmax(axis=0), np.arange(2)]
    total = values.sum()
    return place * np.where(longest < 0, -1, 1), float(values[:2].sum() / total) if total > 1e-12 else 1.0
