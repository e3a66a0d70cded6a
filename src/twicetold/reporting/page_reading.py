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
        "there. A model further down may do better on test: that is luck until another dataset says so too. Test "
        "data are read by the stage <code>evaluate</code> alone, once training is over.",
        "<b>Thresholds are chosen on validation</b> (the highest accuracy there; for documents, the highest F1) and "
        "applied unchanged to test, so accuracy, F1 and MCC on test are what you would have got. The probability of a "
        "pair is a logistic curve over its score, fitted on validation too.",
        "<b>Intervals</b> cover 95 % of what another test set of the same size would have given. In the small "
        "figures the dot is the value, the thick line its interval, the dotted line the best baseline; all rows "
        "share one axis. Two intervals that overlap do not mean that two models are equal: where the data are pairs, "
        "the paired tests below each leaderboard answer that.",
        "<b>Baselines</b> learn nothing by gradient: they count words. What a trained model adds is its distance from "
        "them.",
        "<b>Compare within one dataset.</b> Class balance, difficulty and size differ between datasets, and most "
        "metrics move with them.",
    ]
    if several:
        notes.append(
            "<b>Several seeds:</b> values are means over seeds with the standard deviation behind ±, intervals are "
            "those of one run, averaged; curves and paired tests show the smallest seed."
        )
    if observed:
        notes.append(
            "<b>Seconds and speed</b> were observed on one machine, whatever else it was doing; they are no "
            "reproducible result and stand in no other file."
        )
    items = "".join(f"<li>{note}</li>" for note in notes)
    return f'<section id="reading"><h2>How to read this</h2><ul class="audit">{items}</ul></section>'


def glossary(boards: Sequence[Leaderboard], *further: str) -> str:
    """A line for each metric on the page: those of the boards, and further ones."""
    names = dict.fromkeys([*(name for board in boards for name in board.metrics), *further])
    known = [metric for metric in map(describe, names) if metric.meaning]
    items = "".join(f"<dt>{escape(metric.label)}</dt><dd>{escape(metric.meaning)}</dd>" for metric in known)
    return f'<section id="glossary"><h2>Glossary</h2><dl class="glossary">{items}</dl></section>'
