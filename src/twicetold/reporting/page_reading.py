"""How to read the report and what its metrics mean, as HTML."""

from collections.abc import Sequence
from html import escape

from twicetold.reporting.glossary import describe
from twicetold.reporting.leaderboard import Leaderboard


def reading(boards: Sequence[Leaderboard]) -> str:
    """How to interpret the numbers; notes that do not apply to the page are left out."""
    several = any(len(row.runs) > 1 for board in boards for row in board.rows)
    observed = any(row.train_seconds is not None for board in boards for row in board.rows)
    notes = [
        "<b>Validation chooses, test reports.</b> Rows are ordered by validation, and the mark <i>best</i> is given "
        "there. A model further down may do better on test by chance. Test data are read by the stage "
        "<code>evaluate</code> only, after training.",
        "<b>Thresholds are chosen on validation</b> (the highest accuracy there; for documents, the highest F1) and "
        "applied unchanged to test, so they do not make accuracy, F1 and MCC on test look better. The probability of a "
        "pair is a logistic function of its score, also fitted on validation.",
        "<b>Intervals</b> are 95 % confidence intervals for the choice of test data. In the small "
        "figures the dot is the value, the thick line its interval, the dotted line the best baseline; all rows "
        "share one axis. Overlapping intervals do not mean that two models are equal: for pairs, use the "
        "paired tests below each leaderboard.",
        "<b>Baselines</b> are not trained: they count words. Compare trained models with them.",
        "<b>Compare within one dataset.</b> Class balance, difficulty and size differ between datasets and affect most "
        "metrics.",
    ]
    if several:
        notes.append(
            "<b>Several seeds:</b> values are means over seeds with the standard deviation behind ±, intervals are "
            "those of one run, averaged; curves and paired tests show the smallest seed."
        )
    if observed:
        notes.append(
            "<b>Seconds and speed</b> were observed on one machine with other work on it. They are not reproducible "
            "and are in no other file."
        )
    items = "".join(f"<li>{note}</li>" for note in notes)
    return f'<section id="reading"><h2>How to read this</h2><ul class="audit">{items}</ul></section>'


def glossary(boards: Sequence[Leaderboard], *further: str) -> str:
    """A line for each metric on the page: those of the boards, and further ones."""
    names = [*(name for board in boards for name in board.metrics), *further]
    entries = dict.fromkeys(describe(name).entry for name in names)
    known = [metric for metric in map(describe, entries) if metric.meaning]
    items = "".join(f"<dt>{escape(metric.label)}</dt><dd>{escape(metric.meaning)}</dd>" for metric in known)
    return f'<section id="glossary"><h2>Glossary</h2><dl class="glossary">{items}</dl></section>'
