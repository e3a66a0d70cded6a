"""Comparison of two models on the same units of test: their difference, who is not worse, and whose order is sure.

Each use of a model rests on one measure of test, in which each text or each pair counts once:

| use | measure |
|---|---|
| dedupe a corpus | `text_average_precision_<group>`, see `text_ranking` |
| search | `retrieval_ndcg_at_10` |
| decide about a pair | `accuracy`, or `f1` where few pairs are duplicates, at the threshold from validation |

That two models are not told apart does not say that they are equally good: the wider the intervals, the more models are
tied. So a cheaper model takes the place of the best one only where it is *not worse by more than a margin*: where the
95 % interval of the difference lies above minus the margin (non-inferiority; Piaggio et al., "Reporting of
noninferiority and equivalence randomized trials", JAMA 2012).

Shape letters: P pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, stdtr

from twicetold.evaluation.intervals import Z, effective_degrees, quantile, variance
from twicetold_lab.evaluation.units import PairedUnits, Verdicts

MARGIN = 0.02
"""Largest difference in a primary measure that makes no difference in use: two texts, or pairs, in a hundred. Another
seed of one training moves a measure by up to half as much, so that less could not be promised of a model either."""
FEW_SAME = 0.25
"""Share of labelled pairs of duplicates, below which accuracy is mostly about the others."""
TEXT_RANKING, SEARCH = "text_average_precision_", "retrieval_ndcg_at_10"


def decide_measure(same: float) -> str:
    """Return the measure of decisions about labelled pairs of which a share `same` says the same."""
    return "f1" if same < FEW_SAME else "accuracy"


@dataclass(frozen=True)
class PairedDifference:
    """Model a against model b on the same units.

    Args:
        difference: measure of model a minus that of model b, each the mean over seeds.
        low: lower end of its 95 % interval, which says nothing of how another seed would do.
        high: upper end.
        p_value: two-sided, of no difference.
        order: probability that the sign of the difference is right, for other texts and other seeds (a confidence, or
            with a flat prior a posterior); None where no model has several seeds.
    """

    difference: float
    low: float
    high: float
    p_value: float
    order: float | None = None

    def not_worse(self, margin: float = MARGIN) -> bool:
        """Return true if model a is not worse than model b by more than the margin."""
        return self.low > -margin


def compare(
    one: Sequence[PairedUnits], other: Sequence[PairedUnits], *, of_one: Sequence[float], of_other: Sequence[float]
) -> PairedDifference:
    """Compare two models in a measure.

    McNemar's exact test of verdicts of a single seed each; otherwise Student's t with the jackknife's variance of the
    mean over seeds, and as many degrees of freedom as there are effective units.

    Args:
        one: what the units of test add to the measure, for each seed of model a.
        other: the same of model b.
        of_one: the measure, for each seed of model a.
        of_other: the same of model b.

    Raises:
        ValueError: if there is nothing of a model, or not all are of the same units.
    """
    if not one or not other:
        raise ValueError(f"expected units of both models, got those of {len(one)} and {len(other)} runs")
    lengths = {len(each.terms) for each in (*one, *other)}
    if len(lengths) > 1 or len({each.digest for each in (*one, *other)}) > 1:
        raise ValueError(
            "the models were evaluated on different units of test (other texts, pairs or labels, or in another order), "
            "so they cannot be compared in pairs: run `dvc repro --force` on both evaluate stages"
        )
    if len(one) == len(other) == 1 and isinstance(one[0], Verdicts) and isinstance(other[0], Verdicts):
        return mcnemar(one[0].right, other[0].right)
    terms = np.mean([each.terms for each in one], axis=0) - np.mean([each.terms for each in other], axis=0)
    difference, error = float(np.mean(of_one) - np.mean(of_other)), float(np.sqrt(variance(terms)))
    degrees = effective_degrees(terms)
    half, p_value = quantile(degrees) * error if error else 0.0, two_sided(difference, error, degrees)
    order = _order(difference, terms, (of_one, of_other))
    return PairedDifference(difference, difference - half, difference + half, p_value, order)


def mcnemar(right_a: ArrayLike, right_b: ArrayLike) -> PairedDifference:
    """Return McNemar's exact test of whether two models differ in accuracy on the same (P,) pairs.

    Args:
        right_a: whether model a was right about each pair.
        right_b: the same for model b.

    Raises:
        ValueError: if the lengths differ or there is no pair.
    """
    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(f"expected decisions on the same pairs, got shapes {a.shape} and {b.shape}")
    total, only_a, only_b = a.size, int((a & ~b).sum()), int((b & ~a).sum())
    p_value = min(1.0, 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5)))
    # Agresti & Min: half a pair is added to each of the four cells.
    centre = (only_a - only_b) / (total + 2)
    error = math.sqrt(((only_a + only_b + 1) - (only_a - only_b) ** 2 / (total + 2)) / (total + 2) / (total + 2))
    low, high = max(-1.0, centre - Z * error), min(1.0, centre + Z * error)
    return PairedDifference((only_a - only_b) / total, low, high, p_value)


def two_sided(difference: float, error: float, degrees: float = math.inf) -> float:
    """Return p-value of a difference of 0 by Student's t; the normal distribution for infinite degrees of freedom."""
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    size = abs(difference) / error
    return math.erfc(size / math.sqrt(2)) if math.isinf(degrees) else float(2 * stdtr(degrees, -size))


def _order(difference: float, terms: ArrayLike, seeds: Sequence[Sequence[float]]) -> float | None:
    """Return the variance over units and that over seeds are added (degrees of freedom: Satterthwaite 1946)."""
    several = [values for values in seeds if len(values) > 1]
    if not several:
        return None
    parts = [(variance(np.asarray(terms)), effective_degrees(terms))]
    parts += [(float(np.var(values, ddof=1)) / len(values), len(values) - 1.0) for values in several]
    total = sum(part for part, _ in parts)
    squares = sum(part**2 / degrees for part, degrees in parts)
    return 1 - two_sided(difference, math.sqrt(total), total**2 / squares if squares else math.inf) / 2
