"""Quality on all pairs of a decision that was chosen on labelled pairs: estimates and 95 % intervals.

On the pairs that it was chosen on, a decision looks better than it is. How much, and how widely its true worth may lie
around what is seen, is found by choosing again, many times:

1. The calibration of the new decision gives each labelled pair a probability of being a duplicate. The labelled pairs
   with these probabilities are a population whose truth is known.
2. Each resample draws as many pairs from it, within the strata of a draw, and a label for each by its probability. A
   threshold and a calibration are chosen on the resample, as they were on the labelled pairs.
3. The error of a metric is its value on the resample less its true value in the population, both by the decision of
   the resample. So it contains the choice of threshold and calibration.
4. The mean of the errors is taken off what is seen on the labelled pairs: that is the estimate. Its interval is as wide
   as the errors are spread.

Labels that are drawn by a smooth probability matter: if the labels themselves are resampled, as in the plain bootstrap,
errors of a best threshold do not have the right distribution, however many pairs there are (Abrevaya and Huang 2005,
"On the bootstrap of the maximum score estimator"; Léger and MacGibbon 2006, "On the bootstrap in cube root
asymptotics"). An estimate that is cross-fitted is about thresholds of fewer pairs, and its interval knows nothing of
how the one that is kept differs from them.

The intervals of accuracy, precision and recall are Clopper and Pearson's with as many pairs as would give errors of
this variance, (Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of positive
counts estimated from survey data"), so that a precision of 1 on few pairs does not look certain. Those of the other
metrics and of differences are normal, with the variance of the errors: the quantiles of errors of a Brier score lie on
the wrong side, because the errors grow with the distance that they are errors of. docs/guides/labels-of-your-own.md
says how often the intervals hold the truth.

Shape letters: P pairs, K distinct scores, R resamples.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import (
    Aim,
    Decision,
    cut_values,
    decide_weighted,
    effective_size,
    from_cut,
    gaps,
    platt_of_each,
)
from twicetold.evaluation.guarantee import IntervalEstimate
from twicetold.evaluation.intervals import CHUNK, Z, exact_interval
from twicetold.evaluation.pair_metrics import log_losses, squared_errors
from twicetold.evaluation.ranking import Floats

METRICS = ("accuracy", "precision", "recall", "f1", "brier", "log_loss")
SHARES = 3  # of these, from the first on, are shares of pairs
RESAMPLES = 1000
NEVER_SO_SURE = 2.0  # a share is not taken to be known as by more than so many times the labelled pairs

Ints: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = dict[str, IntervalEstimate]
Decided: TypeAlias = tuple[Ints, Floats]
"""(R,) number of the first of K ascending scores that is called a duplicate, and (R, K) probabilities; R may be 1."""


@dataclass(frozen=True)
class Assessment:
    """Quality of two decisions.

    Args:
        before: the stored decision.
        after: the decision that was chosen on the pairs.
        stored: metric -> number, of `before`.
        fitted: metric -> number, of `after`; the estimates do not flatter.
        gained: metric -> number, `fitted` minus `stored`.
    """

    before: Decision
    after: Decision
    stored: Numbers
    fitted: Numbers
    gained: Numbers


def assess(
    stored: Decision,
    score: Floats,
    label: NDArray[np.bool_],
    weight: Floats,
    stratum: Ints,
    *,
    aim: Aim = "accuracy",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Assessment:
    """Choose a decision on labelled pairs, and say what it and the stored one are worth.

    Args:
        stored: the decision that is there.
        score: (P,)
        label: (P,) both classes.
        weight: (P,) how many pairs each stands for.
        stratum: (P,) pairs of one number were drawn together.
        aim: what the threshold is best for.
        seed: of the resamples.
        resamples: R.

    Raises:
        ValueError: as `decide_weighted`.
    """
    after = decide_weighted(score, label, weight, aim=aim)
    order = np.argsort(score, kind="stable")
    score, label, stratum = score[order], label[order], stratum[order]
    weight = weight[order] * (effective_size(weight) / weight.sum())
    distinct, start = np.unique(score, return_index=True)
    likely = after.probability(score)

    def by_score(of_pairs: Floats) -> Floats:
        return np.asarray(np.add.reduceat(of_pairs, start, axis=-1))

    old, last = (_decided(each, distinct) for each in (stored, after))
    labelled = by_score(weight * label), by_score(weight * ~label)
    mass = by_score(weight * likely), by_score(weight * (1 - likely))
    errors, truths = np.empty((2, resamples, len(METRICS))), np.empty((resamples, len(METRICS)))
    truth = _metrics(old, *mass)
    rng = np.random.default_rng(seed)
    step = max(1, CHUNK // (10 * len(score)))  # some ten matrices of this size at a time
    for first in range(0, resamples, step):
        part = slice(first, min(first + step, resamples))
        copies = _copies_of(stratum, part.stop - part.start, rng)
        same = rng.binomial(copies, likely)
        drawn = by_score(same * weight), by_score((copies - same) * weight)
        new = _decided_of_each(distinct, *drawn, aim, start=after)
        truths[part] = _metrics(new, *mass)
        errors[0, part] = _metrics(old, *drawn) - truth
        errors[1, part] = _metrics(new, *drawn) - truths[part]
    before, now = (_metrics(each, *labelled)[0] for each in (old, last))
    estimate = np.maximum(now - errors[1].mean(axis=0), 0.0)
    estimate[: SHARES + 1] = estimate[: SHARES + 1].clip(0.0, 1.0)
    count, gained = len(score), estimate - before
    half = Z * (errors[1] - errors[0]).std(axis=0)
    return Assessment(
        stored,
        after,
        _named(before, *_intervals(before, errors[0], truth[0], labelled=count)),
        _named(estimate, *_intervals(estimate, errors[1], truths.mean(axis=0), labelled=count)),
        _named(gained, gained - half, gained + half),
    )


def for_half(labelled: int) -> int:
    """Return the number of further labels that make intervals about half as wide: they shrink with its root."""
    return 3 * labelled


def _decided(decision: Decision, score: Floats) -> Decided:
    return np.searchsorted(score, [decision.threshold]), decision.probability(score)[None]


def _decided_of_each(score: Floats, positive: Floats, negative: Floats, aim: Aim, *, start: Decision) -> Decided:
    """Return the decision of each resample; of cuts that are as good, the one in the widest gap."""
    value, gap = cut_values(positive, negative, aim), gaps(score)
    slight = 1e-6 * max(1.0, float(np.abs(value).max())) / max(float(gap.max()), 1e-300)
    slope, intercept = platt_of_each(score, positive, negative, start=(start.slope, start.intercept))
    probability = 0.5 * (1.0 + np.tanh(0.5 * (slope * score + intercept)))
    return np.argmax(value + slight * gap, axis=1), probability


def _copies_of(stratum: Ints, resamples: int, rng: np.random.Generator) -> Ints:
    """Return (R, P) how often each pair is in each resample, which has as many pairs of each stratum as there are."""
    copies = np.zeros((resamples, len(stratum)), np.int64)
    for number in np.unique(stratum):
        here = np.flatnonzero(stratum == number)
        chosen = rng.integers(len(here), size=(resamples, len(here))) + len(here) * np.arange(resamples)[:, None]
        copies[:, here] = np.bincount(chosen.ravel(), minlength=resamples * len(here)).reshape(resamples, len(here))
    return copies


def _metrics(decided: Decided, positive: Floats, negative: Floats) -> Floats:
    """Return (R, 6) metrics, in the order of `METRICS`; as in scikit-learn, 0 where a denominator is 0.

    Args:
        decided: one decision, or one for each resample.
        positive: (R, K), or (K,) if the same for all, weight of the duplicates.
        negative: the same of the others.
    """
    cut, probability = decided
    rows = max(len(cut), len(np.atleast_2d(positive)))
    place = np.broadcast_to(cut, rows)[:, None]

    def above(weight: Floats) -> tuple[Floats, Floats]:
        sums = np.broadcast_to(from_cut(weight), (rows, weight.shape[-1] + 1))
        reached = np.take_along_axis(sums, place, axis=1)[:, 0]
        return reached, sums[:, 0] - reached

    (true, missed), (false, rejected) = above(positive), above(negative)
    same, total = np.ones(probability.shape, bool), true + false + missed + rejected
    parts = [(true + rejected, total), (true, true + false), (true, true + missed)]
    parts += [(2 * true, 2 * true + false + missed)]
    for loss in (squared_errors, log_losses):
        parts += [((positive * loss(probability, same) + negative * loss(probability, ~same)).sum(axis=1), total)]
    ratios = [np.divide(part, whole, out=np.zeros_like(part), where=whole > 0) for part, whole in parts]
    return np.stack(ratios, axis=1)


def _intervals(value: Floats, errors: Floats, truth: Floats, *, labelled: int) -> tuple[Floats, Floats]:
    """Return both ends of the interval of each metric.

    That of a share is Clopper and Pearson's, with as many pairs as would give errors of this variance.

    Args:
        value: (6,) estimates.
        errors: (R, 6) whose mean is taken off already.
        truth: (6,) in the population of which the resamples are, or the mean of it.
        labelled: number of labelled pairs.
    """
    half, most = Z * errors.std(axis=0), NEVER_SO_SURE * labelled
    low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
    high[SHARES] = min(high[SHARES], 1.0)  # F1
    at = truth.clip(1 / most, 1 - 1 / most)
    counts = np.minimum(at * (1 - at) / np.maximum(errors.var(axis=0), 1e-12), most)
    for place, count in enumerate(counts[:SHARES].tolist()):
        low[place], high[place] = exact_interval(value[place] * count, (1 - value[place]) * count)
    return low, high


def _named(value: Floats, low: Floats, high: Floats) -> Numbers:
    """Return metric -> its value with an interval that holds it."""
    rows = (value, np.minimum(low, value), np.maximum(high, value))
    return {name: IntervalEstimate(*map(float, row)) for name, *row in zip(METRICS, *rows, strict=True)}
