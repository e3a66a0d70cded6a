"""Average precision of each text: how far above all others its ranking puts the texts of its own group.

    AP(a) = 1/|R| Σ_{b ∈ R} |{c ∈ R : s(a, c) ≥ s(a, b)}| / |{c ≠ a : s(a, c) ≥ s(a, b)}|,   R = others of a's group

Its mean over the texts that have another one of their group is the MAP of retrieval (Manning, Raghavan and Schütze,
"Introduction to information retrieval", 2008, section 8.4), with every other text as a candidate. Each text counts
once, where average precision over pairs counts a group by the square of its size. Texts that are equally similar are
one step of the ranking, as in `ranking`, so a ranking that says nothing has the share of R among all others. The unit
of sampling is the group.

Shape letters: M texts, Q texts that have another one of their group, P candidate pairs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors, group_sizes
from twicetold.evaluation.intervals import Interval, Ints
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import BLOCK, similarities
from twicetold.neighbours.parallel import in_parallel
from twicetold_lab.evaluation.pair_intervals import clustered_mean_interval
from twicetold_lab.evaluation.units import Units

ROUNDING = 1e-6  # of a similarity, relative to itself or to 1: products in blocks differ in their last bits


@dataclass(frozen=True)
class TextRanking:
    """Average precision of each text that has another one of its group.

    Args:
        values: (Q,) average precision.
        groups: (Q,) code of the text's group.
    """

    values: Floats
    groups: Ints

    @property
    def mean(self) -> float:
        """The mean over texts."""
        return float(self.values.mean())

    @property
    def interval(self) -> Interval:
        """Its 95 % interval."""
        return clustered_mean_interval(self.values, self.groups)

    @property
    def units(self) -> Units:
        """Terms of the groups, for a comparison of two models."""
        return Units.of_mean(self.values, self.groups)


def rank_texts(vectors: DocumentVectors, group: str) -> TextRanking:
    """Rank all other texts for each text; a block of rows is compared at a time.

    Args:
        vectors: M texts; those of unknown group are left out.
        group: texts of one are relevant to each other.

    Raises:
        ValueError: if no text has another one of its group.
    """
    rows = np.flatnonzero(vectors.groups[group] != UNKNOWN)
    known = vectors if len(rows) == len(vectors) else vectors.take(rows)
    return _ranked(similarities(known.left, known.right), known.groups[group])


def rank_candidates(left: Ints, right: Ints, score: ArrayLike, codes: Ints) -> TextRanking:
    """Return the same where only some pairs have a score; all others rank below these, as one step.

    Args:
        left: (P,) text of each pair, each pair once.
        right: (P,) the other one.
        score: (P,) higher = more alike.
        codes: (M,) group of each text, none of them unknown.

    Raises:
        ValueError: if no text has another one of its group.
    """
    source, target = np.append(left, right), np.append(right, left)
    order = np.argsort(source, kind="stable")
    target, value = target[order], np.tile(np.asarray(score, np.float32), 2)[order]
    bounds = np.searchsorted(source[order], np.arange(len(codes) + 1))

    def similar(rows: Ints) -> NDArray[np.float32]:
        scores = np.full((len(rows), len(codes)), -np.inf, np.float32)
        for place, row in enumerate(rows.tolist()):
            part = slice(bounds[row], bounds[row + 1])
            scores[place, target[part]] = value[part]
        return scores

    return _ranked(similar, codes)


def _ranked(similar: Callable[[Ints], NDArray[np.float32]], codes: Ints) -> TextRanking:
    queries = np.flatnonzero(group_sizes(codes) > 1)
    if not len(queries):
        raise ValueError("no text has another of its group in the evaluated set: rankings cannot be measured")
    order = np.argsort(codes, kind="stable")
    start, stop = (np.searchsorted(codes[order], codes[queries], side) for side in ("left", "right"))
    step = max(1, BLOCK // len(codes))

    def measure(block: int) -> list[float]:
        part = slice(block * step, (block + 1) * step)
        rows = zip(
            queries[part].tolist(), similar(queries[part]), start[part].tolist(), stop[part].tolist(), strict=True
        )
        return [_average_precision(scores, order[first:last], text) for text, scores, first, last in rows]

    found = in_parallel(measure, math.ceil(len(queries) / step))
    return TextRanking(np.array([value for block in found for value in block]), codes[queries])


def _average_precision(scores: NDArray[Any], group: Ints, text: int) -> float:
    """From (M,) similarities of a text to all; those to its group are relevant, and that to itself does not count."""
    relevant = np.sort(scores[group[group != text]])
    least = relevant - np.float32(ROUNDING) * np.maximum(np.abs(relevant), 1)
    scores[text] = np.nan  # not above anything
    ranked = np.sort(scores[scores >= least[0]])
    taken, right = (len(each) - np.searchsorted(each, least) for each in (ranked, relevant))
    return float((right / taken).mean())
