"""Operating points of labelled pairs as tables: what a threshold from validation does on test."""

from collections.abc import Sequence

from twicetold.evaluation.intervals import Interval
from twicetold_lab.evaluation.operating_points import OperatingPoint, Rates
from twicetold_lab.reporting.dedupe import NOTHING, DedupeTable, Shown
from twicetold_lab.reporting.glossary import magnitude, number, share
from twicetold_lab.reporting.leaderboard import Row

TITLE = "Operating points"
PRIORS = (0.1, 0.01)
"""Shares of pairs that say the same for which precision is given as well."""
HOW_TO_READ = (
    "Where the threshold can be set. Each is chosen on validation: the lowest with the aimed precision there (among at "
    "least 100 pairs), with the best F1, with the best accuracy; the model's own verdicts are at the last. All other "
    "columns are about test, with 95 % intervals. The probability is the calibrated one of a pair at the threshold: it "
    "is about half only at the best accuracy, so a verdict at another threshold and a probability of a half are not "
    "the same thing. Precision depends on how many pairs say the same; the last columns have it for other shares, with "
    "recall and the false positive rate of test."
)
_COLUMNS = (
    Shown("Threshold", "validation"),
    Shown("Probability", "at the threshold"),
    Shown("Precision", "validation → test"),
    Shown("Recall"),
    Shown("Flagged", "share of pairs"),
    Shown("Errors", "per 1,000 pairs"),
    *(Shown("Precision", f"if {prior:.0%} say the same") for prior in PRIORS),
)


def points_table(rows: Sequence[Row]) -> DedupeTable | None:
    """A row for each model and point, of the first seed; None if no model has any."""
    found = tuple(
        (Shown(row.model + row.mark, point.name), _cells(point)) for row in rows for point in row.first.points
    )
    return DedupeTable(_COLUMNS, found) if found else None


def _cells(point: OperatingPoint) -> tuple[Shown, ...]:
    if point.threshold is None or point.val is None or point.test is None or point.probability is None:
        return (Shown(NOTHING, "not reached on validation"), *[Shown(NOTHING)] * (len(_COLUMNS) - 1))
    test = point.test
    promised = NOTHING if point.val.precision is None else number(point.val.precision)
    kept = NOTHING if test.precision is None else number(test.precision)
    errors = tuple(1000 * end for end in test.intervals["errors"])
    return (
        Shown(magnitude(point.threshold), value=point.threshold),
        Shown(share(point.probability), value=point.probability),
        Shown(f"{promised} → {kept}", _ends(test, "precision"), test.precision),
        Shown(number(test.recall), _ends(test, "recall"), test.recall),
        Shown(share(test.flagged), value=test.flagged),
        Shown(f"{1000 * test.errors:.0f}", f"{errors[0]:.0f} to {errors[1]:.0f}", test.errors),
        *(_under(point, prior) for prior in PRIORS),
    )


def _ends(rates: Rates, name: str) -> str:
    ends: Interval | None = rates.intervals.get(name)
    return f"{number(ends[0])} to {number(ends[1])}" if ends else ""


def _under(point: OperatingPoint, prior: float) -> Shown:
    found = point.precision_under(prior)
    return Shown(NOTHING) if found is None else Shown(number(found), value=found)
