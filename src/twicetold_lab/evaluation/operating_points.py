"""Possible thresholds on the score of labelled pairs, and the cost of each on test.

Thresholds are chosen on validation: the lowest one whose precision there reaches an aim, the one with the highest F1,
and the one with the highest accuracy. Intervals are Wilson's, of a share among pairs, on test by
units of pairs that share texts.

Shape letters: K distinct scores.
"""

from dataclasses import dataclass

import numpy as np

from twicetold.evaluation.decision import Decision, decide_counts
from twicetold.evaluation.inputs import ScoredPairs
from twicetold.evaluation.intervals import Interval, Ints
from twicetold.evaluation.link_metrics import FEWEST_LINKS
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import ScoreCounts, at_least, cuts, place_reaching
from twicetold_lab.evaluation.pair_intervals import share_interval

AIMS = (0.8, 0.9, 0.95, 0.99)
BEST_F1, BEST_ACCURACY = "best F1", "best accuracy"


@dataclass(frozen=True)
class Rates:
    """Rates of a threshold on one split."""

    precision: float | None
    """None if no pair is flagged."""
    recall: float
    flagged: float
    """Share of the pairs that are called the same."""
    errors: float
    """Share of the pairs with a wrong verdict."""
    intervals: dict[str, Interval]
    """Of the four, those that are defined; 95 %."""


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold that was chosen on validation, and its rates."""

    name: str
    """`precision 0.9`, `best F1` or `best accuracy`."""
    threshold: float | None
    """None if no threshold reaches the aimed precision."""
    probability: float | None
    """Calibrated probability of a pair at the threshold."""
    val: Rates | None
    test: Rates | None
    false_positive_rate: float | None
    """On test."""


def operating_points(
    val: ScoredPairs, test: ScoredPairs, *, calibration: Decision, units: Ints | None = None
) -> tuple[OperatingPoint, ...]:
    """Return the points at each of `AIMS`, at the best F1 and at the best accuracy.

    Args:
        val: where thresholds are chosen.
        test: where they are measured.
        calibration: from scores to probabilities.
        units: (P,) unit of sampling of each test pair; None: each is one of its own, as on validation.

    Raises:
        ValueError: if validation has only one class, or labels are not 0 or 1.
    """
    counts = ScoreCounts.of(val.score, val.label)
    thresholds = {f"precision {aim:g}": lowest_reaching(counts, aim) for aim in AIMS}
    thresholds[BEST_F1] = decide_counts(counts, aim="f1").threshold
    thresholds[BEST_ACCURACY] = decide_counts(counts, aim="accuracy").threshold
    return tuple(_point(name, threshold, val, test, calibration, units) for name, threshold in thresholds.items())


def lowest_reaching(counts: ScoreCounts, precision: float) -> float | None:
    """Return the lowest threshold from which on at least such a share of at least `FEWEST_LINKS` pairs are duplicates.

    None if there is none.
    """
    pairs = at_least(counts.positive + counts.negative)
    place, reached = place_reaching(counts.precision_from_top(), pairs, precision, fewest=FEWEST_LINKS)
    return float(cuts(counts.score)[place]) if reached else None


def _point(
    name: str,
    threshold: float | None,
    val: ScoredPairs,
    test: ScoredPairs,
    calibration: Decision,
    units: Ints | None,
) -> OperatingPoint:
    if threshold is None:
        return OperatingPoint(name, None, None, None, None, None)
    of_test = Confusion.of(test.score >= threshold, test.label)
    different = of_test.false_positive + of_test.true_negative
    return OperatingPoint(
        name,
        threshold,
        float(calibration.probability(np.array([threshold]))[0]),
        _rates(val, threshold, None),
        _rates(test, threshold, units),
        of_test.false_positive / different if different else None,
    )


def _rates(pairs: ScoredPairs, threshold: float, units: Ints | None) -> Rates:
    flagged, truth = pairs.score >= threshold, pairs.label.astype(bool)
    counted = {
        "precision": (truth, flagged),
        "recall": (flagged, truth),
        "flagged": (flagged, np.ones_like(truth)),
        "errors": (flagged != truth, np.ones_like(truth)),
    }
    intervals = {
        name: share_interval(part[among], None if units is None else units[among])
        for name, (part, among) in counted.items()
        if among.any()
    }
    found = Confusion.of(flagged, truth)
    return Rates(
        found.precision if flagged.any() else None,
        found.recall,
        float(flagged.mean()),
        float((flagged != truth).mean()),
        intervals,
    )
