"""The numbered checks of each model on one dataset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twicetold_lab.reporting.leaderboard import Leaderboard
from twicetold_lab.runs.checks import CHECKS, CLEAR, FOUND, NOT_CHECKED, Outcome, check, inspect

TITLE = "Checks"
EXPLANATION = (
    "What the figures do not say by themselves, for each model's first seed. An error: a figure does not hold for new "
    "texts. A warning: it holds under a condition. A note: a comparison is uneven. docs/guides/checks.md shows each."
)
MARKS = {CLEAR: "–", NOT_CHECKED: "not checked"}


@dataclass(frozen=True)
class CheckTable:
    """Checks as columns, models as rows."""

    heads: tuple[tuple[str, str], ...]
    """Number and title."""
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """Model, and a mark for each check."""
    found: tuple[tuple[str, tuple[str, ...]], ...]
    """A line of what was found -> the models of which it is said."""


def check_table(board: Leaderboard, audit: Mapping[str, Any]) -> CheckTable:
    """The checks of all models on one dataset.

    Args:
        board: with the models.
        audit: split -> finding of the leakage audit.
    """
    outcomes = {row.model: check(inspect(row.first.folder, audit=audit)) for row in board.rows}
    said: dict[str, list[str]] = {}
    for place in range(len(CHECKS)):
        for model, of_model in outcomes.items():
            if of_model[place].state == FOUND:
                said.setdefault(of_model[place].line, []).append(model)
    return CheckTable(
        tuple((each.number, each.title) for each in CHECKS),
        tuple((model, tuple(map(_mark, of_model))) for model, of_model in outcomes.items()),
        tuple((line, tuple(models)) for line, models in said.items()),
    )


def _mark(outcome: Outcome) -> str:
    return outcome.check.severity if outcome.state == FOUND else MARKS[outcome.state]
