"""Decisions on validation: threshold and calibration about each label. `evaluate` makes them, then reads test."""

from twicetold.evaluation.all_pairs import named_counts, pair_histograms
from twicetold.evaluation.decision import decide
from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs, finest_group
from twicetold.evaluation.labels import DUPLICATE, Decisions
from twicetold_lab.evaluation.selection import Selection, misfit


def decisions(
    selection: Selection, kind: str, val: DocumentVectors | ScoredPairs, *, positive_grade: float | None = None
) -> Decisions:
    """The threshold with the highest accuracy (documents: F1 of each group), and Platt's calibration.

    Args:
        selection: primary metric, bins and classes.
        kind: of data.
        val: the validation split.
        positive_grade: graded pairs of at least this grade are duplicates.

    Raises:
        ValueError: if only one class occurs (documents: of the primary group), or `kind` is unknown or does not fit
            `val`.
    """
    match kind, val:
        case "documents", DocumentVectors():
            primary, histograms = selection.primary_group(val), pair_histograms(val, bins=selection.bins)
            known = {name: each for name, each in histograms.items() if name == primary or each.has_both}
            counts = {**dict.fromkeys(histograms), **named_counts(known)}
            finest = finest_group(val.groups, selection.classes) or primary
            return Decisions.of_documents(counts, primary=primary, finest=finest)
        case "labelled_pairs", ScoredPairs():
            return Decisions.about(DUPLICATE, decide(val.score, val.label))
        case "graded_pairs", ScoredPairs() if positive_grade is not None:
            return Decisions.about(DUPLICATE, decide(val.score, val.label >= positive_grade))
    raise ValueError(misfit(kind, val))
