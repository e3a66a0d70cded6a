"""How many mined negatives are duplicates: text and table cells for the page and for Markdown."""

from twicetold.evaluation.intervals import accuracy_interval
from twicetold.reporting.glossary import count, magnitude, share
from twicetold.reporting.records import Mined

COLUMNS = (
    "triplets",
    "labelled different",
    "false-negative rate",
    "95 % interval",
    "known duplicates",
    "of negatives",
    "judged",
    "duplicates of the judged",
)
EXPLANATION = (
    "A duplicate of the anchor according to train’s labels, or by transitivity, is never mined as a negative. To "
    "estimate the effect of missing labels, each strategy mines again with a part of train’s labelled pairs hidden. "
    "The false-negative rate is the share of these negatives that are duplicates according to all labels of train. It "
    "is a lower bound, because not all pairs are labelled. Judged are the negatives that are hidden pairs; labelled "
    "pairs were chosen to look alike, so the share of duplicates among them is closer to an upper bound. "
    "Labels of validation and test are not used."
)


def cells(mined: Mined) -> list[str]:
    """The cells of `COLUMNS`."""
    different = mined.labelled_different
    low, high = rate_interval(mined)
    return [
        count(mined.triplets),
        "–" if different is None else percent(different / mined.triplets),
        percent(rate(mined)),
        f"{percent(low)} to {percent(high)}",
        count(mined.known_duplicates),
        count(mined.negatives),
        count(mined.judged),
        f"{count(mined.judged_duplicates)} ({share(mined.judged_duplicates / mined.judged)})" if mined.judged else "–",
    ]


def rate(mined: Mined) -> float:
    """The false-negative rate."""
    return mined.known_duplicates / mined.negatives


def rate_interval(mined: Mined) -> tuple[float, float]:
    """Wilson's interval of it."""
    return accuracy_interval(mined.known_duplicates, mined.negatives)


def percent(value: float) -> str:
    """A share that may be far below a percent: 0.0437 %."""
    return f"{magnitude(100 * value)} %"
