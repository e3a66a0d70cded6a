"""Precision and recall among the candidate pairs of a file, estimated from a stratified sample of labelled pairs.

A labelled pair of a band with N candidates, m of them labelled, had the probability m / N of being labelled. It counts
N / m times, once for each candidate that it stands for (Horvitz and Thompson 1952, "A generalization of sampling
without replacement from a finite universe"). Precision and recall are ratios of two such sums (Hájek 1971); the sums
are unbiased, and the bias of their ratios falls with the number of labels. Sampling where the label is uncertain, and
weighting by the inverse probability, is how Sawade, Landwehr and Scheffer 2010 ("Active estimation of F-measures")
measure classifiers with few labels. Welinder, Welling and Perona 2013 ("A lazy man's approach to benchmarking") need
fewer still, by a model of how the scores of either label are distributed; none is assumed here.

The intervals come from the Bayesian bootstrap of a finite population within each band (Lo 1988, "A Bayesian bootstrap
for a finite population"): the candidates of the band that are not labelled are drawn as copies of its labelled ones,
with random shares. A band that is labelled whole thus adds no width. One pair is added to each band, divided between
the labels by the mean probability q of the band's pairs, within `PRIOR`: otherwise a band in which no duplicate was met
would be sure to hold none, however few of its pairs were labelled. Half a pair of either label, as in Jeffreys'
interval of a share, would be thousands of duplicates in a band of 30,000 unlikely candidates. The copies of this pair
have the scores of the band's candidates.

Recall is the share of the duplicates *among the candidate pairs*; duplicates that are not neighbours are not counted.
It and the number of duplicates have no interval: how many there are among very many unlikely pairs, a hundred labels do
not tell, and each prior that was tried held in less than nine of ten draws of some file.
Pairs that were drawn and not labelled are taken to be like the labelled ones of their band.

Shape letters: m labelled pairs, H bands, T thresholds, R resamples.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.intervals import percentiles
from twicetold.evaluation.ranking import Floats
from twicetold.labels.sampling import Ints

PRIOR = (0.01, 0.5)  # least and largest part of the added pair that is a duplicate


@dataclass(frozen=True)
class Sample:
    """Labelled pairs of a stratified draw.

    Args:
        score: (m,)
        label: (m,) whether the two texts are duplicates.
        band: (m,) from 0.
        sizes: (H,) number of candidates in each band.
        thresholds: (T,) scores.
        above: (H, T) number of candidates of each band that score at least as high as each threshold.
        likely: (H,) mean probability of the pairs of each band, before any was labelled.

    Raises:
        ValueError: if more pairs of a band are labelled than it has.
    """

    score: Floats
    label: NDArray[np.bool_]
    band: Ints
    sizes: Ints
    thresholds: Floats
    above: Ints
    likely: Floats

    def __post_init__(self) -> None:
        if (self.labelled > self.sizes).any():
            raise ValueError(f"expected at most {self.sizes.tolist()} labelled pairs, got {self.labelled.tolist()}")

    @property
    def labelled(self) -> Ints:
        """(H,) number of labelled pairs in each band."""
        return np.bincount(self.band, minlength=len(self.sizes))

    @property
    def probability(self) -> Floats:
        """(m,) probability of each labelled pair of being labelled."""
        return np.asarray((self.labelled / np.maximum(self.sizes, 1))[self.band])


@dataclass(frozen=True)
class SampleEstimate:
    """An estimate with its 95 % interval; None where no labelled pair tells anything."""

    value: float | None
    low: float
    high: float


@dataclass(frozen=True)
class ThresholdEstimate:
    """Estimate for a threshold: every candidate from a score on is a duplicate."""

    threshold: float
    candidates: int
    """Number of candidates at or above the threshold; known, not estimated."""
    precision: SampleEstimate
    recall: float | None
    """None where no labelled pair is a duplicate."""


@dataclass(frozen=True)
class Estimates:
    """Precision and recall at each threshold, and the number of duplicates among the candidates."""

    duplicates: float
    at: list[ThresholdEstimate]


def estimate(sample: Sample, *, resamples: int = 2000, seed: int = 0) -> Estimates:
    """Estimate precision and recall at each of the sample's thresholds.

    Args:
        sample: what was labelled.
        resamples: for the intervals.
        seed: of the resamples.

    Raises:
        ValueError: if nothing is labelled.
    """
    if not len(sample.label):
        raise ValueError("no pair is labelled yet: there is nothing to estimate from")
    weight, reach = 1 / sample.probability, (sample.score[:, None] >= sample.thresholds).astype(np.float64)
    true, false = ((weight * chosen) @ reach for chosen in (sample.label, ~sample.label))
    duplicates = float(weight @ sample.label)
    drawn_true, drawn_false = _resample(sample, reach, resamples, np.random.default_rng(seed))
    at = []
    for place, threshold in enumerate(sample.thresholds.tolist()):
        ours = drawn_true[:, place]
        precision = _ratio(true[place], true[place] + false[place], (ours, ours + drawn_false[:, place]))
        recall = min(float(true[place]) / duplicates, 1.0) if duplicates else None  # sums are rounded
        at.append(ThresholdEstimate(threshold, int(sample.above[:, place].sum()), precision, recall))
    return Estimates(duplicates, at)


def _resample(sample: Sample, reach: Floats, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (R, T) true and false positives at each threshold, in populations that may be.

    Args:
        sample: what was labelled.
        reach: (m, T) 1 where a pair's score reaches a threshold.
        resamples: R.
        rng: of the draws.
    """
    true, false = np.zeros((2, resamples, len(sample.thresholds)))
    labelled, duplicate = sample.labelled, sample.likely.clip(*PRIOR)
    for band in np.flatnonzero(sample.sizes):
        here = sample.band == band
        label, share = sample.label[here], sample.above[band] / sample.sizes[band]
        likely = rng.dirichlet(np.append(np.ones(labelled[band]), [duplicate[band], 1 - duplicate[band]]), resamples)
        copies = rng.multinomial(sample.sizes[band] - labelled[band], likely)
        counts, added_true, added_false = 1.0 + copies[:, :-2], copies[:, -2], copies[:, -1]
        true += (counts * label) @ reach[here] + np.outer(added_true, share)
        false += (counts * ~label) @ reach[here] + np.outer(added_false, share)
    return true, false


def _ratio(part: float, whole: float, drawn: tuple[Floats, Floats]) -> SampleEstimate:
    """Return a ratio with that of (R,) resamples; the interval always holds it, as Jeffreys' does at 0 and 1."""
    known = drawn[1] > 0
    low, high = percentiles(drawn[0][known] / drawn[1][known]) if known.any() else (0.0, 1.0)
    if not whole:
        return SampleEstimate(None, low, high)
    value = float(part / whole)
    return SampleEstimate(value, min(low, value), max(high, value))
