"""Where the threshold on the score of labelled pairs can be set, and what each place costs on test.

Thresholds are chosen on validation: the lowest one whose precision there reaches an aim, the one with the highest F1,
and the one with the highest accuracy. Intervals on test are Wilson's, of a share among pairs.

Precision depends on how often pairs say the same. `precision_under` gives it for another share, as recall and the false
positive rate stay what they are (label shift: Saerens, Latinne and Decaestecker 2002, "Adjusting the outputs of a
classifier to new a priori probabilities").

Shape letters: K distinct scores.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twicetold.evaluation.decision import Decision, decide_counts
from twicetold.evaluation.inputs import ScoredPairs, described
from twicetold.evaluation.intervals import Interval, accuracy_interval
from twicetold.evaluation.link_metrics import FEWEST_LINKS
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import ScoreCounts, at_least, cuts, place_reaching

AIMS = (0.8, 0.9, 0.95, 0.99)
SPLITS = ("val", "test")
BEST_F1, BEST_ACCURACY = "best F1", "best accuracy"


@dataclass(frozen=True)
class Rates:
    """What a threshold does on one split."""

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

    def precision_under(self, prior: float) -> float | None:
        """Precision on test if a share `prior` of all pairs said the same; None if nothing would be flagged.

        Raises:
            ValueError: unless 0 < prior < 1.
        """
        if not 0 < prior < 1:
            raise ValueError(f"expected a share of pairs between 0 and 1, got {prior}")
        if self.test is None or self.false_positive_rate is None:
            return None
        right, wrong = prior * self.test.recall, (1 - prior) * self.false_positive_rate
        return right / (right + wrong) if right + wrong else None


def points_from_json(found: Any) -> tuple[OperatingPoint, ...]:
    """The points from a list of what `dataclasses.asdict` gives.

    Raises:
        ValueError: if it is something else.
    """
    try:
        return tuple(OperatingPoint(**{**each, **{s: each[s] and Rates(**each[s]) for s in SPLITS}}) for each in found)
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected operating points with their rates, got {described(found)}: {error}") from error


def operating_points(val: ScoredPairs, test: ScoredPairs, *, calibration: Decision) -> tuple[OperatingPoint, ...]:
    """The points at each of `AIMS`, at the best F1 and at the best accuracy.

    Args:
        val: where thresholds are chosen.
        test: where they are measured.
        calibration: from scores to probabilities.

    Raises:
        ValueError: if validation has only one class, or labels are not 0 or 1.
    """
    counts = ScoreCounts.of(val.score, val.label)
    thresholds = {f"precision {aim:g}": lowest_reaching(counts, aim) for aim in AIMS}
    thresholds[BEST_F1] = decide_counts(counts, aim="f1").threshold
    thresholds[BEST_ACCURACY] = decide_counts(counts, aim="accuracy").threshold
    return tuple(_point(name, threshold, val, test, calibration) for name, threshold in thresholds.items())


def lowest_reaching(counts: ScoreCounts, precision: float) -> float | None:
    """The lowest threshold from which on at least such a share of at least `FEWEST_LINKS` pairs are duplicates.

    None if there is none.
    """
    pairs = at_least(counts.positive + counts.negative)
    place, reached = place_reaching(counts.precision_from_top(), pairs, precision, fewest=FEWEST_LINKS)
    return float(cuts(counts.score)[place]) if reached else None


def _point(
    name: str, threshold: float | None, val: ScoredPairs, test: ScoredPairs, calibration: Decision
) -> OperatingPoint:
    if threshold is None:
        return OperatingPoint(name, None, None, None, None, None)
    of_val, of_test = (Confusion.of(pairs.score >= threshold, pairs.label) for pairs in (val, test))
    different = of_test.false_positive + of_test.true_negative
    return OperatingPoint(
        name,
        threshold,
        float(calibration.probability(np.array([threshold]))[0]),
        _rates(of_val),
        _rates(of_test),
        of_test.false_positive / different if different else None,
    )


def _rates(found: Confusion) -> Rates:
    flagged = found.true_positive + found.false_positive
    total = flagged + found.false_negative + found.true_negative
    counted = {
        "precision": (found.true_positive, flagged),
        "recall": (found.true_positive, found.true_positive + found.false_negative),
        "flagged": (flagged, total),
        "errors": (found.false_positive + found.false_negative, total),
    }
    intervals = {name: accuracy_interval(part, whole) for name, (part, whole) in counted.items() if whole}
    return Rates(
        found.precision if flagged else None, found.recall, flagged / total, counted["errors"][0] / total, intervals
    )
