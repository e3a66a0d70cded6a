"""Metrics of scored pairs: of decisions (accuracy, F1, MCC), and of probabilities.

Ranking metrics (AUROC, average precision, ROC curve) are methods of `ranking.ScoreCounts`.

Shape letters: P pairs.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twicetold.evaluation.ranking import Floats, ScoreCounts


@dataclass(frozen=True)
class Confusion:
    """Counts of decisions against the truth. A metric whose denominator is 0 is 0, as in scikit-learn."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @classmethod
    def of(cls, decided: ArrayLike, labels: ArrayLike) -> "Confusion":
        """Count (P,) decisions against (P,) labels 0/1."""
        said, truth = np.asarray(decided, dtype=bool), np.asarray(labels).astype(bool)
        counts = np.bincount(2 * said + truth, minlength=4).tolist()
        return cls(true_positive=counts[3], false_positive=counts[2], false_negative=counts[1], true_negative=counts[0])

    @classmethod
    def at(cls, counts: ScoreCounts, threshold: float) -> "Confusion":
        """Count the decisions of a threshold: scores from it on are predicted to be duplicates."""
        true, false = counts.called(threshold)
        return cls(true, false, counts.positives - true, counts.negatives - false)

    @property
    def accuracy(self) -> float:
        """Fraction of correct decisions."""
        right = self.true_positive + self.true_negative
        return _ratio(right, right + self.false_positive + self.false_negative)

    @property
    def precision(self) -> float:
        """Fraction of duplicates among the pairs that are predicted to be duplicates."""
        return _ratio(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        """Fraction of the duplicates that are predicted to be duplicates."""
        return _ratio(self.true_positive, self.true_positive + self.false_negative)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _ratio(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative)

    @property
    def mcc(self) -> float:
        """Matthews correlation: Pearson correlation of decision and truth."""
        tp, fp, fn, tn = self.true_positive, self.false_positive, self.false_negative, self.true_negative
        return _ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def log_losses(probability: ArrayLike, labels: ArrayLike) -> Floats:
    """Return (P,) negative log-likelihood of each label; probabilities are clipped away from 0 and 1."""
    edge = np.finfo(np.float64).eps
    likely = np.clip(np.asarray(probability, dtype=np.float64), edge, 1 - edge)
    return np.asarray(np.where(np.asarray(labels).astype(bool), -np.log(likely), -np.log1p(-likely)))


def squared_errors(probability: ArrayLike, labels: ArrayLike) -> Floats:
    """Return (P,) squared distance of each probability from its label; the mean is the Brier score."""
    return np.asarray(np.square(np.asarray(probability, dtype=np.float64) - np.asarray(labels)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
