"""Numbered checks of a run: what its figures do not say by themselves. docs/guides/checks.md shows each of them happen.

A check is a pure function of what was read from a run folder (`RunFolder`) and says in a line what it found, nothing,
or which file it lacks. Published run folders have metrics and summary alone; the leakage audit is on the card of the
dataset. What an error finds makes a figure of the run wrong for new texts; a warning, right under a condition alone; a
note, no fair comparison.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from twicetold import layout
from twicetold.evaluation.guarantee import MeasuredLinks
from twicetold.trained.evidence import one_answer
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.runs.records import has_card, intervals_of, read_card
from twicetold_lab.scoring.cross_domain import MOST_SHARED

Severity = Literal["error", "warning", "note"]
ERROR: Severity = "error"
FOUND, CLEAR, NOT_CHECKED = "found", "clear", "not checked"
LEAST = 0.5
"""Share of average precision below which F1 has broken down."""
FEWEST_GROUPS = 30
"""Groups with links that a promise rests on."""
AIM = "link_precision_at_"
AS_PUBLISHED = ("published", "by analogy")
"""Begin what a run says of settings that nobody chose on its validation."""


@dataclass(frozen=True)
class Missing:
    """Why a check cannot be made."""

    why: str


@dataclass(frozen=True)
class Check:
    """A numbered check.

    Args:
        number: such as TW001; it never changes its meaning.
        title: what is wrong where it finds something.
        severity: of what it finds.
        of: says in a line what is wrong; None if nothing is.
    """

    number: str
    title: str
    severity: Severity
    of: Callable[[RunFolder], str | Missing | None]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check.

    Args:
        check: which one.
        state: `FOUND`, `CLEAR` or `NOT_CHECKED`.
        detail: what was found, or why it was not checked; empty if it is clear.
    """

    check: Check
    state: str
    detail: str = ""

    @property
    def line(self) -> str:
        """The outcome in a line."""
        how = self.check.severity if self.state == FOUND else self.state
        return f"{self.check.number} {how}, {self.check.title}{': ' if self.detail else ''}{self.detail}"

    @property
    def as_json(self) -> dict[str, str]:
        """The outcome as plain containers."""
        about = {name: getattr(self.check, name) for name in ("number", "title", "severity")}
        return {**about, "state": self.state, "said": self.detail}


def inspect(place: Path, *, cards: Path | None = None) -> RunFolder:
    """Return a run folder, or that of its model, with the leakage audit of its dataset.

    Args:
        place: the folder.
        cards: folder of the cards of datasets.

    Raises:
        FileNotFoundError: if there is no such folder, or no file of a run in it.
    """
    if not place.is_dir():
        raise FileNotFoundError(f"expected the folder of a run, there is no folder {place}")
    run = RunFolder.at(place.resolve().parent if place.resolve().name == layout.MODEL else place)
    files = (layout.METRICS, layout.SUMMARY, layout.ELSEWHERE)
    if not any((run.path / file).is_file() for file in files):
        raise FileNotFoundError(
            f"{place} is no folder of a run: expected one of {', '.join(files)} there; evaluate the model first"
        )
    audit = read_card(run.cell.data, cards).audit if cards and has_card(run.cell.data, cards) else None
    return replace(run, audit=audit)


def check(run: RunFolder, numbers: Iterable[str] = ()) -> list[Outcome]:
    """Return the outcomes of checks, in their order.

    Args:
        run: what was read.
        numbers: of the checks to make; all if empty.

    Raises:
        ValueError: if a number is none of a check.
    """
    chosen = list(numbers)
    if unknown := [number for number in chosen if number not in {each.number for each in CHECKS}]:
        raise ValueError(f"expected one of {', '.join(each.number for each in CHECKS)}, got {unknown[0]!r}")
    return [_outcome(each, run) for each in CHECKS if not chosen or each.number in chosen]


def _outcome(which: Check, run: RunFolder) -> Outcome:
    finding = which.of(run)
    if isinstance(finding, Missing):
        return Outcome(which, NOT_CHECKED, finding.why)
    return Outcome(which, CLEAR) if finding is None else Outcome(which, FOUND, finding)


def _carried_threshold(run: RunFolder) -> str | Missing | None:
    """Check whether the threshold is worse on other data than one fixed answer, or than its order of pairs allows."""
    if not run.cross_domain:
        return Missing(f"there is no {layout.ELSEWHERE}: the run was not evaluated on other data")
    findings = []
    for data, measured in run.cross_domain.items():
        if data == run.cell.data:
            continue
        metrics = measured.metrics
        ranked = next((value for name, value in metrics.items() if name.startswith("average_precision_")), None)
        f1, same, right = (metrics.get(name) for name in ("f1", "same_share", "accuracy"))
        if right is not None and same is not None:
            if worse := one_answer(right, same, "its threshold"):
                findings.append(f"on {data}, {worse.partition(':')[0].removeprefix('by the labels, ')}")
        elif f1 is not None and ranked is not None and f1 < LEAST * ranked:
            findings.append(
                f"on {data}, its order of all pairs has average precision {ranked:.3f}, and its threshold F1 {f1:.3f}"
            )
    return "; ".join(findings) or None


