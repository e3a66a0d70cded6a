"""The score from which a pair of texts is a link, and what it rests on.

A calibration on labelled pairs, of which a third are duplicates, does not hold among all pairs of a corpus, of which
one in thousands is. So where the model folder holds thresholds that were measured over all pairs of its validation
texts (`precision.json`, which training writes), these and their calibration are used, similarities are the dot
products that they were measured on, and it is known what they promise of other files (`evaluation.promise`). A model
that was calibrated on pairs drawn from a file of texts
(`calibration.json`) has thresholds estimated from these in their place. A model without either has its threshold and
calibration for labelled pairs. A model that was fitted to texts without labels has a guess, and no calibration.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from twicetold import layout
from twicetold.dedupe.options import DedupeOptions
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.dedupe import Chosen
from twicetold.evaluation.labelled_links import LabelledLinks, covered
from twicetold.evaluation.promise import LeastPrecision, Promise
from twicetold.evaluation.unlabelled import NEAR_COPIES, shows_threshold
from twicetold.neighbours.grouping import Links
from twicetold.trained.dated_evidence import of_links
from twicetold.trained.labelled_promises import ExpectedPrecision, read_expected
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.model_folder import read_calibrated

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
        promised: what is expected of this file, and what nine of ten such files keep; None if it is not known.
        expected: what is to be expected of this file by labels; None if it is not known.
        assured: whether the limit, or the interval, reaches the precision that was asked for.
    """

    score: float
    chosen_for: ChosenFor
    precision: float | None = None
    promised: LeastPrecision | None = None
    expected: ExpectedPrecision | None = None
    assured: bool = False


@dataclass(frozen=True)
class Thresholds:
    """What is known of links; without either, the threshold and the calibration are those of labelled pairs.

    Args:
        evidence: what thresholds and probabilities rest on, in words.
        measured: over all pairs of validation texts.
        labelled: on pairs that were drawn from a file.
        guessed: whether there are no labels at all, and so no probabilities.
        expected: precision to be expected by the labels, from the threshold for a precision or the default one (None).
    """

    evidence: str
    measured: Chosen | None = None
    labelled: LabelledLinks | None = None
    guessed: bool = False
    expected: Mapping[float | None, ExpectedPrecision] = field(default_factory=dict)

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
        measured = model.thresholds
        calibrated = read_calibrated(model.folder) if measured is None else None
        labelled = None if calibrated is None else calibrated.links
        expected = {} if labelled is None else read_expected(model.folder)
        found = cls(of_links(model.folder, model.about), measured, labelled, expected=expected)
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
    def promise(self) -> Promise | None:
        """What links promise of other files; None if nothing was measured, or by an earlier version."""
        return self.measured.promise if self.measured is not None and self.measured.promised else None

    @property
    def known(self) -> Chosen | LabelledLinks | None:
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
            if self.promise is not None and (least := self.promise.reaching(options.precision, texts)) is not None:
                return LinkThreshold(least.threshold, "links", least.measured, least, assured=True)
            aimed = self.known.aimed_at(options.precision)
            assert aimed.threshold is not None
            promised, expected = self._promised(aimed.threshold, texts), self._expected(aimed.aimed, texts)
            assured = expected is not None and expected.low >= options.precision
            return LinkThreshold(aimed.threshold, "links", aimed.precision, promised, expected, assured)
        score, chosen_for = self._default(decision, options)
        expected = self._expected(None, texts) if chosen_for == "links" else None
        return LinkThreshold(score, chosen_for, promised=self._promised(score, texts), expected=expected)

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

    def _promised(self, score: float, texts: int) -> LeastPrecision | None:
        return None if self.promise is None else self.promise.at_threshold(score, texts)

    def _expected(self, aimed: float | None, texts: int) -> ExpectedPrecision | None:
        found = self.expected.get(aimed)
        if found is None or self.labelled is None:
            return None
        return found.carried_over(measured_on=self.labelled.texts, texts=texts)

    def expected_precision(self, link: LinkThreshold, texts: int) -> float | None:
        """The precision at a threshold, carried over to so many texts; None if it was not measured."""
        if link.expected is not None:
            return link.expected.value
        if link.precision is None or self.known is None:
            return None
        return self.known.expected_precision(link.precision, texts)

    def is_lower_bound(self, link: LinkThreshold) -> bool:
        """Whether that precision is a lower bound, because not every duplicate of validation is labelled."""
        said = link.precision is not None or link.promised is not None
        return said and self.measured is not None and not self.measured.complete

    def covered(self, links: Links) -> float | None:
        """Share of links that the labels say something about, see `DedupeSummary`."""
        if self.labelled is None:
            return None
        return covered(links.left, links.right, links.similarity, nearest=self.labelled.nearest)


def _score_at(probability: float, decision: Decision) -> float:
    """The score with this calibrated probability."""
    if decision.slope <= 0:
        raise ValueError("on validation, a higher score of this model is not more alike: no probability is usable")
    return (math.log(probability / (1 - probability)) - decision.intercept) / decision.slope
