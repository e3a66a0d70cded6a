"""How precise the links of a promised precision are, by the labels that the threshold was chosen on.

`evaluation.labelled_links.thresholds` takes the lowest threshold at which the labelled pairs have the precision. On
these pairs it has it by choice; on all candidates it may have less. As in `assessment`, the threshold is chosen again
on resamples whose labels are drawn by the calibration, so that its true precision is known each time: the mean
difference is taken off. The interval is of the variance of these differences, and of the precision from the threshold
on by the calibrations of the resamples: the chosen threshold hides how far the labels above it are from the truth, as
whatever they are, they have the precision.

Shape letters: P pairs, R resamples.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.evaluation.labelled_links import thresholds
from twicetold.evaluation.ranking import Floats
from twicetold.labels.assessment import Ints, Number, copies_of, share_interval
from twicetold.labels.weighted import effective_size, platt_of_each

RESAMPLES = 300
FEWEST = 20  # resamples that have a threshold, below which nothing is said


@dataclass(frozen=True)
class Promise:
    """What is to be expected of links from a threshold on.

    Args:
        aimed: the promised precision.
        precision: of the links among all candidates, with its 95 % interval; None if too few resamples have a
            threshold for it.
    """

    aimed: float
    precision: Number | None


def promises(
    decision: Decision,
    score: Floats,
    label: NDArray[np.bool_],
    weight: Floats,
    stratum: Ints,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[Promise, ...]:
    """What the thresholds for each aimed precision are worth among all candidates.

    Args:
        decision: whose calibration was fitted to these pairs.
        score: (P,), at least as many as `thresholds` asks for.
        label: (P,) both classes.
        weight: (P,) how many pairs each stands for.
        stratum: (P,) pairs of one number were drawn together.
        seed: of the resamples.
        resamples: R.

    Returns:
        One for each aimed precision that the labelled pairs reach.

    Raises:
        ValueError: as `thresholds`.
    """
    chosen = [link for link in thresholds(score, label, weight) if link.threshold is not None]
    if not chosen:
        return ()
    aimed, likely, rng = [link.aimed for link in chosen], decision.probability(score), np.random.default_rng(seed)
    copies = copies_of(stratum, resamples, rng)
    same = rng.binomial(copies, likely)
    errors: list[list[float]] = [[] for _ in chosen]
    truths: list[list[float]] = [[] for _ in chosen]
    for each, duplicates in zip(copies, same, strict=True):  # a threshold for each: some hundred rows are sorted
        rows = np.repeat(np.arange(len(score)), each)
        first = np.repeat(np.cumsum(each) - each, each)
        of_rows = np.arange(len(rows)) - first < np.repeat(duplicates, each)
        if not of_rows.any():
            continue
        for place, link in enumerate(thresholds(score[rows], of_rows, weight[rows], aimed=aimed)):
            if link.threshold is not None:
                reached = score >= link.threshold
                truths[place].append(float(np.average(likely[reached], weights=weight[reached])))
                errors[place].append(link.precision - truths[place][-1])
    mass = copies * weight * (effective_size(weight) / weight.sum())
    positive = np.divide(same, copies, out=np.zeros(copies.shape), where=copies > 0) * mass
    slope, intercept = platt_of_each(score, positive, mass - positive, near=(decision.slope, decision.intercept))
    again = mass * sigmoid(slope * score + intercept)
    found = []
    for link, error, truth in zip(chosen, errors, truths, strict=True):
        precision = None
        if len(error) >= FEWEST:
            assert link.threshold is not None
            above = score >= link.threshold
            shares = again[:, above].sum(axis=1) / np.maximum(mass[:, above].sum(axis=1), 1e-9)
            value = float(np.clip(link.precision - np.mean(error), 0, 1))
            variance = float(np.var(error) + shares.var())
            precision = share_interval(value, variance, float(np.mean(truth)), labelled=len(score))
        found.append(Promise(link.aimed, precision))
    return tuple(found)
