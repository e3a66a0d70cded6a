"""Thresholds for the links and groups of a dedupe, as a model folder has them, or as labels of a file give them.

A precision holds for a corpus of like density; with as many duplicates for each text, false links grow with the number
of other texts: `guarantee.carried_over`. Where not every duplicate is labelled (`complete=False`), precision is a lower
bound, and so are average precision and ARI.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.guarantee import Guarantee, IntervalEstimate, MeasuredLinks
from twicetold.evaluation.stored import record
from twicetold.neighbours.rules import RULES, Rule

TARGETS = (0.8, 0.9, 0.95)


@dataclass(frozen=True)
class TargetLinks:
    """The threshold for an aimed precision of links.

    Args:
        aimed: the precision.
        threshold: the lowest similarity of a link; None if no threshold with at least `FEWEST_LINKS` links has it.
        precision: on validation; without a threshold, the highest that was reached.
        recall: on validation, at that precision.
    """

    aimed: float
    threshold: float | None
    precision: float
    recall: float


@dataclass(frozen=True)
class GroupingThreshold:
    """The threshold of a rule with the highest ARI on validation."""

    rule: Rule
    threshold: float
    ari: float


@dataclass(frozen=True)
class DedupeThresholds:
    """Thresholds chosen on the pairs of all validation documents.

    Args:
        group: what makes two documents duplicates of each other, such as `story`.
        texts: number of documents.
        duplicates: number of pairs that share a group.
        complete: whether every duplicate is labelled; if not, precisions are lower bounds.
        auroc: on validation, over all pairs.
        average_precision: the same.
        slope: of the log-odds in the similarity, over all pairs.
        intercept: log-odds at similarity 0.
        f1_threshold: similarity with the highest F1 of links.
        links: for each aimed precision.
        grouping: for each rule.
        promised: what the links from some thresholds on promise of other files, the highest threshold first; empty if
            there are few links, or the model is of an earlier version.
    """

    group: str
    texts: int
    duplicates: int
    complete: bool
    auroc: float
    average_precision: float
    slope: float
    intercept: float
    f1_threshold: float
    links: tuple[TargetLinks, ...]
    grouping: tuple[GroupingThreshold, ...]
    promised: tuple[MeasuredLinks, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for files of any size."""
        return Guarantee(self.texts, self.promised)

    @property
    def decision(self) -> Decision:
        """Calibration over all pairs, and the threshold with the highest F1 of links."""
        return Decision(self.f1_threshold, self.slope, self.intercept)

    def rule(self, rule: Rule) -> GroupingThreshold:
        """Return the threshold of a rule."""
        return next(each for each in self.grouping if each.rule == rule)

    def to_json(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "DedupeThresholds":
        """Invert `to_json`.

        Raises:
            ValueError: if a field is missing, of another type, or unknown.
        """
        chosen = record(cls, values, "thresholds")
        if [each.rule for each in chosen.grouping] != list(RULES):
            raise ValueError(f"expected a threshold for each of {RULES} in grouping")
        return chosen


@dataclass(frozen=True)
class LinkEstimate:
    """Expected precision of links from a threshold on, with its 95 % interval.

    Args:
        aimed: the target precision; None: the threshold has the highest F1.
        threshold: the score.
        precision: of the links among all candidates.

    Raises:
        ValueError: if the interval is none of a share.
    """

    aimed: float | None
    threshold: float
    precision: IntervalEstimate

    def __post_init__(self) -> None:
        if not 0 <= self.precision.low <= self.precision.value <= self.precision.high <= 1:
            raise ValueError(f"expected 0 <= low <= value <= high <= 1 in 'promised', got {asdict(self.precision)}")


@dataclass(frozen=True)
class LabelledLinks:
    """Thresholds of the links of a file, by labelled pairs.

    Args:
        file: name of the file of texts that they were drawn from.
        texts: number of its distinct texts.
        nearest: of each text, the pairs with so many nearest ones could be drawn.
        pairs: how many of these pairs the labelled ones stand for.
        labelled: number of labelled pairs.
        f1_threshold: score with the highest F1 of links, for these pairs.
        links: for each aimed precision; precision and recall are estimates for these pairs.
        assured: whether each threshold has its precision in nine of ten draws, not only on the labelled pairs.
        promised: what is to be expected of each threshold.
    """

    file: str
    texts: int
    nearest: int
    pairs: int
    labelled: int
    f1_threshold: float
    links: tuple[TargetLinks, ...]
    assured: bool = False
    promised: tuple[LinkEstimate, ...] = ()

    def expected(self, aimed: float | None) -> IntervalEstimate | None:
        """Return the precision from the threshold for an aim on (None: of the highest F1); None if it is not known."""
        return next((each.precision for each in self.promised if each.aimed == aimed), None)
