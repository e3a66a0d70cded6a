"""Average precision over all pairs of some texts, with its interval, without PyTorch.

The numbers are those of `evaluation.all_pairs` and `evaluation.influence`, of one label whose groups are the units of
sampling: a histogram of all similarities, then the sum of the influences of the pairs of each group.

Shape letters: M texts, r rows and c columns of a block.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.all_pairs import BINS, PairHistogram
from twicetold.evaluation.influence import MEASURES, influence_tables
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import Interval, effective_degrees, logit_interval
from twicetold.evaluation.score_scale import ScoreScale
from twicetold.evaluation.units import Units, variance
from twicetold.neighbours.grouping import Floats, Ints, Vectors
from twicetold.neighbours.parallel import in_threads

ROWS = 256  # of a block
MEASURE = "average_precision"
Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows and columns of a block."""


def average_precision(codes: Ints, vectors: Vectors) -> tuple[float, Interval]:
    """Average precision of ⟨left_i, right_j⟩ over all i < j, and its 95 % interval.

    Args:
        codes: (M,) group of each text, from 0 without gaps, not all of one group, nor each of its own.
        vectors: (M, D), as queries and as documents.
    """
    pairs = _Pairs(codes, vectors)
    histogram = pairs.histogram()
    terms = Units.of(pairs.influence(histogram), codes).terms
    value = histogram.counts().average_precision()
    return value, logit_interval(value, variance(terms), effective_degrees(terms))


class _Pairs:
    """All pairs of texts, by blocks of rows."""

    def __init__(self, codes: Ints, vectors: Vectors) -> None:
        left, right = vectors
        self.codes = codes
        self.scale = ScoreScale.covering(DocumentVectors(left, right, {MEASURE: codes}), bins=BINS)
        self.left, self.right = left.astype(np.float32) * np.float32(self.scale.factor), right.T.astype(np.float32)
        self.blocks = -(-len(codes) // ROWS)

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
            sums[block * ROWS :] = value.sum(axis=0, dtype=np.float64)
            value[same] = 0  # a pair inside a group counts once
            sums[block * ROWS :][: len(value)] += value.sum(axis=1, dtype=np.float64)
            return sums

        total = sum(in_threads(summed, self.blocks), np.zeros(len(self.codes)))
        return np.bincount(self.codes, weights=total).astype(np.float64)

    def _block(self, block: int) -> tuple[NDArray[np.int32], Places, Places]:
        """(r, c) step of the scale of each pair of some texts and all from the first of these on.

        And the places that are no pairs, as the column does not come after the row, and of pairs of one group.
        """
        start = block * ROWS
        rows, columns = slice(start, start + ROWS), slice(start, None)
        score: Any = self.left[rows] @ self.right[:, columns]
        score = score.toarray() if sparse.issparse(score) else score
        score += np.float32(self.scale.offset)
        row, column = np.nonzero(self.codes[columns] == self.codes[rows, None])
        later = column > row
        return score.astype(np.int32), np.tril_indices(len(score)), (row[later], column[later])
