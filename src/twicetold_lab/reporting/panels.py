"""The figures of one dataset: curves, reliability, rates of the pairwise k-NN rule, and whiskers in the leaderboard."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from twicetold.evaluation.ranking import ON_TRAIN
from twicetold_lab.reporting.figures import Axis, Line, line_figure, reliability_figure, roc_figure, whisker
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.leaderboard import Estimate, Leaderboard, Row
from twicetold_lab.reporting.reliability import Reliability
from twicetold_lab.runs.records import KnnCurves, read_curves

_RATES = (
    ("TPR", "true_positive_rate", "duplicates that the rule finds"),
    ("TNR", "true_negative_rate", "other pairs that it leaves alone"),
    ("FPR", "false_positive_rate", "other pairs that it calls the same"),
    ("FNR", "false_negative_rate", "duplicates that it misses"),
)


@dataclass(frozen=True)
class Panel:
    """A figure with its caption and its legend."""

    title: str
    said: str
    """Follows the title."""
    figure: Markup
    legend: tuple[tuple[int, str, str], ...]
    """Colour, name and note."""


def curves(board: Leaderboard, reliabilities: Sequence[Reliability], colours: Mapping[str, int]) -> list[Panel]:
    """ROC curves for each label and, for labelled pairs, the reliability of probabilities; one colour per model."""
    found = [(row, read_curves(row.first)) for row in board.rows]
    labels = dict.fromkeys(label for _, curves in found for label in curves)
    panels = []
    for label in labels:
        drawn = [(colours[row.model], row, curves[label]) for row, curves in found if label in curves]
        legend = tuple((colour, row.model, _area(row, label)) for colour, row, _ in drawn)
        figure = roc_figure(
            [(model, f"AUROC {area}", c, curve) for (c, model, area), (_, _, curve) in zip(legend, drawn, strict=True)],
            title=f"ROC curves for {label}",
        )
        title = f"ROC, same {label}" if len(labels) > 1 else "ROC"
        panels.append(Panel(title, ": true pairs found against false alarms", figure, legend))
    if reliabilities:
        reliable = [(colours[r.model], r) for r in reliabilities]
        figure = reliability_figure(reliable, title="Observed share against predicted probability")
        legend = tuple((colour, r.model, f"off by {r.gap:.3f}") for colour, r in reliable)
        panels.append(Panel("Reliability", ": on the diagonal, probabilities are calibrated", figure, legend))
    return panels


def rates(row: Row, found: KnnCurves) -> Panel:
    """Rates of the pairwise k-NN rule of one model against k."""
    lines = [
        Line(name, meaning, colour, found.k, getattr(found, rate))
        for colour, (name, rate, meaning) in enumerate(_RATES)
    ]
    k = row.first.metrics["test"]["pairwise_knn_k"]
    title = f"Rates of the pairwise k-NN rule against k, {row.model}"
    up = Axis.of_shares("share of pairs on validation")
    figure = line_figure(lines, title=title, across=_across(found), up=up, mark=k)
    return Panel("Rates against k", f", {row.model}: the dotted line is the chosen k", figure, _legend(lines))


def losses(measured: Sequence[tuple[Row, KnnCurves]], colours: Mapping[str, int]) -> Panel:
    """Cross-entropy of the pairwise k-NN rule of each model against k."""
    lines = [
        Line(row.model, f"least {curves.cross_entropy.min():.3f}", colours[row.model], curves.k, curves.cross_entropy)
        for row, curves in measured
    ]
    ends = [float(end) for line in lines for end in (line.y.min(), line.y.max())]
    up = Axis.around("cross-entropy on validation", ends)
    title = "Cross-entropy of the pairwise k-NN rule against k"
    figure = line_figure(lines, title=title, across=_across(measured[0][1]), up=up)
    said = ": of yes and no as probabilities fitted on validation"
    return Panel("Cross-entropy against k", said, figure, _legend(lines))


def of_primary(found: Estimate | None, board: Leaderboard) -> Markup:
    """A model's primary metric on test and its interval, on an axis that all models share; empty if undefined."""
    if found is None or math.isnan(found.mean):
        return Markup("")
    estimates = [row.metrics["test"][board.primary] for row in board.rows if board.primary in row.metrics["test"]]
    ends = [end for e in estimates for end in (e.mean, *(e.interval or ())) if not math.isnan(end)]
    axis = (min(ends), max(ends)) if max(ends) > min(ends) else (min(ends) - 0.5, max(ends) + 0.5)
    baseline = board.baseline.metrics["test"][board.primary].mean if board.baseline else None
    return whisker(found.mean, interval=found.interval, axis=axis, baseline=baseline)


def _area(row: Row, label: str) -> str:
    metrics = row.metrics.get("train" if label.endswith(ON_TRAIN) else "test", {})
    label = label.removesuffix(ON_TRAIN)
    found = metrics.get(f"auroc_{label}") or metrics.get("auroc")
    return "–" if found is None else describe("auroc").show(found.mean)


def _across(found: KnnCurves) -> Axis:
    last = int(found.k[-1])
    return Axis("k", 1, max(last, 2), (1, *range(10, last + 1, 10)))


def _legend(lines: Sequence[Line]) -> tuple[tuple[int, str, str], ...]:
    return tuple((line.colour, line.name, line.note) for line in lines)