def _time_overlap(run: RunFolder) -> str | Missing | None:
    """Check whether test texts are older than the newest of train."""
    share = _audited(run, "texts_before_end_of_train", "the data have no times, or the audit did not use them")
    if isinstance(share, Missing):
        return share
    older = f"{share:.1%} of the test texts are older than the newest one of train: test is no later period"
    return older if share else None


def _seen_in_train(run: RunFolder) -> str | Missing | None:
    """Check whether test texts or pairs are also in train, word for word, of a model that learnt from train."""
    ready_made = bool(run.pretrained_on) and run.is_untrained  # other parameters without epochs are of trained members
    if "epochs" in run.summary and not run.epochs and (ready_made or not run.parameters):
        return None
    share = _audited(run, "equal_texts_in_train", "the audit did not compare texts")
    if isinstance(share, Missing):
        return share
    assert run.audit is not None
    pairs = run.audit["test"].get("equal_pairs_in_train") or 0.0
    if share <= MOST_SHARED and not pairs:
        return None
    both = f", and {pairs:.1%} of the test pairs are pairs of train" if pairs else ""
    return f"{share:.1%} of the test texts are also in train, word for word{both}"


def _audited(run: RunFolder, name: str, otherwise: str) -> float | Missing:
    if run.audit is None:
        return Missing("there is no card of its dataset (data/cards)")
    value = run.audit.get("test", {}).get(name)
    return Missing(otherwise) if value is None else float(value)


def _untuned(run: RunFolder) -> str | Missing | None:
    """Check whether nobody chose its settings on validation."""
    how = run.summary.get("tuned_how")
    if how is None:
        return Missing(f"{layout.SUMMARY} does not say how its settings were chosen")
    if not str(how).startswith(AS_PUBLISHED):
        return None
    return f"its settings are {how}, and were not tuned on these data; beside tuned families it may be worth more"


def _not_clean(run: RunFolder) -> str | Missing | None:
    """Check whether its weights may have met texts of the dataset before."""
    if run.pretrained_on is None:
        return Missing(f"{layout.SUMMARY} does not say what it was pretrained on")
    if not run.cell.data:
        return Missing("the folder is not called DATA-MODEL-SEED, so its dataset is not known")
    if run.is_clean_of(run.cell.data):
        return None
    return (
        f"pretrained on {' and '.join(run.pretrained_on)}: texts of {run.cell.data}, or like them, may be among these"
    )


def _unkept_promise(run: RunFolder) -> str | Missing | None:
    """Check whether a precision was promised on validation that test denies, or that too few groups support."""
    if not run.summary:
        return Missing(f"there is no {layout.SUMMARY}, so no intervals are known")
    val, test = (run.metrics.get(split, {}) for split in ("val", "test"))
    try:
        intervals = intervals_of(run.summary)
    except (AttributeError, TypeError, ValueError, OverflowError):
        return Missing(f"the intervals of {layout.SUMMARY} are no pairs of numbers")
    findings = []
    for name in sorted(name for name in val if name.startswith(AIM)):
        aim = float(name.removeprefix(AIM)) / 100
        if val[name] < aim:
            continue  # the aim was not reached, so nothing is promised
        if name not in test:
            of_links = f"link_ari_at_{name.removeprefix(AIM)}"  # measured also where there is no link
            why = "no pair of test reaches its threshold" if of_links in test else "was not measured on test"
            findings.append(f"precision {aim:g} is promised, and {why}")
        elif name in intervals and intervals[name][1] < aim:
            low, high = intervals[name]
            findings.append(f"precision {aim:g} is promised, test has {test[name]:.3f} ({low:.3f} to {high:.3f})")
        elif (links := _behind(run.promised, aim)) and links.groups < FEWEST_GROUPS:
            findings.append(f"precision {aim:g} is promised by links of {links.groups} groups alone")
    return "; ".join(findings) or None


def _behind(promised: Sequence[MeasuredLinks], aim: float) -> MeasuredLinks | None:
    """Return the links of the lowest threshold that has a precision on validation."""
    return next((links for links in reversed(promised) if links.precision >= aim), None)


CHECKS: tuple[Check, ...] = (
    Check("TW001", "threshold carried to unlike data", "warning", _carried_threshold),
    Check("TW003", "time overlap", "warning", _time_overlap),
    Check("TW004", "test text seen in train", "error", _seen_in_train),
    Check("TW005", "untuned family", "note", _untuned),
    Check("TW007", "not-clean pretraining", "warning", _not_clean),
    Check("TW008", "promise without evidence", "error", _unkept_promise),
)
"""In the order of their numbers. The number of a check that was taken out (TW002, TW006) is not given to another."""
