"""Scores and decisions of each model on a few sample pairs of texts."""

from dataclasses import dataclass

from twicetold.evaluation.decision import Verdict
from twicetold_lab.reporting.leaderboard import Leaderboard

EXPLANATION = (
    "Pairs that are not part of the data, with each model's decision, score and calibrated probability. "
    "Scores are each model's own: compare them with its threshold, not with each other. The decision is by the "
    "threshold that is best on validation, not by a probability of a half, so that the two may differ."
)


@dataclass(frozen=True)
class SampleTable:
    """Verdicts of each model on each pair."""

    pairs: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Verdict | None, ...]], ...]
    """Model, and its verdict on each pair; None if it did not score the pair."""


def sample_table(board: Leaderboard) -> SampleTable | None:
    """The sample pairs of one dataset with the verdicts of each model's first seed; None if there are none."""
    found = [(row.model, {(v.left, v.right): v for v in row.first.samples}) for row in board.rows]
    pairs = tuple(dict.fromkeys(pair for _, verdicts in found for pair in verdicts))
    if not pairs:
        return None
    return SampleTable(pairs, tuple((model, tuple(verdicts.get(pair) for pair in pairs)) for model, verdicts in found))


def decision_in_words(verdict: Verdict) -> str:
    """The model's decision in words."""
    return "same" if verdict.duplicate else "not the same"
