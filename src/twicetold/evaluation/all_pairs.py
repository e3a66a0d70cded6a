"""ROC AUC and average precision over all pairs i < j of labelled documents, for several labels at once.

Scores are counted in a histogram, tile by tile, so memory is bounded by the tile and by `bins`, not by the number of
pairs. Documents are sorted by the label with the most positive pairs, so that all pairs of two different tiles are
positive, or all are negative. For every further label only the pairs within its groups are scored again: its negatives
are the total minus its positives.

Resolution: scores that round to the same of `bins + 1` values are ties. AUC is exact for the rounded scores; for
unrounded ones its error is at most `ScoreCounts.resolution_error()`, half the share of tied positive-negative pairs.
Scores that are multiples of the bin width are exact.

Both measures are smooth functions of the histogram, so the influence of a pair on them depends on its score alone.

Shape letters: M documents, K distinct scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.ranking import Floats, ScoreCounts
from twicetold.evaluation.score_scale import ScoreScale
from twicetold.neighbours.parallel import in_parallel

OVER_PAIRS = ("auroc_", "average_precision_")
"""Primary metrics of documents, before the name of a group."""
BINS = 65_536
MEASURES = ("auroc", "average_precision")


@dataclass(frozen=True)
class PairHistogram:
    """Counts of positive and negative pairs at each value of a score scale."""

    scale: ScoreScale
    positive: NDArray[np.int64]
    """(bins + 1,)"""
    negative: NDArray[np.int64]
    """(bins + 1,)"""

    def occupied(self) -> NDArray[np.int64]:
        """Return indices with at least one pair."""
        return np.flatnonzero(self.positive + self.negative)

    @property
    def has_both(self) -> bool:
        """True if there are a positive and a negative pair."""
        return bool(self.positive.any() and self.negative.any())

    def counts(self) -> ScoreCounts:
        """Return the counts at the scores that occur.

        Raises:
            ValueError: if there is no positive or no negative pair.
        """
        at = self.occupied()
        return ScoreCounts(self.scale.values[at], self.positive[at], self.negative[at])


def pair_histograms(vectors: DocumentVectors, *, bins: int = BINS) -> dict[str, PairHistogram]:
    """Return the histogram of ⟨left_i, right_j⟩ over all i < j, for each group of `vectors`.

    Args:
        vectors: M documents; documents of unknown group are in no pair of that label.
        bins: steps over the range of scores, [-1, 1] for cosine; otherwise the range is bounded first.

    Returns:
        Group name -> histogram, in the order of `vectors.groups`.

    Raises:
        ValueError: if `bins` cannot be used.
    """
    scale = ScoreScale.covering(vectors, bins=bins)
    found: dict[str, PairHistogram] = {}
    for _, known in vectors.by_known():
        first, *others = sorted(known.groups, key=lambda name: -related_pairs(known.groups[name]))
        positive, negative = _count(known, known.groups[first], scale, across=True)
        found[first] = PairHistogram(scale, positive, negative)
        for name in others:
            own, _ = _count(known, known.groups[name], scale, across=False)
            found[name] = PairHistogram(scale, own, positive + negative - own)
    return {name: found[name] for name in vectors.groups}


def pair_counts(vectors: DocumentVectors, *, bins: int = BINS) -> dict[str, ScoreCounts]:
    """Return counted scores of all pairs for each group: `.auroc()`, `.average_precision()`, `.roc_curve()`.

    Raises:
        ValueError: if a group has no positive or no negative pair.
    """
    return named_counts(pair_histograms(vectors, bins=bins))


def named_counts(histograms: Mapping[str, PairHistogram]) -> dict[str, ScoreCounts]:
    """Return the counts of each histogram; an error names the group."""
    counts = {}
    for name, histogram in histograms.items():
        try:
            counts[name] = histogram.counts()
        except ValueError as error:
            raise ValueError(f"group {name!r}: {error}") from None
    return counts


def related_pairs(codes: NDArray[np.int64]) -> int:
    """Return the number of pairs that share a code."""
    _, sizes = np.unique(codes, return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def influence_tables(histogram: PairHistogram) -> tuple[Floats, Floats]:
    """Return (metrics, bins + 1) influence of a positive and of a negative pair with each score index."""
    counts, at = histogram.counts(), histogram.occupied()
    tables = np.zeros((2, len(MEASURES), histogram.scale.bins + 1))
    tables[:, 0, at] = _auroc_influence(counts)
    tables[:, 1, at] = _average_precision_influence(counts)
    return tables[0], tables[1]


def _count(
    vectors: DocumentVectors, codes: NDArray[np.int64], scale: ScoreScale, *, across: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return counts of the pairs within groups and, if `across`, of those across."""
    from twicetold.evaluation.tiles import Tiling, count_row, tiles_of  # takes PyTorch, and models in use do without

    tiling = Tiling.of(codes)
    tiles = tiles_of(vectors, scale, order=tiling.order)
    within, beyond = np.zeros((2, scale.bins + 1), dtype=np.int64)
    for one, other in in_parallel(lambda row: count_row(tiles, tiling, row, scale.bins, across), len(tiling.parts)):
        within += one.numpy()
        beyond += other.numpy()
    return within, beyond


def _auroc_influence(counts: ScoreCounts) -> Floats:
    """Return (2, K): of positives and negatives."""
    below = (np.cumsum(counts.negative) - counts.negative / 2) / counts.negatives
    above = 1 - (np.cumsum(counts.positive) - counts.positive / 2) / counts.positives
    area = counts.auroc()
    return np.stack([(below - area) / counts.positives, (above - area) / counts.negatives])


def _average_precision_influence(counts: ScoreCounts) -> Floats:
    """Return (2, K): derivative of Σ recall step × precision in the number of pairs at each score."""
    precision = counts.precision_from_top()
    taken = np.cumsum((counts.positive + counts.negative)[::-1])[::-1]
    # One more positive (negative) lifts (lowers) the precision at its own score and at all below.
    lift = np.cumsum(counts.positive * (1 - precision) / taken)
    drop = np.cumsum(counts.positive * precision / taken)
    return np.stack([precision - counts.average_precision() + lift, -drop]) / counts.positives
