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
with random shares. A band that is labelled whole thus adds no width. Half a pair of either label is added to each band,
as in Jeffreys' interval of a share: otherwise a band in which no duplicate was met would be sure to hold none, however
few of its pairs were labelled. The copies of these halves have the scores of the band's candidates.

Recall is the share of the duplicates *among the candidate pairs*; duplicates that are not neighbours are not counted.
Pairs that were drawn and not labelled are taken to be like the labelled ones of their band.

Shape letters: m labelled pairs, H bands, T thresholds, R resamples.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.intervals import CHUNK, percentiles
from twicetold.evaluation.ranking import Floats
from twicetold.labels.sampling import Ints


@dataclass(frozen=True)
class Sample:
    """Labelled pairs of a stratified draw.

    Args:
        score: (m,)
        label: (m,) whether the two texts say the same.
        band: (m,) from 0.
        sizes: (H,) number of candidates in each band.
        thresholds: (T,) scores.
        above: (H, T) number of candidates of each band that score at least as high as each threshold.

    Raises:
        ValueError: if more pairs of a band are labelled than it has.
    """

    score: Floats
    label: NDArray[np.bool_]
    band: Ints
    sizes: Ints
    thresholds: Floats
    above: Ints

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
    recall: SampleEstimate


@dataclass(frozen=True)
class Estimates:
    """Precision and recall at each threshold, and the number of duplicates among the candidates."""

    duplicates: SampleEstimate
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
    weight = 1 / sample.probability
    true, false = ((weight * chosen) @ _reaches(sample) for chosen in (sample.label, ~sample.label))
    duplicates = float(weight @ sample.label)
    drawn_true, drawn_false, drawn_duplicates = _resample(sample, resamples, np.random.default_rng(seed))
    at = []
    for place, threshold in enumerate(sample.thresholds.tolist()):
        precision = _ratio(true[place], true[place] + false[place])
        recall, ours = _ratio(true[place], duplicates), drawn_true[:, place]
        at.append(
            ThresholdEstimate(
                threshold,
                int(sample.above[:, place].sum()),
                _with_interval(precision, ours, ours + drawn_false[:, place]),
                _with_interval(recall, ours, drawn_duplicates),
            )
        )
    return Estimates(_with_interval(duplicates, drawn_duplicates, np.ones(resamples)), at)


def _resample(sample: Sample, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """(R, T) true and false positives at each threshold, and (R,) duplicates, in populations that may be."""
    true, false = np.zeros((2, resamples, len(sample.thresholds)))
    duplicates = np.zeros(resamples)
    reaches, labelled = _reaches(sample), sample.labelled
    for band in np.flatnonzero(sample.sizes):
        here = sample.band == band
        label, reach = sample.label[here], reaches[here]
        share = sample.above[band] / sample.sizes[band]
        unseen = sample.sizes[band] - labelled[band]
        shape = np.append(np.ones(labelled[band]), [0.5, 0.5])
        step = max(1, CHUNK // len(shape))
        for start in range(0, resamples, step):
            rows = slice(start, min(start + step, resamples))
            copies = rng.multinomial(unseen, rng.dirichlet(shape, rows.stop - rows.start))
            counts, half_true, half_false = 1.0 + copies[:, :-2], copies[:, -2], copies[:, -1]
            true[rows] += (counts * label) @ reach + np.outer(half_true, share)
            false[rows] += (counts * ~label) @ reach + np.outer(half_false, share)
            duplicates[rows] += counts @ label + half_true
    return true, false, duplicates


def _reaches(sample: Sample) -> Floats:
    """(m, T) 1 where a pair's score reaches a threshold."""
    return (sample.score[:, None] >= sample.thresholds).astype(np.float64)


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _with_interval(value: float | None, part: Floats, whole: Floats) -> SampleEstimate:
    """The interval always holds the estimate, as Jeffreys' does at 0 and 1."""
    known = whole > 0
    low, high = percentiles(part[known] / whole[known]) if known.any() else (0.0, 1.0)
    if value is None:
        return SampleEstimate(value, low, high)
    return SampleEstimate(value, min(low, value), max(high, value))
