"""What is known of the texts and links of a dedupe, in sentences: for groups, and for an index that keeps them."""

from collections.abc import Iterator

from twicetold.dedupe.results import DedupeSummary
from twicetold.trained.drift import BLANK

GUESSED_FOR = "average"  # the rule that `evaluation.unlabelled` guesses a threshold for


def known_of_links(summary: DedupeSummary) -> list[str]:
    """How precise links are by the evidence that there is, and whether it is about groups by the rule as well."""
    return [*_precision(summary), *_promised(summary), *_rule(summary)]


def _precision(summary: DedupeSummary) -> Iterator[str]:
    """What was measured, carried over to this number of texts."""
    if (expected := summary.expected_precision) is None:
        return
    seen = "" if summary.precision is None else f"{summary.precision:.3f} "
    here = "with as many texts as here and as many duplicates of each"
    if summary.expected_low is None:
        least = "at least " if summary.lower_bound else ""
        yield f"precision of links: {least}{seen}where it was measured; {here}, {least}{expected:.3f}"
        return
    seen = seen and f"{seen}on the labels it was chosen on; "
    yield (
        f"precision of links: {seen}to be expected by the labels, {here}, {expected:.3f} (95 % interval "
        f"{summary.expected_low:.3f} to {summary.expected_high:.3f})"
    )
    if summary.precision is not None and not summary.assured:
        yield (
            "warning: the labels do not assure the precision that was asked for, as the interval begins below it: more "
            "labels make it narrower"
        )


def _promised(summary: DedupeSummary) -> Iterator[str]:
    """What files like this one keep."""
    if (promised := summary.promised) is None:
        if summary.precision is not None and summary.expected_low is None:
            yield "how far that precision varies from file to file is not known"
        return
    yield (
        f"nine of ten files of so many texts have a precision of at least {promised.least:.3f} (by text: expected "
        f"{promised.text_expected:.3f}, at least {promised.text_least:.3f})"
        + (", and more where duplicates are not labelled" if summary.lower_bound else "")
    )
    if summary.precision is not None and not summary.assured:
        yield (
            "warning: no threshold is known at which nine of ten files would keep the precision that was asked for: "
            "this one had it where it was measured"
        )


def _rule(summary: DedupeSummary) -> Iterator[str]:
    """Where a threshold is the best of something else than groups by the rule."""
    if summary.chosen_for == "links":
        yield (
            f"the threshold was chosen for links, each by itself: how right groups by the rule {summary.rule} are from "
            "it on was not measured"
        )
    elif summary.chosen_for == "guess" and summary.rule != GUESSED_FOR:
        yield f"the threshold was guessed for groups by the rule {GUESSED_FOR}, not for {summary.rule}"


def unknown_texts(count: int, texts: int) -> str | None:
    """A warning of texts without a term that the model knows; None if they are few.

    Args:
        count: of these.
        texts: distinct ones, at least one.
    """
    if count <= BLANK * texts:
        return None
    return (
        f"{count:,} of {texts:,} texts ({count / texts:.0%}) have no term that the model knows, and are like no other "
        "text to it: train a model on texts like these, or take one that reads letters"
    )
