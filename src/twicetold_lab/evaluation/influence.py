"""Intervals of all-pairs AUROC and average precision, where pairs share documents and are not independent.

Both metrics are smooth functions of the histogram, so the influence of a pair depends on its score alone. The influence
of a cluster of documents (a story) is the sum over its pairs, and the sum of squares over clusters estimates the
variance: the delete-one-cluster jackknife to first order (Efron 1982, "The jackknife, the bootstrap and other
resampling plans", chapter 6). It takes one more pass over the pairs.

Shape letters: M documents, T tables (label × metric), K distinct scores.
"""

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.all_pairs import MEASURES, PairHistogram, influence_tables
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import Interval, effective_degrees, logit_interval, variance
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.score_scale import ScoreScale
from twicetold.neighbours.parallel import in_parallel
from twicetold_lab.evaluation.units import Units


def all_pairs_units(
    vectors: DocumentVectors, histograms: dict[str, PairHistogram], *, clusters: NDArray[np.int64]
) -> dict[str, dict[str, Units]]:
    """Return the contribution of each cluster to AUROC and average precision of all pairs.

    Args:
        vectors: the M documents that were counted.
        histograms: from `all_pairs.pair_histograms`.
        clusters: (M,) unit of sampling of each document.

    Returns:
        Group name -> metric ("auroc", "average_precision") -> units.
    """
    found: dict[str, dict[str, Units]] = {}
    for rows, part in vectors.by_known():
        _, unit = np.unique(clusters[rows], return_inverse=True)
        for name, codes in part.groups.items():
            sums = cluster_sums(part, histograms[name], codes=codes, clusters=unit)
            found[name] = {measure: Units.of(terms, unit, codes) for measure, terms in zip(MEASURES, sums, strict=True)}
    return found


def all_pairs_intervals(
    histograms: dict[str, PairHistogram], units: dict[str, dict[str, Units]]
) -> dict[str, dict[str, Interval]]:
    """Return 95 % intervals of AUROC and average precision of all pairs.

    Args:
        histograms: from `all_pairs.pair_histograms`.
        units: from `all_pairs_units`.

    Returns:
        Group name -> metric ("auroc", "average_precision") -> interval.
    """
    intervals: dict[str, dict[str, Interval]] = {}
    for name, of_measure in units.items():
        counts = histograms[name].counts()
        values = {"auroc": counts.auroc(), "average_precision": counts.average_precision()}
        intervals[name] = {
            measure: logit_interval(values[measure], variance(each.terms), effective_degrees(each.terms))
            for measure, each in of_measure.items()
        }
    return intervals


def cluster_sums(
    vectors: DocumentVectors, histogram: PairHistogram, *, codes: NDArray[np.int64], clusters: NDArray[np.int64]
) -> Floats:
    """Return (metrics, clusters) first-order change of each metric when a cluster's documents are removed."""
    positive, negative = influence_tables(histogram)
    scale = histogram.scale
    both = clusters * (codes.max() + 1) + codes  # same cluster and same label
    everything = row_sums(vectors, scale, np.zeros_like(codes), negative)
    everything += row_sums(vectors, scale, codes, positive - negative)
    inside = row_sums(vectors, scale, clusters, negative) + row_sums(vectors, scale, both, positive - negative)
    touching = everything - inside / 2  # a pair inside a cluster is in the sums of both its documents
    return np.stack([np.bincount(clusters, weights=row) for row in touching])


def row_sums(vectors: DocumentVectors, scale: ScoreScale, codes: NDArray[np.int64], tables: Floats) -> Floats:
    """Return (T, M): for each document the sum of table[score index] over the other documents of its code."""
    import torch  # which models in use do without

    from twicetold.evaluation.tiles import Tiling, tiles_of

    tiling = Tiling.of(codes)
    tiles = tiles_of(vectors, scale, order=tiling.order)
    # Table entries are of the order of 1 / pairs; scaled up, they keep float32's precision.
    unit = np.abs(tables).max() or 1.0
    lookup = [torch.from_numpy(table / unit).to(torch.float32) for table in tables]

    def row(one: int) -> torch.Tensor:
        part = tiling.parts[one]
        sums = torch.zeros(len(lookup), len(codes), dtype=torch.float64)
        for other in range(one, len(tiling.parts)):
            if one != other and not tiling.together(one, other):
                continue
            columns = tiling.parts[other]
            block = tiles.block(part, columns)
            for table, total in zip(lookup, sums, strict=True):
                values = torch.index_select(table, 0, block.view(-1)).view(block.shape)
                if one == other:
                    values = values.mul_(tiling.same(one)).triu_(diagonal=1)
                total[part] += values.sum(dim=1)
                total[columns] += values.sum(dim=0)
        return sums

    ordered = np.zeros((len(lookup), len(codes)))
    for partial in in_parallel(row, len(tiling.parts)):
        ordered += partial.numpy()
    sums = np.empty((len(lookup), len(codes)))
    sums[:, tiling.order] = ordered * unit
    return sums
