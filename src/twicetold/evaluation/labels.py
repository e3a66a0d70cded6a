"""The decisions of one model, each about one label: whether two texts are of one story, or of one category.

Documents may have several labels. Training selects by one of them, the primary one, and evaluation and ensembles use
its decision. A verdict is about the finest one that is no class, unless another is asked for. Labelled pairs have one
label, `duplicate`.

Not every decision can answer. Where scores say nothing of a label, the threshold with the highest F1 calls all pairs
the same; where they say little, many times as many as are. So a decision of documents is kept with what it makes of the
pairs of validation, and gives a verdict only if it calls at most twice as many the same as are.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from twicetold.evaluation.decision import Decision, decide_counts
from twicetold.evaluation.inputs import described, is_number
from twicetold.evaluation.ranking import ScoreCounts
from twicetold.evaluation.stored import record

DUPLICATE = "duplicate"
"""The label of labelled and graded pairs."""
AT_MOST = 2.0
"""So many times as many pairs as are the same may a decision call so, or it gives no verdict."""

LABEL_SOME = (
    "Use a model that tells these apart, ask about another label (about=, --about), or choose a threshold on labelled "
    "pairs of your own (twicetold label, then twicetold calibrate)"
)
TRAIN = "Train with validation texts of which some share one, or ask about another label (about=, --about)"
SHARES = ("same", "called", "right")
UNLABELLED = "unlabelled"  # in JSON, only where it is so


class NoVerdict(ValueError):
    """The model has no decision that can answer about a label."""


@dataclass(frozen=True)
class LabelDecision:
    """A decision about one label.

    Args:
        label: what two texts that are called the same share.
        decision: threshold and calibration; None if validation has no two texts that share the label, or no others.
        same: share of all pairs of validation that share the label; None if not known, as are the two below.
        called: share of them that the decision calls the same.
        right: share of the called ones that share the label; 0 if none is called so.
        unlabelled: whether nobody has labelled anything: threshold and calibration are those of the generic matcher.
    """

    label: str
    decision: Decision | None
    same: float | None = None
    called: float | None = None
    right: float | None = None
    unlabelled: bool = False

    @classmethod
    def of(cls, label: str, decision: Decision, counts: ScoreCounts) -> "LabelDecision":
        """Return a decision with what it makes of counted scores of all pairs of validation."""
        (right, wrong), total = counts.called(decision.threshold), counts.positives + counts.negatives
        called = right + wrong
        return cls(label, decision, counts.positives / total, called / total, right / called if called else 0.0)

    @property
    def no_verdict(self) -> str | None:
        """Why the decision cannot answer, in a sentence; None if it can."""
        if self.decision is None:
            return f"validation had no two texts of one {self.label}, or no others, so no threshold could be chosen"
        if self.unlabelled:
            return "it was fitted to texts alone, and no duplicates are labelled"
        if self.same is None or self.called is None or self.right is None:
            return None
        if self.decision.slope <= 0 or self.called == 1 or not 0 < self.called <= AT_MOST * self.same:
            return (
                f"on validation, where {self.same:.1%} of all pairs are of one {self.label}, the threshold calls "
                f"{self.called:.1%} the same, and {self.right:.0%} of these are"
            )
        return None

    @property
    def stored(self) -> Decision:
        """The decision, also where it cannot answer.

        Raises:
            NoVerdict: if there is none.
        """
        if self.decision is None:
            raise self._refusal()
        return self.decision

    @property
    def usable(self) -> Decision:
        """The decision.

        Raises:
            NoVerdict: if it cannot answer; says why, and what to do.
        """
        if self.decision is None or self.no_verdict:
            raise self._refusal()
        return self.decision

    def _refusal(self) -> NoVerdict:
        todo = LABEL_SOME if self.decision else TRAIN
        return NoVerdict(f"the model gives scores, but no verdict about {self.label}: {self.no_verdict}. {todo}")


@dataclass(frozen=True)
class Decisions:
    """The decisions of one model by label.

    Args:
        labels: by name.
        primary: the label that training selected by; it has a decision.
        finest: the label that verdicts are about unless another is asked for.

    Raises:
        ValueError: if `primary` or `finest` is none of the labels, or the primary one has no decision.
    """

    labels: Mapping[str, LabelDecision]
    primary: str
    finest: str

    def __post_init__(self) -> None:
        for name in (self.primary, self.finest):
            if name not in self.labels:
                raise ValueError(f"expected one of the labels {sorted(self.labels)}, got {name!r:.80}")
        if self.labels[self.primary].decision is None:
            raise ValueError(f"expected a decision about {self.primary!r}, by which training selected")

    @classmethod
    def about(cls, label: str, decision: Decision) -> "Decisions":
        """Return the only decision of a model."""
        return cls({label: LabelDecision(label, decision)}, label, label)

    @classmethod
    def of_documents(cls, counts: Mapping[str, ScoreCounts | None], *, primary: str, finest: str) -> "Decisions":
        """Return the decisions with the highest F1 over all pairs of documents.

        Args:
            counts: label -> counted scores; None where there is no pair that shares it, or no other.
            primary: the label that training selected by.
            finest: the label that verdicts are about.
        """
        labels = {
            name: LabelDecision(name, None)
            if each is None
            else LabelDecision.of(name, decide_counts(each, aim="f1"), each)
            for name, each in counts.items()
        }
        return cls(labels, primary, finest)

    @property
    def selected(self) -> Decision:
        """The decision about the primary label."""
        return self.labels[self.primary].stored

    def of(self, label: str | None = None) -> LabelDecision:
        """Return the decision about a label; None: the finest one.

        Raises:
            ValueError: if the model knows no such label.
        """
        if (found := self.labels.get(self.finest if label is None else label)) is None:
            raise ValueError(
                f"the model has no decision about {label!r}: expected one of the labels {', '.join(self.labels)}"
            )
        return found

    def changed(self, label: str, decision: Decision) -> "Decisions":
        """Return the same with another decision about one label, of which validation says nothing."""
        return replace(self, labels={**self.labels, label: LabelDecision(label, decision)})

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON: of labelled pairs only the three numbers of the decision, else as `from_json` reads it."""
        if list(self.labels) == [DUPLICATE] and self.labels[DUPLICATE].same is None:
            return asdict(self.labels[DUPLICATE].stored)
        return {
            "primary": self.primary,
            "finest": self.finest,
            "labels": {
                name: each.decision
                and {
                    **asdict(each.decision),
                    **{share: getattr(each, share) for share in SHARES},
                    **({UNLABELLED: True} if each.unlabelled else {}),
                }
                for name, each in self.labels.items()
            },
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Decisions":
        """Return the decisions of documents, as `to_json` gives them.

        Raises:
            ValueError: if a field is missing, of another type, or unknown.
        """
        if set(values) != {"primary", "finest", "labels"} or not isinstance(values["labels"], dict):
            raise ValueError(f"expected primary, finest and labels, got {sorted(values)!r:.80}")
        labels = {name: _label_decision(name, each) for name, each in values["labels"].items()}
        return cls(labels, str(values["primary"]), str(values["finest"]))


def _label_decision(label: str, values: Any) -> LabelDecision:
    if values is None:
        return LabelDecision(label, None)
    if not isinstance(values, dict):
        raise ValueError(f"expected the decision about {label!r} to be an object, got {described(values)}")
    same, called, right = shares = [values.get(name) for name in SHARES]
    if wrong := [share for share in shares if share is not None and not (is_number(share) and 0 <= share <= 1)]:
        raise ValueError(f"expected shares of pairs from 0 to 1, got {described(wrong[0])}")
    if (unlabelled := values.get(UNLABELLED, False)) not in (True, False):
        raise ValueError(f"expected true or false as {UNLABELLED!r}, got {described(unlabelled)}")
    numbers = {name: value for name, value in values.items() if name not in (*SHARES, UNLABELLED)}
    decision = record(Decision, numbers, f"the decision about {label!r:.80}")
    return LabelDecision(label, decision, same, called, right, unlabelled)
