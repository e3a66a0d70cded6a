"""Explanations as tables: text for a terminal, and CSV files."""

from collections.abc import Sequence
from pathlib import Path

from twicetold.files import csv_text, write_text
from twicetold.interpretation.contributions import Explanation


def explanation_text(explanation: Explanation, *, most: int) -> str:
    """The pairs of terms with the largest contributions, one per line, then the sum of the others, then the score.

    Args:
        explanation: of one pair of texts.
        most: pairs to show.
    """
    shown = explanation.largest(most)
    others = explanation.contribution.size - len(shown)
    total = float(explanation.contribution.sum())
    lines = [(f"{value:+.4f}", left, right) for left, right, value in shown]
    if others:
        rest = total - sum(value for *_, value in shown)
        lines.append((f"{rest:+.4f}", f"({others} other pairs)", ""))
    lines = [("contribution", "left", "right"), *lines, (f"{total:+.4f}", "score", "")]
    first, second = (max(len(line[i]) for line in lines) for i in (0, 1))
    return "\n".join(f"{a.rjust(first)}  {b.ljust(second)}  {c}".rstrip() for a, b, c in lines) + "\n"


def save_explanation_csv(path: Path, explanation: Explanation) -> None:
    """Write every pair of terms whose contribution is not 0, the largest first."""
    pairs = explanation.largest(explanation.contribution.size)
    rows = ((a, b, f"{value:.8g}") for a, b, value in pairs)
    write_text(path, csv_text(("left", "right", "contribution"), rows))


def save_terms_csv(path: Path, dimensions: Sequence[Sequence[tuple[str, float]]]) -> None:
    """Write the largest terms of each dimension of an embedding with their weights."""
    rows = ((number, term, f"{w:.6g}") for number, terms in enumerate(dimensions) for term, w in terms)
    write_text(path, csv_text(("dimension", "term", "weight"), rows))
