"""The threshold of links with what is known of it, and what a person is told of that: for groups and for an index."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from twicetold.neighbours.rules import Rule

if TYPE_CHECKING:
    from twicetold.evaluation.guarantee import GuaranteedPrecision

MATCHED_BY = "average"  # the rule that groups by the generic matcher were measured with

ChosenFor: TypeAlias = Literal["groups", "links", "pairs", "matcher", "user"]
"""Target for which a threshold is the best: groups by the rule, links, labelled pairs; or it is the generic matcher's,
one half or after answers less, or a user's."""


@dataclass(frozen=True)
class ExpectedPrecision:
    """A precision carried over to this number of texts, see `evaluation.guarantee.carried_over`; None: not known.

    Args:
        value: the estimate. By labels it is corrected for the choice of the threshold on them.
        low: lower end of its 95 % interval; None if it is not by labels.
        high: upper end.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class LinkThreshold:
    """The score from which a pair is a link.

    Args:
        score: minimum score of a link.
        probability: the same as a probability.
        rule: how links make groups.
        chosen_for: what it is the best of.
        evidence: what the threshold and the probabilities rest on, in words.
        calibrated: whether probabilities rest on labels of texts like these; else they are the generic matcher's.
        labelled_pairs: whether they come from labelled pairs, among which duplicates are more frequent than among all
            pairs of a file.
        precision: of links at the threshold, on this evidence; None if not measured.
        expected: precision to expect of this file. By labels it is known without a target precision, too.
        lower_bound: whether these precisions are lower bounds, because not every duplicate of validation is labelled.
        guaranteed: precision of the links in a file of so many texts, by pair and by text, and the minimum of nine of
            ten such files; None if it is not known.
        assured: whether nine of ten files reach the target precision, not only where it was measured; by labels,
            whether the whole interval reaches it, or nine of ten draws of it where a matcher was moved by them.
    """

    score: float
    probability: float
    rule: Rule = "average"
    chosen_for: ChosenFor = "pairs"
    evidence: str = ""
    calibrated: bool = True
    labelled_pairs: bool = True
    precision: float | None = None
    expected: ExpectedPrecision = ExpectedPrecision()
    lower_bound: bool = False
    guaranteed: "GuaranteedPrecision | None" = None
    assured: bool = False

    def sentences(self) -> list[str]:
        """Return precision of links by this evidence, and a note if it is not about groups by the rule."""
        return [*self._on_precision(), *self._on_guarantee(), *self._on_rule()]

    def _on_precision(self) -> Iterator[str]:
        """Yield the measured precision, carried over to this number of texts."""
        expected = self.expected
        if expected.value is None:
            return
        measured = "" if self.precision is None else f"{self.precision:.3f} "
        where = "in a file of this size with as many duplicates of each text"
        if expected.low is None:
            least = "at least " if self.lower_bound else ""
            yield f"precision of links: {least}{measured}where it was measured; {where}: {least}{expected.value:.3f}"
            return
        measured = measured and f"{measured}on the labels that chose it; "
        yield (
            f"precision of links: {measured}expected {where}: {expected.value:.3f} (95 % interval "
            f"{expected.low:.3f} to {expected.high:.3f})"
        )
        if self.precision is not None and not self.assured:
            yield (
                "warning: the labels do not assure the target precision, because the interval begins below it: "
                "more labels make it narrower"
            )

    def _on_guarantee(self) -> Iterator[str]:
        """Yield the precision that files like this one have."""
        if self.guaranteed is None:
            if self.precision is not None and self.expected.low is None:
                yield "how far that precision varies from file to file is not known"
            return
        yield (
            f"in nine of ten files of this size, the precision is at least {self.guaranteed.least:.3f} (by text: "
            f"expected {self.guaranteed.text_expected:.3f}, at least {self.guaranteed.text_least:.3f})"
            + (", and more where duplicates are not labelled" if self.lower_bound else "")
        )
        if self.precision is not None and not self.assured:
            yield (
                "warning: no threshold is known that has the target precision in nine of ten files: this one had it "
                "where it was measured"
            )

    def _on_rule(self) -> Iterator[str]:
        """Yield a note if the threshold is the best of something else than groups by the rule."""
        if self.chosen_for == "links":
            yield (
                f"the threshold was chosen for single links: the precision of groups by the rule {self.rule} was not "
                "measured"
            )
        elif self.chosen_for == "matcher" and self.rule != MATCHED_BY:
            yield f"the matcher was measured with groups by the rule {MATCHED_BY}, not with {self.rule}"
