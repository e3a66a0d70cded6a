"""Precision of the links of a dedupe, by the labels that their threshold was chosen on.

`evaluation.thresholds.choose_on_labels` takes the lowest threshold at which the labelled pairs have a precision;
without one that is asked for, links are made from the threshold with the highest F1 on. On the labelled pairs they have
their precision by choice; on all candidates they may have less. As in `assessment`, the threshold is chosen again on
resamples whose labels are drawn by the calibration, so that its true precision is known each time: the mean difference
is taken off. The interval is of the variance of these differences, and of the precision from the threshold on by the
calibrations of the resamples: the chosen threshold hides how far the labels above it are from the truth, as whatever
they are, they have the precision.

Shape letters: P pairs, R resamples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision, best_threshold, effective_size, platt_of_each, sigmoid
from twicetold.evaluation.guarantee import IntervalEstimate
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.thresholds import TARGETS, choose_on_labels
from twicetold.labels.assessment import Ints, copies_of, share_interval

RESAMPLES = 300
FEWEST = 20  # resamples that have a threshold, below which nothing is said


@dataclass(frozen=True)
class LinkEstimate:
    """Expected precision of links from a threshold on.

    Args:
        aimed: the target precision; None: the threshold has the highest F1.
        threshold: the score.
        precision: of the links among all candidates, with its 95 % interval; None if too few resamples have a
            threshold for it.
    """

    aimed: float | None
    threshold: float
    precision: IntervalEstimate | None


def link_estimates(
    decision: Decision,
    score: Floats,
    label: NDArray[np.bool_],
    weight: Floats,
    stratum: Ints,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[LinkEstimate, ...]:
    """Estimate the precision at the thresholds of links among all candidates.

    Args:
        decision: whose calibration was fitted to these pairs.
        score: (P,), at least as many as `choose_on_labels` asks for.
        label: (P,) both classes.
        weight: (P,) how many pairs each stands for.
        stratum: (P,) pairs of one number were drawn together.
        seed: of the resamples.
        resamples: R.

    Returns:
        One for the highest F1, and one for each aimed precision that the labelled pairs reach.

    Raises:
        ValueError: as `choose_on_labels`.
    """
    chosen = _chosen(score, label, weight, TARGETS)
    aimed = [each for each in TARGETS if each in chosen]
    likely, rng = decision.probability(score), np.random.default_rng(seed)
    copies = copies_of(stratum, resamples, rng)
    same = rng.binomial(copies, likely)
    errors: dict[float | None, list[float]] = {each: [] for each in chosen}
    truths: dict[float | None, list[float]] = {each: [] for each in chosen}
    for times, duplicates in zip(copies, same, strict=True):  # a threshold for each: some hundred rows are sorted
        rows = np.repeat(np.arange(len(score)), times)
        first = np.repeat(np.cumsum(times) - times, times)
        of_rows = np.arange(len(rows)) - first < np.repeat(duplicates, times)
        if not of_rows.any():
            continue
        for each, (threshold, seen) in _chosen(score[rows], of_rows, weight[rows], aimed).items():
            reached = score >= threshold
            truths[each].append(float(np.average(likely[reached], weights=weight[reached])))
            errors[each].append(seen - truths[each][-1])
    mass = copies * weight * (effective_size(weight) / weight.sum())
    positive = np.divide(same, copies, out=np.zeros(copies.shape), where=copies > 0) * mass
    slope, intercept = platt_of_each(score, positive, mass - positive, start=(decision.slope, decision.intercept))
    again = mass * sigmoid(slope * score + intercept)
    found = []
    for name, (threshold, seen) in chosen.items():
        precision = None
        if len(errors[name]) >= FEWEST:
            above = score >= threshold
            shares = again[:, above].sum(axis=1) / np.maximum(mass[:, above].sum(axis=1), 1e-9)
            value = float(np.clip(seen - np.mean(errors[name]), 0, 1))
            variance = float(np.var(errors[name]) + shares.var())
            precision = share_interval(value, variance, float(np.mean(truths[name])), labelled=len(score))
        found.append(LinkEstimate(name, threshold, precision))
    return tuple(found)


def _chosen(
    score: Floats, label: NDArray[np.bool_], weight: Floats, aimed: Sequence[float]
) -> dict[float | None, tuple[float, float]]:
    """The threshold with the highest F1 (None), and those of aimed precisions that are reached; with the precisions."""
    best = best_threshold(score, label, weight, aim="f1")
    reached = score >= best
    precision = float(np.average(label[reached], weights=weight[reached]))
    found: dict[float | None, tuple[float, float]] = {None: (best, precision)}
    for link in choose_on_labels(score, label, weight, aimed=aimed):
        if link.threshold is not None:
            found[link.aimed] = link.threshold, link.precision
    return found
