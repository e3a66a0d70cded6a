"""How many mined negatives are duplicates: text and cells for the page and for Markdown, and the page's figure."""

from collections.abc import Sequence

from markupsafe import Markup

from twicetold_lab.evaluation.pair_intervals import accuracy_interval
from twicetold_lab.reporting.figures import Axis, ShareRow, share_figure
from twicetold_lab.reporting.glossary import count, magnitude, share
from twicetold_lab.runs.records import Mined

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
    low, high = accuracy_interval(mined.known_duplicates, mined.negatives)
    return [
        count(mined.triplets),
        "–" if different is None else _percent(different / mined.triplets),
        _percent(mined.known_duplicates / mined.negatives),
        f"{_percent(low)} to {_percent(high)}",
        count(mined.known_duplicates),
        count(mined.negatives),
        count(mined.judged),
        f"{count(mined.judged_duplicates)} ({share(mined.judged_duplicates / mined.judged)})" if mined.judged else "–",
    ]


def figure(each: Sequence[Mined]) -> Markup:
    """The share of negatives that are duplicates for each strategy."""
    shares = [_share(mined) for mined in each]
    across = Axis.around("% of negatives that are known duplicates", [0, *(shown.interval[1] for shown in shares)])
    return share_figure(shares, title="False-negative rate of each way of mining", across=across)


def _share(mined: Mined) -> ShareRow:
    low, high = accuracy_interval(mined.known_duplicates, mined.negatives)
    rate = mined.known_duplicates / mined.negatives
    return ShareRow(mined.strategy, _percent(rate), 100 * rate, (100 * low, 100 * high))


def _percent(value: float) -> str:
    """A share with three significant digits, as it may be far below a percent: 0.0437 %."""
    return f"{magnitude(100 * value)} %"
