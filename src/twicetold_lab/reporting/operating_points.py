"""Operating points of labelled pairs: what a threshold from validation does on test."""

from collections.abc import Sequence

from twicetold.evaluation.intervals import Interval
from twicetold_lab.evaluation.operating_points import OperatingPoint
from twicetold_lab.reporting.glossary import magnitude, number, share
from twicetold_lab.reporting.leaderboard import Row
from twicetold_lab.reporting.tables import MISSING, NOTHING, Section, Table, TableCell

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
    TableCell("Threshold", "validation"),
    TableCell("Probability", "at the threshold"),
    TableCell("Precision", "validation → test"),
    TableCell("Recall"),
    TableCell("Flagged", "share of pairs"),
    TableCell("Errors", "per 1,000 pairs"),
    *(TableCell("Precision", f"if {prior:.0%} say the same") for prior in PRIORS),
)


def operating_points_section(rows: Sequence[Row]) -> Section | None:
    """A row for each model and point, of the first seed; None if no model has any."""
    found = [(TableCell(row.model + row.mark, point.name), _cells(point)) for row in rows for point in row.first.points]
    return Section(TITLE, tables=[Table(_COLUMNS, tuple(found))]) if found else None


def _cells(point: OperatingPoint) -> tuple[TableCell, ...]:
    if point.threshold is None or point.val is None or point.test is None or point.probability is None:
        return (TableCell(NOTHING, "not reached on validation"), *[MISSING] * (len(_COLUMNS) - 1))
    test, intervals = point.test, point.test.intervals
    promised = NOTHING if point.val.precision is None else number(point.val.precision)
    kept = NOTHING if test.precision is None else number(test.precision)
    errors = tuple(1000 * end for end in intervals["errors"])
    return (
        TableCell(magnitude(point.threshold), value=point.threshold),
        TableCell(share(point.probability), value=point.probability),
        _number(test.precision, intervals.get("precision"), f"{promised} → {kept}"),
        _number(test.recall, intervals.get("recall")),
        TableCell(share(test.flagged), value=test.flagged),
        TableCell(f"{1000 * test.errors:.0f}", f"{errors[0]:.0f} to {errors[1]:.0f}", test.errors),
        *(_number(point.precision_under(prior)) for prior in PRIORS),
    )


def _number(value: float | None, interval: Interval | None = None, text: str = "") -> TableCell:
    return TableCell(text or NOTHING) if value is None else TableCell(text or number(value), "", value, interval)
