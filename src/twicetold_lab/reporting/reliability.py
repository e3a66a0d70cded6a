"""Reliability of the probabilities of models: predicted probability against the observed share of duplicates.

Shape letters: P test pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.reporting.leaderboard import Row
from twicetold_lab.runs.records import read_decision, read_scores

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Test pairs whose predicted probability lies in one tenth of [0, 1]."""

    low: float
    high: float
    count: int
    predicted: float
    """Mean predicted probability."""
    observed: float
    """Share of duplicates."""


@dataclass(frozen=True)
class Reliability:
    """Predicted probability against observed share for one model."""

    model: str
    bins: tuple[Bin, ...]
    """Those that hold any pair."""

    @property
    def gap(self) -> float:
        """Mean distance between predicted and observed, weighted by pairs (expected calibration error)."""
        pairs = sum(b.count for b in self.bins)
        return sum(b.count * abs(b.predicted - b.observed) for b in self.bins) / pairs


def reliabilities(rows: Sequence[Row]) -> list[Reliability]:
    """The reliability of each model's probabilities on test; models without scores of pairs are left out."""
    found = []
    for row in rows:
        scores = read_scores(row.first.folder, "test")
        if scores is not None:
            probability = read_decision(row.first).probability(scores.score)
            found.append(Reliability(row.model, reliability_bins(probability, scores.label)))
    return found


def reliability_bins(probability: NDArray[np.float64], label: NDArray[np.float64]) -> tuple[Bin, ...]:
    """Group pairs by tenths of predicted probability; equal probabilities always share a bin.

    Args:
        probability: (P,) in [0, 1].
        label: (P,) 0 or 1.
    """
    which = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(which, minlength=BINS)
    predicted = np.bincount(which, weights=probability, minlength=BINS)
    observed = np.bincount(which, weights=label, minlength=BINS)
    return tuple(
        Bin(b / BINS, (b + 1) / BINS, int(counts[b]), float(predicted[b] / counts[b]), float(observed[b] / counts[b]))
        for b in np.flatnonzero(counts)
    )
