"""Agreement of links and groups with groups that are known for some rows: the measures of `evaluate`, for any file.

Rows whose group is not known take part in no measure. All intervals have the known group as unit.

- Average precision is over all pairs of rows, by the similarity of their vectors. It is that of `evaluation.all_pairs`
  and `evaluation.influence`, without PyTorch: a histogram of all similarities, then the sum of the influences of the
  pairs of each group.
- Links are between distinct texts; a text has the group of the first of its rows whose group is known.
- Groups are of rows.

Whoever chooses a threshold by these measures must not take them for what it is worth on other files.

Shape letters: n rows, K of them with a known group, m distinct texts, M texts, r rows and c columns of a block.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.evaluation.all_pairs import BINS, MEASURES, PairHistogram, influence_tables
from twicetold.evaluation.group_metrics import GroupScores, agreement_intervals, group_scores
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import (
    Interval,
    Statistic,
    bootstrap_interval,
    effective_degrees,
    logit_interval,
    pooled,
    variance,
)
from twicetold.evaluation.link_metrics import link_statistics, text_precision_with_interval
from twicetold.evaluation.score_scale import ScoreScale
from twicetold.neighbours.components import numbered
from twicetold.neighbours.grouping import Floats, Ints, Links, Vectors
from twicetold.neighbours.parallel import in_threads
from twicetold.printable import counted
from twicetold.tables.columns import MISSING, Column, codes_of
from twicetold.trained.reading import SAMPLE, sampled

RESAMPLES = 1000
BLOCK = 256  # rows that are compared at a time
MEASURE = "average_precision"
Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows and columns of a block."""


