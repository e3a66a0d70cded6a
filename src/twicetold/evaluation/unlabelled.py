"""A threshold without labels, from how similar the texts of a file are to each other.

What suits one file does not suit another: the threshold whose groups are best is a cosine of 0.1 among headlines of
stories that thirty papers tell, 0.5 among questions, and 0.6 among texts of which some are misspelt copies. Two things
differ: how similar unrelated texts are, and how many texts say the same.

1. Almost all pairs of a file are unrelated, so the median and the 90th percentile of the similarities of all pairs are
   theirs. With x = (s - median) / (90th percentile - median), the share of unrelated pairs from similarity s on is

       P(x) = 10^(-x^b)

   The exponent b belongs to the way of comparing, and hardly differs between headlines and questions.
2. What is found beyond that says the same. With F unrelated and T other pairs for each text from a similarity on, the
   threshold is the lowest one with

       F <= a T^p

   Average linkage takes the mean over all pairs of two groups, so the larger groups are, the more unrelated pairs among
   the links they bear: p is above 1.

It is an empirical null, as Efron 2004 ("Large-scale simultaneous hypothesis testing", JASA 99) estimates from the bulk
of what is tested. `docs/explanation/experiments/default-dedupe.md` has what the constants were chosen by.

Shape letters: R rows of a sample, n texts, S candidates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision

UNRELATED, ORDER = 0.05, 2.0  # a and p, docs/explanation/experiments/default-dedupe.md
STEP = 0.01  # of candidates
LEAST = 1.5  # x of the lowest candidate: below it almost all pairs are unrelated
FEWEST_TEXTS = 50  # of fewer, percentiles of similarities say little
FEWEST_PAIRS = 20  # of a sample, from a candidate on
NEAR_COPIES = 0.6  # where the similarities show no threshold; the best one for misspelt copies
HIGHEST = 0.9
SMALL = 0.02  # probability at x = 1 in the guessed calibration


@dataclass(frozen=True)
class Bulk:
    """Similarities of most pairs of a file.

    Args:
        median: of all pairs.
        upper: their 90th percentile.
    """

    median: float
    upper: float

    @classmethod
    def of(cls, similarity: NDArray[np.float32]) -> "Bulk":
        """The bulk of a sample of pairs."""
        median, upper = np.quantile(similarity, [0.5, 0.9])
        return cls(float(median), float(upper))

    def unrelated(self, similarity: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
        """(S,) share of unrelated pairs from each similarity on."""
        x = np.maximum((similarity - self.median) / (self.upper - self.median), 0)
        return np.asarray(10.0 ** -(x**exponent))


def guess(similarity: NDArray[np.float32], *, exponent: float) -> Decision:
    """A threshold for groups by average linkage, with a calibration that is no more than a guess.

    Args:
        similarity: (R, n) of R sampled texts to all n; that of a text to itself is NaN.
        exponent: b, of the way of comparing.
    """
    texts = similarity.shape[1]
    known = np.sort(similarity[~np.isnan(similarity)], axis=None)
    if texts < FEWEST_TEXTS or not len(known):
        return _guessed(NEAR_COPIES, 0.0)
    bulk = Bulk.of(known)
    if bulk.upper - bulk.median < STEP:
        return _guessed(NEAR_COPIES, bulk.upper)
    candidates = np.arange(bulk.median + LEAST * (bulk.upper - bulk.median), HIGHEST, STEP)
    above = len(known) - np.searchsorted(known, candidates)
    others = len(known) / similarity.shape[0]
    false = bulk.unrelated(candidates, exponent) * others
    true = np.maximum(above / similarity.shape[0] - false, 0)
    good = np.flatnonzero((false <= UNRELATED * true**ORDER) & (above >= FEWEST_PAIRS))
    return _guessed(float(candidates[good[0]]) if len(good) else NEAR_COPIES, bulk.upper)


def shows_threshold(guessed: Decision) -> bool:
    """True if a guess comes from the similarities; else they showed no threshold, and the constant was taken."""
    return guessed.threshold != NEAR_COPIES


def _guessed(threshold: float, upper: float) -> Decision:
    """Probability one half at the threshold, and `SMALL` where most pairs are."""
    slope = float(np.log(1 / SMALL - 1)) / max(threshold - upper, STEP)
    return Decision(threshold, slope, -slope * threshold)
