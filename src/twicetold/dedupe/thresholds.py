"""The score from which a pair of texts is a link, and what it rests on.

A calibration on labelled pairs, of which a third are duplicates, does not hold among all pairs of a corpus, of which
one in thousands is. So where the model folder holds thresholds that were measured over all pairs of its validation
texts (`precision.json`, which training writes), these and their calibration are used, similarities are the dot
products that they were measured on, and it is known what they guarantee of other files (`evaluation.guarantee`). A
model of labelled pairs brings the matcher of pairs that its validation has moved (`matcher.json`), with the model's
score as one feature: it goes before both. A
model that was calibrated on pairs drawn from a file of texts (`calibration.json`) has thresholds estimated from these.
A model without either has its threshold and calibration for labelled pairs. A model that was fitted to texts without
labels has the probabilities of the generic matcher (`twicetold.matching.matcher`), which labels of other files gave it.
"""

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from twicetold import layout
from twicetold.dedupe.link_threshold import ChosenFor, ExpectedPrecision, LinkThreshold
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.pairs import PairScores
from twicetold.evaluation.decision import Decision
from twicetold.matching.matcher import COSINE
from twicetold.trained.fitted import VECTORS, mixture
from twicetold.trained.loaded import LoadedModel

if TYPE_CHECKING:
    from twicetold.dedupe.constraints import Constraints
    from twicetold.evaluation.guarantee import IntervalEstimate
    from twicetold.evaluation.thresholds import DedupeThresholds, LabelledLinks, TargetLinks
    from twicetold.matching.pair_features import Column
    from twicetold.trained.threshold_record import MatchedLinks, ThresholdRecord

NO_LABELS = "the generic matcher (not calibrated on this file)"
ANSWERED = "the generic matcher, moved by your answers"
BY_TOPIC = "the similarity of texts (not calibrated on this file)"
UNLIKE = (
    0.35  # shift of features: test texts of the same corpus at most 0.05, of like ones 0.3, of other kinds 0.5 to 2
)
PROMISE = (
    "label pairs of the file (twicetold label FILE -o pairs.csv), calibrate on them (twicetold calibrate "
    "pairs.csv.model pairs.csv -o MODEL), and dedupe with that model"
)


