"""Evidence for the thresholds and probabilities of a model, in words."""

from twicetold import layout
from twicetold.trained.threshold_record import CalibrationRecord, ThresholdRecord


def of_pairs(known: ThresholdRecord, about: str | None = None) -> str:
    """Return evidence for the threshold and the probabilities of pairs.

    Args:
        known: of the model.
        about: the label of the verdicts; None: the one that was calibrated, if one was.
    """
    return _pairs(known, about) + _day(known, about)


def of_links(known: ThresholdRecord, about: str | None = None) -> str:
    """Name the evidence for the threshold and the probabilities of links in a file. Arguments: `of_pairs`."""
    calibrated = known.calibrated(about)
    if known.dedupe is None:
        said = f"{'labelled pairs of ' if calibrated is None else ''}{_pairs(known, about)}"
    else:
        said = f"all pairs of the {known.dedupe.texts:,} validation texts of {_data(known)}"
        if calibrated is not None:
            said += f", not on {_labels(calibrated)}, which say nothing about all pairs of a file"
    return said + _day(known, about)


def no_better_than_one_answer(known: ThresholdRecord, about: str | None = None) -> str | None:
    """Warn where, by the labels that it was calibrated on, a model is right less often than one fixed answer.

    Args:
        known: of the model.
        about: the label of the verdicts; None: the one that was calibrated, if one was.

    Returns:
        None if it is right more often, or was not calibrated about this label, or by an earlier version that did not
        record it.
    """
    calibrated = known.calibrated(about)
    if calibrated is None or calibrated.accuracy is None or calibrated.same is None:
        return None
    return one_answer(calibrated.accuracy, calibrated.same, "the threshold")


def one_answer(right: float, same: float, what: str) -> str | None:
    """Say that always giving one answer is right more often than a threshold; None if it is not.

    Args:
        right: share of pairs about which the threshold is right.
        same: share of pairs that are duplicates.
        what: whose accuracy it is.
    """
    answer, always = ("yes", same) if same > 0.5 else ("no", 1 - same)
    if right >= always:
        return None
    return (
        f"by the labels, always answering {answer} is right for {always:.1%} of the pairs, and {what} for {right:.1%}: "
        "use its scores for ranking only"
    )


def _pairs(known: ThresholdRecord, about: str | None) -> str:
    calibrated = known.calibrated(about)
    return f"the validation split of {_data(known)}" if calibrated is None else _labels(calibrated)


def _labels(calibrated: CalibrationRecord) -> str:
    """Describe the labels; names from elsewhere are shown as Python would write them."""
    links = calibrated.links
    if links is None:
        return f"the {calibrated.labelled:,} labelled pairs of {calibrated.file!r}"
    return (
        f"{links.labelled:,} labelled pairs, drawn from the {links.pairs:,} pairs of nearest texts among the "
        f"{links.texts:,} of {links.file!r}"
    )


def _day(known: ThresholdRecord, about: str | None) -> str:
    calibrated = known.calibrated(about)
    return "" if calibrated is None or calibrated.day is None else f"; labels of {calibrated.day}"


def _data(known: ThresholdRecord) -> str:
    if known.data is not None:
        return repr(known.data)
    return f"its data, which {layout.RECIPE} does not name" if known.saved else "its data"
