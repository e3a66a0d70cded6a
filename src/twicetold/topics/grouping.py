"""Texts in groups by topic, with a name for each.

Texts of a group are near to each other in direction, which need not mean that they say the same: `dedupe` is for that.

Shape letters: n texts, D dimensions, T topics.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.neighbours.nearest import Matrix
from twicetold.topics.naming import TERMS, distinctive_terms
from twicetold.topics.spherical import spherical_k_means, unit, ward

Method = Literal["kmeans", "agglomerative"]
METHODS: tuple[Method, ...] = get_args(Method)
NO_TOPIC = -1
MOST_BY_DEFAULT = 50


@dataclass(frozen=True)
class Topics:
    """Groups of texts by topic, the largest first.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> found = twicetold.fit(texts, lexical=True).topics(texts, count=2)  # Topics
        >>> dict(zip(found.names, found.size.tolist()))
        {'how, do, learn, to, swim': 2, 'where, can, buy, tent': 1}
    """

    topic: NDArray[np.int64]
    """(n,) from 0; `NO_TOPIC` of a text of which the model knows nothing, so that its vector has no direction."""
    closeness: NDArray[np.float32]
    """(n,) cosine of each text's vector with the centre of its topic; NaN without a topic."""
    terms: tuple[tuple[str, ...], ...]
    """Of each topic, its most distinctive words; none if its texts have no words."""
    size: NDArray[np.int64]
    """(T,) texts."""
    central: NDArray[np.int64]
    """(T,) the text nearest to the centre."""
    centre: Matrix
    """(T, D) unit vectors, dense or CSR."""

    def __len__(self) -> int:
        return len(self.size)

    @property
    def names(self) -> list[str]:
        """The terms of each topic in one line, or its number if it has none."""
        return [", ".join(terms) or f"topic {number}" for number, terms in enumerate(self.terms)]


def usual_count(texts: int) -> int:
    """The number of topics if none is asked for: √(n / 2), at least 1 and at most `MOST_BY_DEFAULT`."""
    return max(1, min(MOST_BY_DEFAULT, round(math.sqrt(texts / 2))))


def group_topics(
    vectors: Matrix,
    texts: Sequence[str],
    *,
    count: int | None = None,
    method: Method = "kmeans",
    terms: int = TERMS,
    seed: int = 0,
) -> Topics:
    """Group texts by the directions of their vectors.

    Args:
        vectors: (n, D) dense or CSR.
        texts: (n,) that names are made of.
        count: of topics; None: `usual_count`. Fewer are found where vectors have fewer directions.
        method: `kmeans`, for any number of texts, or `agglomerative`, which compares all pairs.
        terms: at most so many name a topic.
        seed: of `kmeans`.

    Raises:
        ValueError: if there is no text, `count` is not between 1 and the number of texts, `terms` is below 1, the
            method is another one, or there are too many texts for it.
    """
    number = len(texts)
    if not number:
        raise ValueError("there are no texts to group")
    if method not in METHODS:
        raise ValueError(f"expected one of {', '.join(METHODS)} as method, got {method!r}")
    if terms < 1:
        raise ValueError(f"expected at least one term for the name of a topic, got {terms}")
    if count is not None and not 1 <= count <= number:
        raise ValueError(f"expected between 1 and {number:,} topics, as there are {number:,} texts; got {count:,}")
    known = np.flatnonzero(has_direction(vectors))
    topic, closeness = np.full(number, NO_TOPIC, np.int64), np.full(number, np.nan, np.float32)
    if not len(known):
        none = np.empty(0, np.int64)
        return Topics(topic, closeness, (), none, none, vectors[none])
    asked = min(usual_count(len(known)) if count is None else count, len(known))
    rows = unit(vectors if len(known) == number else vectors[known])
    clusters = spherical_k_means(rows, asked, seed=seed) if method == "kmeans" else ward(rows, asked)
    topic[known], closeness[known] = clusters.label, clusters.closeness
    size = np.bincount(clusters.label)
    nearest = known[np.lexsort((-clusters.closeness, clusters.label))[np.cumsum(size) - size]]
    named = distinctive_terms(texts, topic, len(size), terms=terms)
    return Topics(topic, closeness, tuple(named), size, nearest, clusters.centre)


def has_direction(vectors: Matrix) -> NDArray[np.bool_]:
    """(n,) whether each vector is other than 0."""
    if sparse.issparse(vectors):
        return np.asarray(abs(vectors).sum(axis=1) > 0).ravel()
    return np.asarray(np.any(np.asarray(vectors) != 0, axis=1))
