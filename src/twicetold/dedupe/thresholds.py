"""The score from which a pair of texts is a link, and what it rests on.

A calibration on labelled pairs, of which a third are duplicates, does not hold among all pairs of a corpus, of which
one in thousands is. So where the model folder holds thresholds that were measured over all pairs of its validation
texts (`precision.json`, which training writes), these and their calibration are used, similarities are the dot
products that they were measured on, and it is known what they guarantee of other files (`evaluation.guarantee`). A
model that was calibrated on pairs drawn from a file of texts (`calibration.json`) has thresholds estimated from these
in their place. A model without either has its threshold and
calibration for labelled pairs. A model that was fitted to texts without labels has a guess, and no calibration.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.dedupe.options import DedupeOptions
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.guarantee import Guarantee, GuaranteedPrecision, IntervalEstimate, carried_over
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.thresholds import DedupeThresholds, LabelledLinks, TargetLinks
from twicetold.evaluation.unlabelled import NEAR_COPIES, shows_threshold
from twicetold.neighbours.grouping import Links
from twicetold.trained.evidence import of_links
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.threshold_record import ThresholdRecord

NO_LABELS = "the texts themselves, without a label: it is a guess"
NO_THRESHOLD = f"a constant, {NEAR_COPIES:g}, as no threshold shows in the texts"
ASKED_FOR = "what was asked for, without a label"
PROMISE = (
    "label pairs of the file (twicetold label FILE -o pairs.csv), calibrate on them (twicetold calibrate "
    "pairs.csv.model pairs.csv -o MODEL), and dedupe with that model"
)

ChosenFor: TypeAlias = Literal["groups", "links", "pairs", "guess", "constant", "user"]
"""What a threshold is the best of: groups by the rule, links, labelled pairs; or it is a guess from the texts, the
constant that stands where they show none, or a user's."""


@dataclass(frozen=True)
class LinkThreshold:
    """The score from which a pair is a link.

    Args:
        score: the least of a link.
        chosen_for: what it is the best of.
        precision: that was measured there; None if none was.
        guaranteed: what is expected of this file, and what nine of ten such files keep; None if it is not known.
        expected: what is to be expected of this file by labels; None if it is not known.
        assured: whether the limit, or the interval, reaches the precision that was asked for.
    """

    score: float
    chosen_for: ChosenFor
    precision: float | None = None
    guaranteed: GuaranteedPrecision | None = None
    expected: IntervalEstimate | None = None
    assured: bool = False