@dataclass(frozen=True)
class Thresholds:
    """Evidence about links; without either, the threshold and the calibration are those of labelled pairs.

    Args:
        evidence: what thresholds and probabilities rest on, in words.
        record: of the model folder; None where it says nothing of links.
        unlabelled: whether nobody has labelled texts like these, and probabilities are those of the generic matcher.
        matched: the matcher that labels have moved, whose thresholds these are; None: they are of similarities.
    """

    evidence: str
    record: "ThresholdRecord | None" = None
    unlabelled: bool = False
    matched: "MatchedLinks | None" = None

    @classmethod
    def of(cls, model: LoadedModel, options: DedupeOptions, *, by_matcher: bool = False) -> "Thresholds":
        """Read the evidence from the folder of a model.

        Args:
            model: any.
            options: what is asked for.
            by_matcher: thresholds of the matcher, where labels have moved it.

        Raises:
            ValueError: if the folder is damaged, or knows nothing of precisions and one is asked for.
        """
        if model.trained.unlabelled:
            if options.precision is not None:
                raise ValueError(f"no target precision without labels: {PROMISE}")
            return cls(BY_TOPIC if options.sense == "topic" else NO_LABELS, unlabelled=True)
        if options.sense != DEFAULTS.sense:
            raise ValueError(
                f"sense={options.sense!r} needs the generic matcher: what counts as a duplicate for {model.folder} was "
                "decided by its labels"
            )
        from twicetold.trained.evidence import of_links

        record = model.record
        labels = record.labels
        matched = labels.matched if by_matcher and labels is not None and _usable(labels.matched) else None
        if labels is not None and matched is not None:
            record = replace(record, calibration=replace(labels, links=matched.links), dedupe=None)
        thresholds = cls(of_links(record, model.about), record, matched=matched)
        if options.precision is not None and thresholds.known is None:
            raise ValueError(
                f"{model.folder} has no thresholds for a target precision: there is no {layout.PRECISION}. Give a "
                "threshold (a probability) instead; one for a target precision has to be measured on texts whose "
                "duplicates are known, or on pairs that label draws"
            )
        return thresholds

    def unlike(self, columns: "Mapping[str, Column]") -> bool:
        """Return true if pairs with these features are of another kind than those of validation."""
        return self.matched is not None and self.matched.shift(columns) > UNLIKE

    def without_validation(self, answers: "Constraints | None") -> "Thresholds":
        """Return the evidence about texts that are unlike those of validation: the generic matcher, and answers."""
        return Thresholds(ANSWERED if answers else NO_LABELS, unlabelled=True)

    @property
    def by_matcher(self) -> bool:
        """True if pairs are compared by the matcher, not by the model's score."""
        return self.unlabelled or self.matched is not None

    @property
    def texts_alone(self) -> bool:
        """True if the matcher compares texts without the score of a trained model."""
        return self.unlabelled or (self.matched is not None and not self.matched.by_model)

    @property
    def in_words(self) -> str:
        """The evidence as a sentence."""
        return f"{'Using' if self.unlabelled else 'threshold and probabilities rest on'} {self.evidence}"

    @property
    def measured(self) -> "DedupeThresholds | None":
        """Over all pairs of validation texts."""
        return None if self.record is None else self.record.dedupe

    @property
    def labelled(self) -> "LabelledLinks | None":
        """On pairs that were drawn from a file; None where there are thresholds over all pairs of validation texts."""
        if self.measured is not None or self.record is None or self.record.calibration is None:
            return None
        return self.record.calibration.links

    @property
    def known(self) -> "DedupeThresholds | LabelledLinks | None":
        """The evidence that knows which precision a threshold has."""
        return self.labelled if self.measured is None else self.measured

    def link(self, pairs: PairScores, options: DedupeOptions, texts: int) -> LinkThreshold:
        """Return the threshold for these options.

        For a precision, the lowest threshold whose limit reaches it in a file of so many texts; if there is none, the
        one that had it where it was measured.

        Args:
            pairs: their calibration, with the threshold of labelled pairs.
            options: with a precision only if there is `known`.
            texts: number of distinct ones.

        Raises:
            ValueError: if no threshold is known for the precision, or no probability is usable.
        """
        if self.measured is not None:
            found = _by_validation(self.measured, pairs, options, texts)
        elif self.labelled is not None:
            found = _by_labels(self.labelled, pairs, options, texts)
        else:
            default: ChosenFor = "matcher" if self.unlabelled else "pairs"
            found = _default(pairs, options, pairs.decision.threshold, default)
        unknown = self.known is None and not self.unlabelled
        return replace(found, evidence=self.evidence, calibrated=not self.unlabelled, labelled_pairs=unknown)


def _by_validation(known: "DedupeThresholds", pairs: PairScores, options: DedupeOptions, texts: int) -> LinkThreshold:
    """Return the threshold by all pairs of validation texts, with what its links guarantee of other files."""
    guarantee, target, reached = known.guarantee if known.promised else None, options.precision, None
    if target is None:
        found = _default(pairs, options, known.rule(options.rule).threshold, "groups")
    elif guarantee is not None and (reached := guarantee.reaching(target, texts)) is not None:
        found = _threshold(pairs, options, reached.threshold, "links", reached.measured)
    else:
        links, score = target_links(known, target)
        found = _threshold(pairs, options, score, "links", links.precision)
    if target is not None:
        found = replace(found, expected=_carried_over(found.precision, known, texts), assured=reached is not None)
    guaranteed = guarantee.at_threshold(found.score, texts) if guarantee and not reached else reached
    stated = target is not None or guaranteed is not None
    return replace(found, guaranteed=guaranteed, lower_bound=stated and not known.complete)