@dataclass(frozen=True)
class Measured:
    """A measure with its 95 % interval; None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class GroupAgreement:
    """Links and groups beside known groups.

    Args:
        rows: K, whose group is known.
        groups: known ones of two or more rows.
        pairs: of rows of one known group.
        ranked: rows over whose pairs average precision is: K, or a sample; 0 if a model scored pairs one by one.
        measures: `average_precision`, `link_precision`, `text_precision` (the mean over linked texts), `link_recall`,
            `ari`, `pair_f1`, `b3`; without those that are undefined, such as the precision of no links.
    """

    rows: int
    groups: int
    pairs: int
    ranked: int
    measures: dict[str, Measured]


@dataclass(frozen=True)
class KnownGroups:
    """Groups that are known for some rows.

    Args:
        rows: (K,) ascending.
        codes: (K,) group of each, from 0 without gaps.
    """

    rows: Ints
    codes: Ints

    @classmethod
    def of(cls, count: int, values: Column) -> "KnownGroups":
        """From a column of n values: rows of one value are of one group, and rows without a value of none.

        Raises:
            TypeError: if it is no column of plain values.
            ValueError: if it has another length, or no two rows have one value, or all have the same.
        """
        code = codes_of(values)
        if len(code) != count:
            raise ValueError(f"truth: expected a value for each of {counted(count, 'text')}, got {len(code):,}")
        rows = np.flatnonzero(code != MISSING)
        codes = numbered(code[rows])
        number = int(codes.max(initial=-1)) + 1
        if number in (0, 1, len(rows)):
            raise ValueError(
                f"truth: expected at least two groups, and one of two or more rows, to compare with; got {number:,} "
                f"groups of {counted(len(rows), 'row')} with a value"
            )
        return cls(rows, codes)

    def scores(self, group: Ints) -> GroupScores:
        """Agreement of (n,) groups."""
        return group_scores(group[self.rows], self.codes)

    def agreement(self, group: Ints, links: Links, distinct: DistinctTexts, vectors: Vectors | None) -> GroupAgreement:
        """All measures.

        Args:
            group: (n,) of each row.
            links: of the m distinct texts.
            distinct: the texts.
            vectors: (m, D) of the distinct texts, whose dot products are similarities; None: they are not.
        """
        scores, ends = self.scores(group), agreement_intervals(group[self.rows], self.codes)
        measures, ranked = dict[str, Measured](), 0
        if vectors is not None:
            chosen = sampled(np.arange(len(self.rows)), SAMPLE)
            if (precision := self._ranked(chosen, distinct.place[self.rows[chosen]], vectors)) is not None:
                measures["average_precision"], ranked = precision, len(chosen)
        measures |= self._links(links, distinct)
        for name, value in (("ari", scores.ari), ("pair_f1", scores.f1), ("b3", scores.b3)):
            measures[name] = Measured(value, *ends.get(name, ()))
        sizes = np.bincount(self.codes)
        pairs = int((sizes * (sizes - 1) // 2).sum())
        return GroupAgreement(len(self.rows), int((sizes > 1).sum()), pairs, ranked, measures)

    def _ranked(self, chosen: Ints, texts: Ints, vectors: Vectors) -> Measured | None:
        """Average precision over all pairs of some of the rows; None if no two, or all, are of one group."""
        codes = numbered(self.codes[chosen])
        if int(codes.max()) + 1 in (1, len(codes)):
            return None
        queries, documents = vectors
        left = queries[texts]
        right = left if documents is queries else documents[texts]
        value, ends = average_precision(codes, (left, right))
        return Measured(value, *ends)

    def _links(self, links: Links, distinct: DistinctTexts) -> dict[str, Measured]:
        """Precision and recall of links between distinct texts of known groups."""
        code = np.full(len(distinct), MISSING, np.int64)
        code[distinct.place[self.rows][::-1]] = self.codes[::-1]  # of several assignments the last one holds
        known = np.flatnonzero(code != MISSING)
        number = np.full(len(code), MISSING, np.int64)
        number[known] = np.arange(len(known))
        inside = links.take((code[links.left] != MISSING) & (code[links.right] != MISSING))
        inside = Links(len(known), number[inside.left], number[inside.right], inside.similarity)
        codes = numbered(code[known])
        groups = int(codes.max()) + 1
        measures = {}
        for name, statistic in zip(("link_precision", "link_recall"), link_statistics(codes, inside), strict=True):
            value = float(statistic(np.ones((1, groups)))[0])
            if not np.isnan(value):
                measures[name] = Measured(value, *_bootstrapped(statistic, groups))
        by_text, ends = text_precision_with_interval(codes, inside)
        if ends:
            measures["text_precision"] = Measured(by_text, *ends)
        order = ("link_precision", "text_precision", "link_recall")
        return {name: measures[name] for name in order if name in measures}


def _bootstrapped(statistic: Statistic, groups: int) -> Interval | tuple[()]:
    """The interval of a statistic; none if there are too few pairs for one."""
    try:
        return bootstrap_interval(statistic, groups, resamples=RESAMPLES)
    except ValueError:
        return ()


def average_precision(codes: Ints, vectors: Vectors) -> tuple[float, Interval]:
    """Average precision of ⟨left_i, right_j⟩ over all i < j, and its 95 % interval.

    Args:
        codes: (M,) group of each text, from 0 without gaps, not all of one group, nor each of its own.
        vectors: (M, D), as queries and as documents.
    """
    pairs = _Pairs(codes, vectors)
    histogram = pairs.histogram()
    terms = pooled(pairs.influence(histogram))
    value = histogram.counts().average_precision()
    return value, logit_interval(value, variance(terms), effective_degrees(terms))


class _Pairs:
    """All pairs of texts, by blocks of rows."""

    def __init__(self, codes: Ints, vectors: Vectors) -> None:
        left, right = vectors
        self.codes = codes
        self.scale = ScoreScale.covering(DocumentVectors(left, right, {MEASURE: codes}), bins=BINS)
        self.left, self.right = left.astype(np.float32) * np.float32(self.scale.factor), right.T.astype(np.float32)
        self.blocks = -(-len(codes) // BLOCK)

    def histogram(self) -> PairHistogram:
        """Counts of pairs of one group, and of others, by similarity."""
        steps = self.scale.bins + 1

        def counted(block: int) -> NDArray[np.int64]:
            index, own, same = self._block(block)
            everything = np.bincount(index.ravel(), minlength=steps) - np.bincount(index[own], minlength=steps)
            positive = np.bincount(index[same], minlength=steps)
            return np.stack([positive, everything - positive])

        positive, negative = sum(in_threads(counted, self.blocks), np.zeros((2, steps), np.int64))
        return PairHistogram(self.scale, positive, negative)

    def influence(self, histogram: PairHistogram) -> Floats:
        """(groups,) first-order change of average precision when a group's texts are left out."""
        tables = (table[MEASURES.index(MEASURE)].astype(np.float32) for table in influence_tables(histogram))
        positive, negative = tables

        def summed(block: int) -> Floats:
            index, own, same = self._block(block)
            value = np.take(negative, index)
            value[same] = positive[index[same]]
            value[own] = 0
            sums = np.zeros(len(self.codes))
            sums[block * BLOCK :] = value.sum(axis=0, dtype=np.float64)
            value[same] = 0  # a pair inside a group counts once
            sums[block * BLOCK :][: len(value)] += value.sum(axis=1, dtype=np.float64)
            return sums

        total = sum(in_threads(summed, self.blocks), np.zeros(len(self.codes)))
        return np.bincount(self.codes, weights=total).astype(np.float64)

    def _block(self, block: int) -> tuple[NDArray[np.int32], Places, Places]:
        """(r, c) step of the scale of each pair of some texts and all from the first of these on.

        And the places that are no pairs, as the column does not come after the row, and of pairs of one group.
        """
        start = block * BLOCK
        rows, columns = slice(start, start + BLOCK), slice(start, None)
        score: Any = self.left[rows] @ self.right[:, columns]
        score = score.toarray() if sparse.issparse(score) else score
        score += np.float32(self.scale.offset)
        row, column = np.nonzero(self.codes[columns] == self.codes[rows, None])
        later = column > row
        return score.astype(np.int32), np.tril_indices(len(score)), (row[later], column[later])
