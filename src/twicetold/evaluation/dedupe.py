"""Thresholds for the links and groups of a dedupe, chosen over all pairs of validation.

Duplicates are one pair in hundreds or in millions, so AUROC says little here, and a threshold from labelled pairs, of
which a third are duplicates, does not hold. Chosen on validation, over all of its pairs:

- for each aimed precision, the lowest threshold at which the links have it, with the recall that is left;
- for each rule of grouping, the threshold with the highest adjusted Rand index;
- Platt's calibration of the score;
- what its links promise of other files (`promise`).

`dedupe_report` says what is kept of it on test.

A precision holds for a corpus of like density. With as many duplicates for each text, false links grow with the number
of other texts: `Chosen.expected_precision`. Where not every duplicate is labelled (`complete=False`), precision is a
lower bound, and so are average precision and ARI.

Shape letters: M documents, L links.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from twicetold.evaluation.all_pairs import BINS, PairHistogram, pair_histograms
from twicetold.evaluation.decision import Decision, decide_counts
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors
from twicetold.evaluation.link_metrics import FEWEST_LINKS
from twicetold.evaluation.promise import Promise, PromisedLinks, promise
from twicetold.evaluation.ranking import at_least, place_reaching
from twicetold.evaluation.stored import objects, record
from twicetold.neighbours.grouping import Links, merge
from twicetold.neighbours.nearest import BLOCK, similarities
from twicetold.neighbours.parallel import in_parallel
from twicetold.neighbours.rules import RULES, Rule

AIMED = (0.8, 0.9, 0.95)
LINKS_PER_DUPLICATE = 10  # thresholds with more links than this are no candidates for grouping
CANDIDATES = 200  # thresholds of grouping that are compared, for each rule


@dataclass(frozen=True)
class AimedLinks:
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
class Chosen:
    """What was chosen on the pairs of all validation documents.

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
    links: tuple[AimedLinks, ...]
    grouping: tuple[GroupingThreshold, ...]
    promised: tuple[PromisedLinks, ...] = ()

    @property
    def promise(self) -> Promise:
        """What is promised of files of any size."""
        return Promise(self.texts, self.promised)

    @property
    def decision(self) -> Decision:
        """Calibration over all pairs, and the threshold with the highest F1 of links."""
        return Decision(self.f1_threshold, self.slope, self.intercept)

    def aimed_at(self, precision: float) -> AimedLinks:
        """The threshold for a precision.

        Raises:
            ValueError: if none was chosen for it, or none reaches it.
        """
        bound = "" if self.complete else " (a lower bound, because not every duplicate is labelled there)"
        return aimed_at(self.links, precision, where="on validation", bound=bound)

    def rule(self, rule: Rule) -> GroupingThreshold:
        """The threshold of a rule."""
        return next(each for each in self.grouping if each.rule == rule)

    def expected_precision(self, precision: float, texts: int) -> float:
        """A precision on validation, carried over to a corpus of so many texts; see `carried_over`."""
        return carried_over(precision, measured_on=self.texts, texts=texts)

    def to_json(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Chosen":
        """The inverse of `to_json`.

        Raises:
            ValueError: if a field is missing, of another type, or unknown.
        """
        links = tuple(record(AimedLinks, each, "links") for each in objects(values, "links"))
        grouping = tuple(record(GroupingThreshold, each, "grouping") for each in objects(values, "grouping"))
        if [each.rule for each in grouping] != list(RULES):
            raise ValueError(f"expected a threshold for each of {RULES} in grouping")
        promised = objects(values, "promised") if "promised" in values else []
        read = {"links": links, "grouping": grouping}
        read["promised"] = tuple(record(PromisedLinks, each, "what is promised") for each in promised)
        chosen: Chosen = record(cls, {**values, **read}, "thresholds")
        return chosen


def aimed_at(links: Sequence[AimedLinks], precision: float, *, where: str, bound: str = "") -> AimedLinks:
    """The threshold for a precision.

    Args:
        links: what was chosen.
        precision: that is asked for.
        where: it was measured, for messages.
        bound: what is to be said of the measured precisions.

    Raises:
        ValueError: if none was chosen for it, or none reaches it.
    """
    found = next((each for each in links if math.isclose(each.aimed, precision)), None)
    if found is None:
        raise ValueError(
            f"there are thresholds for a precision of {', '.join(f'{each.aimed:g}' for each in links)}, and none for "
            f"{precision:g}"
        )
    if found.threshold is None:
        raise ValueError(
            f"no threshold gives links with precision {precision:g} {where}: the highest one is "
            f"{found.precision:.3f}{bound}, with recall {found.recall:.3f}. Another model may reach it"
        )
    return found


def carried_over(precision: float, *, measured_on: int, texts: int) -> float:
    """A precision of links, carried over to a corpus of another size.

    Each text is taken to have as many duplicates as where it was measured, and every other text to be linked to it as
    often as there: a corpus of ten times as many texts has ten times as many false links for each text.

    Args:
        precision: as measured.
        measured_on: number of texts among which it was.
        texts: number of texts of the corpus.
    """
    false = (1 - precision) * max(texts - 1, 0) / max(measured_on - 1, 1)
    return precision / (precision + false) if precision else 0.0


def choose(
    val: DocumentVectors, group: str, *, complete: bool = True, aimed: Sequence[float] = AIMED, bins: int = BINS
) -> Chosen:
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
    of_links = tuple(_aimed_links(histogram, precision) for precision in aimed)
    reached = [each.threshold for each in of_links if each.threshold is not None]
    asked_for = links.at_least(min([decision.threshold, *reached]))
    return Chosen(
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
        promised=promise(known.groups[group], asked_for).at,
    )


def links_above(vectors: DocumentVectors, threshold: float) -> Links:
    """The pairs i < j with similarity ⟨left_i, right_j⟩ >= threshold; a block of rows is compared at a time."""
    count = len(vectors)
    similar = similarities(vectors.left, vectors.right)
    step = max(1, BLOCK // count)
    columns = np.arange(count)

    def search(block: int) -> tuple[Any, Any, Any]:
        rows = np.arange(block * step, min((block + 1) * step, count))
        scores = similar(rows)
        above = (scores >= threshold) & (columns > rows[:, None])
        row, column = np.nonzero(above)
        return rows[row], column, scores[above]

    left, right, similarity = zip(*in_parallel(search, math.ceil(count / step)), strict=True)
    return Links(  # in order, each pair once
        count,
        np.concatenate(left).astype(np.int64),
        np.concatenate(right).astype(np.int64),
        np.concatenate(similarity).astype(np.float64),
    )


def with_known(vectors: DocumentVectors, group: str) -> DocumentVectors:
    """The documents whose group is known, with this group alone."""
    rows = np.flatnonzero(vectors.groups[group] != UNKNOWN)
    part = vectors if len(rows) == len(vectors) else vectors.take(rows)
    return DocumentVectors(part.left, part.right, {group: part.groups[group]})


def _aimed_links(histogram: PairHistogram, aimed: float) -> AimedLinks:
    counts = histogram.counts()
    precision = counts.precision_from_top()
    recall = at_least(counts.positive) / counts.positives
    pairs = at_least(counts.positive + counts.negative)
    at, reached = place_reaching(precision, pairs, aimed, fewest=FEWEST_LINKS)
    threshold = _lower_edge(histogram, float(counts.score[at])) if reached else None
    return AimedLinks(aimed, threshold, float(precision[at]), float(recall[at]))


def _lower_edge(histogram: PairHistogram, score: float) -> float:
    """The lowest similarity that is counted at this score of the scale."""
    return score - histogram.scale.width / 2


def _best_cut(vectors: DocumentVectors, group: str, links: Links, rule: Rule, floor: float) -> GroupingThreshold:
    merges = merge(links, rule=rule, threshold=floor, vectors=(vectors.left, vectors.right))
    heights = np.unique(merges.similarity)
    candidates = heights[np.unique(np.linspace(0, len(heights) - 1, CANDIDATES).round().astype(int))]
    found = [group_scores(merges.cut(threshold), vectors.groups[group]).ari for threshold in candidates]
    best = int(np.argmax(found))
    return GroupingThreshold(rule, float(candidates[best]), found[best])
