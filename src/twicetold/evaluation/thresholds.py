"""Thresholds for the links and groups of a dedupe: chosen over all pairs of validation.

Duplicates are one pair in hundreds or in millions, so AUROC says little here, and a threshold from labelled pairs, of
which a third are duplicates, does not hold. Chosen on validation, over all of its pairs (`choose`):

- for each target precision, the lowest threshold at which the links have it, with the recall that is left;
- for each rule of grouping, the threshold with the highest adjusted Rand index;
- Platt's calibration of the score;
- what its links guarantee of other files (`guarantee`).

`dedupe_report` says what is kept of it on test. A precision holds for a corpus of like density; with as many duplicates
for each text, false links grow with the number of other texts: `guarantee.carried_over`. Where not every duplicate is
labelled (`complete=False`), precision is a lower bound, and so are average precision and ARI.

Shape letters: M documents, L links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from twicetold.evaluation.all_pairs import BINS, PairHistogram, pair_histograms
from twicetold.evaluation.decision import Decision, decide_counts
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.guarantee import Guarantee, IntervalEstimate, MeasuredLinks, guarantee
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.link_metrics import FEWEST_LINKS, links_above, with_known
from twicetold.evaluation.ranking import at_least, place_reaching
from twicetold.evaluation.stored import record
from twicetold.neighbours.grouping import Links, merge
from twicetold.neighbours.rules import RULES, Rule

TARGETS = (0.8, 0.9, 0.95)
LINKS_PER_DUPLICATE = 10  # thresholds with more links than this are no candidates for grouping
CANDIDATES = 200  # thresholds of grouping that are compared, for each rule


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


def choose(
    val: DocumentVectors, group: str, *, complete: bool = True, aimed: Sequence[float] = TARGETS, bins: int = BINS
) -> DedupeThresholds:
    """Choose thresholds and calibration on validation.

    Args:
        val: documents of validation.
        group: documents of one group are duplicates; those of unknown group are left out.
        complete: whether every duplicate is labelled.
        aimed: precisions of links.
        bins: steps of the score range.

    Raises:
        ValueError: if no pair, or every pair, shares a group.
    """
    known = with_known(val, group)
    histogram = pair_histograms(known, bins=bins)[group]
    counts = histogram.counts()
    decision = decide_counts(counts, aim="f1")
    linked = at_least(counts.positive + counts.negative)
    few = np.flatnonzero(linked <= LINKS_PER_DUPLICATE * counts.positives)
    floor = _lower_edge(histogram, float(counts.score[few[0] if len(few) else -1]))
    links = links_above(known, floor)
    grouping = tuple(_best_cut(known, group, links, rule, floor) for rule in RULES)
    of_links = tuple(_target_links(histogram, precision) for precision in aimed)
    reached = [each.threshold for each in of_links if each.threshold is not None]
    asked_for = links.at_least(min([decision.threshold, *reached]))
    return DedupeThresholds(
        group=group,
        texts=len(known),
        duplicates=counts.positives,
        complete=complete,
        auroc=counts.auroc(),
        average_precision=counts.average_precision(),
        slope=decision.slope,
        intercept=decision.intercept,
        f1_threshold=decision.threshold,
        links=of_links,
        grouping=grouping,
        promised=guarantee(known.groups[group], asked_for).at,
    )


def _target_links(histogram: PairHistogram, aimed: float) -> TargetLinks:
    counts = histogram.counts()
    precision = counts.precision_from_top()
    recall = at_least(counts.positive) / counts.positives
    pairs = at_least(counts.positive + counts.negative)
    at, reached = place_reaching(precision, pairs, aimed, fewest=FEWEST_LINKS)
    threshold = _lower_edge(histogram, float(counts.score[at])) if reached else None
    return TargetLinks(aimed, threshold, float(precision[at]), float(recall[at]))


def _lower_edge(histogram: PairHistogram, score: float) -> float:
    """Return the lowest similarity that is counted at this score of the scale."""
    return score - histogram.scale.width / 2


def _best_cut(vectors: DocumentVectors, group: str, links: Links, rule: Rule, floor: float) -> GroupingThreshold:
    merges = merge(links, rule=rule, threshold=floor, vectors=(vectors.left, vectors.right))
    heights = np.unique(merges.similarity)
    candidates = heights[np.unique(np.linspace(0, len(heights) - 1, CANDIDATES).round().astype(int))]
    found = [group_scores(merges.cut(threshold), vectors.groups[group]).ari for threshold in candidates]
    best = int(np.argmax(found))
    return GroupingThreshold(rule, float(candidates[best]), found[best])