def _by_labels(known: "LabelledLinks", pairs: PairScores, options: DedupeOptions, texts: int) -> LinkThreshold:
    """Return the threshold by labelled pairs of a file, with the precision that they let expect of this one."""
    if (target := options.precision) is None:
        found = _default(pairs, options, known.f1_threshold, "links")
        expects = found.chosen_for == "links"  # of a threshold that the user gives, nothing was measured
        return replace(found, expected=_carried_over(known.expected(None), known, texts)) if expects else found
    links, score = target_links(known, target)
    expected = _carried_over(known.expected(links.aimed) or links.precision, known, texts)
    assured = expected.low is not None and expected.low >= target
    assured |= known.assured and texts <= known.texts
    found = _threshold(pairs, options, score, "links", links.precision)
    return replace(found, expected=expected, assured=assured)


def _default(pairs: PairScores, options: DedupeOptions, score: float, chosen_for: ChosenFor) -> LinkThreshold:
    """Return the user's threshold, if one is given, or this one."""
    if options.threshold is None:
        return _threshold(pairs, options, score, chosen_for)
    return _threshold(pairs, options, score_at(options.threshold, pairs.decision), "user")


def _threshold(
    pairs: PairScores, options: DedupeOptions, score: float, chosen_for: ChosenFor, precision: float | None = None
) -> LinkThreshold:
    likely = float(pairs.probability(np.array([score]))[0])
    return LinkThreshold(score, likely, options.rule, chosen_for, precision=precision)


def _carried_over(
    measured: "IntervalEstimate | float | None", known: "DedupeThresholds | LabelledLinks", texts: int
) -> ExpectedPrecision:
    """Return a precision, of which the interval may not be known, as it is to be expected in a file of this size."""
    if measured is None:
        return ExpectedPrecision()
    from twicetold.evaluation.guarantee import IntervalEstimate, carried_over

    parts = astuple(measured) if isinstance(measured, IntervalEstimate) else (measured,)
    return ExpectedPrecision(*(carried_over(part, measured_on=known.texts, texts=texts) for part in parts))


def _usable(matched: "MatchedLinks | None") -> bool:
    """Return false if a matcher needs the default's vectors, and they are not installed; a fitted model has its own."""
    needs = set() if matched is None or not matched.by_model else {COSINE} & set(matched.matcher.names)
    return not needs or VECTORS in mixture()


def threshold_warnings(model: LoadedModel) -> list[str]:
    """Return reasons to doubt the threshold of a model, by its labels."""
    from twicetold.trained.evidence import no_better_than_one_answer

    doubts = None if model.trained.unlabelled else no_better_than_one_answer(model.record, model.about)
    return [] if doubts is None else [doubts]


def target_links(known: "DedupeThresholds | LabelledLinks", precision: float) -> "tuple[TargetLinks, float]":
    """Return the links for a target precision, and their threshold.

    Args:
        known: what was chosen.
        precision: that is asked for.

    Raises:
        ValueError: if no threshold was chosen for it, or none reaches it.
    """
    target = next((each for each in known.links if math.isclose(each.aimed, precision)), None)
    if target is None:
        raise ValueError(
            f"there are thresholds for a precision of {', '.join(f'{each.aimed:g}' for each in known.links)}, and none "
            f"for {precision:g}"
        )
    if target.threshold is None:
        from twicetold.evaluation.thresholds import DedupeThresholds

        where, bound, todo = "on the labelled pairs", "", "More labels or another model"
        if isinstance(known, DedupeThresholds):
            where, todo = "on validation", "Another model"
            bound = "" if known.complete else " (a lower bound, because not every duplicate is labelled there)"
        raise ValueError(
            f"no threshold gives links with precision {precision:g} {where}: the highest one is "
            f"{target.precision:.3f}{bound}, with recall {target.recall:.3f}. {todo} may reach it"
        )
    return target, target.threshold


def score_at(probability: float, decision: Decision) -> float:
    """Return the score with this calibrated probability."""
    if decision.slope <= 0:
        raise ValueError("on validation, a higher score of this model is not more alike: no probability is usable")
    return (math.log(probability / (1 - probability)) - decision.intercept) / decision.slope