@dataclass(frozen=True)
class Thresholds:
    """What is known of links; without either, the threshold and the calibration are those of labelled pairs.

    Args:
        evidence: what thresholds and probabilities rest on, in words.
        record: of the model folder; None where it says nothing of links.
        guessed: whether there are no labels at all, and so no probabilities.
    """

    evidence: str
    record: ThresholdRecord | None = None
    guessed: bool = False

    @classmethod
    def of(cls, model: LoadedModel, options: DedupeOptions) -> "Thresholds":
        """What the folder of a model says.

        Raises:
            ValueError: if the folder is damaged, or knows nothing of precisions and one is asked for.
        """
        if model.decisions.of().unlabelled:
            if options.precision is not None:
                raise ValueError(f"no precision can be promised without labels: {PROMISE}")
            if options.threshold is not None:
                return cls(ASKED_FOR, guessed=True)
            return cls(NO_LABELS if shows_threshold(model.decision) else NO_THRESHOLD, guessed=True)
        found = cls(of_links(model.record, model.about), model.record)
        if options.precision is not None and found.known is None:
            raise ValueError(
                f"{model.folder} holds no thresholds for a precision: there is no {layout.PRECISION}. Give a "
                "threshold, a probability, in its place; a threshold for a precision has to be measured on texts whose "
                "duplicates are known, or on pairs that label draws"
            )
        return found

    @property
    def in_words(self) -> str:
        """What they rest on, as a sentence."""
        return f"{'the threshold rests' if self.guessed else 'threshold and probabilities rest'} on {self.evidence}"

    @property
    def measured(self) -> DedupeThresholds | None:
        """Over all pairs of validation texts."""
        return None if self.record is None else self.record.dedupe

    @property
    def labelled(self) -> LabelledLinks | None:
        """On pairs that were drawn from a file; None where there are thresholds over all pairs of validation texts."""
        if self.measured is not None or self.record is None or self.record.calibration is None:
            return None
        return self.record.calibration.links

    @property
    def guarantee(self) -> Guarantee | None:
        """What links guarantee of other files; None if nothing was measured, or by an earlier version."""
        return self.measured.guarantee if self.measured is not None and self.measured.promised else None

    @property
    def known(self) -> DedupeThresholds | LabelledLinks | None:
        """What says which precision a threshold has."""
        return self.labelled if self.measured is None else self.measured

    def link(self, decision: Decision, options: DedupeOptions, texts: int) -> LinkThreshold:
        """The threshold for these options.

        For a precision, the lowest threshold whose limit reaches it in a file of so many texts; if there is none, the
        one that had it where it was measured.

        Args:
            decision: calibration of the scores, with the threshold of labelled pairs.
            options: with a precision only if there is `known`.
            texts: number of distinct ones.

        Raises:
            ValueError: if no threshold is known for the precision, or no probability is usable.
        """
        if options.precision is not None and self.known is not None:
            if self.guarantee is not None and (least := self.guarantee.reaching(options.precision, texts)) is not None:
                return LinkThreshold(least.threshold, "links", least.measured, least, assured=True)
            target, threshold = target_links(self.known, options.precision)
            guaranteed, expected = self._guaranteed(threshold, texts), self._expected(target.aimed, texts)
            assured = expected is not None and expected.low >= options.precision
            return LinkThreshold(threshold, "links", target.precision, guaranteed, expected, assured)
        score, chosen_for = self._default(decision, options)
        expected = self._expected(None, texts) if chosen_for == "links" else None
        return LinkThreshold(score, chosen_for, guaranteed=self._guaranteed(score, texts), expected=expected)

    def _default(self, decision: Decision, options: DedupeOptions) -> tuple[float, ChosenFor]:
        """The score without a precision, and what it is the best of."""
        if options.threshold is not None:
            return (options.threshold if self.guessed else _score_at(options.threshold, decision)), "user"
        if self.measured is not None:
            return self.measured.rule(options.rule).threshold, "groups"
        if self.labelled is not None:
            return self.labelled.f1_threshold, "links"
        if self.guessed:
            return decision.threshold, "guess" if shows_threshold(decision) else "constant"
        return decision.threshold, "pairs"

    def _guaranteed(self, score: float, texts: int) -> GuaranteedPrecision | None:
        return None if self.guarantee is None else self.guarantee.at_threshold(score, texts)

    def _expected(self, target: float | None, texts: int) -> IntervalEstimate | None:
        if self.labelled is None or self.record is None or self.record.calibration is None:
            return None
        found = self.record.calibration.expected.get(target)
        return None if found is None else found.carried_over(measured_on=self.labelled.texts, texts=texts)

    def expected_precision(self, link: LinkThreshold, texts: int) -> float | None:
        """The precision at a threshold, carried over to so many texts; None if it was not measured."""
        if link.expected is not None:
            return link.expected.value
        if link.precision is None or self.known is None:
            return None
        return carried_over(link.precision, measured_on=self.known.texts, texts=texts)

    def is_lower_bound(self, link: LinkThreshold) -> bool:
        """Whether that precision is a lower bound, because not every duplicate of validation is labelled."""
        said = link.precision is not None or link.guaranteed is not None
        return said and self.measured is not None and not self.measured.complete

    def covered(self, links: Links) -> float | None:
        """Share of links that the labels say something about, see `DedupeSummary`."""
        if self.labelled is None:
            return None
        return covered(links.left, links.right, links.similarity, nearest=self.labelled.nearest)


def target_links(known: DedupeThresholds | LabelledLinks, precision: float) -> tuple[TargetLinks, float]:
    """The links for a target precision, and their threshold.

    Args:
        known: what was chosen.
        precision: that is asked for.

    Raises:
        ValueError: if no threshold was chosen for it, or none reaches it.
    """
    found = next((each for each in known.links if math.isclose(each.aimed, precision)), None)
    if found is None:
        raise ValueError(
            f"there are thresholds for a precision of {', '.join(f'{each.aimed:g}' for each in known.links)}, and none "
            f"for {precision:g}"
        )
    if found.threshold is None:
        where, bound = "on the labelled pairs", ""
        if isinstance(known, DedupeThresholds):
            where = "on validation"
            bound = "" if known.complete else " (a lower bound, because not every duplicate is labelled there)"
        raise ValueError(
            f"no threshold gives links with precision {precision:g} {where}: the highest one is "
            f"{found.precision:.3f}{bound}, with recall {found.recall:.3f}. Another model may reach it"
        )
    return found, found.threshold


def covered(left: NDArray[np.int64], right: NDArray[np.int64], similarity: Floats, *, nearest: int) -> float | None:
    """Share of links of which one text is among the `nearest` linked ones of the other; None if there is no link.

    Args:
        left: (L,) numbers of texts.
        right: (L,) numbers of texts.
        similarity: (L,)
        nearest: at least 1.
    """
    if not len(left):
        return None
    ends, alike = np.concatenate([left, right]), np.concatenate([similarity, similarity])
    order = np.lexsort((-alike, ends))
    first = np.flatnonzero(np.append(True, np.diff(ends[order]) != 0))
    place = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    near = np.empty(len(order), bool)
    near[order] = place < nearest
    return float((near[: len(left)] | near[len(left) :]).mean())


def _score_at(probability: float, decision: Decision) -> float:
    """The score with this calibrated probability."""
    if decision.slope <= 0:
        raise ValueError("on validation, a higher score of this model is not more alike: no probability is usable")
    return (math.log(probability / (1 - probability)) - decision.intercept) / decision.slope
