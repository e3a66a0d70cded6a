"""Curves as inline SVG, with reproducible bytes, coloured by the page's style sheet: ROC, and reliability.

Colours are classes (`c0` to `c7`), so a figure follows light and dark; from the ninth model on lines are dashed.

Shape letters: P test pairs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from twicetold.evaluation.ranking import ON_TRAIN
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.html import coordinate, part
from twicetold_lab.reporting.leaderboard import Leaderboard, Row
from twicetold_lab.reporting.tables import Figure

_TEMPLATE = "figures.html.j2"
_SIDE = 300  # of the square that two axes span, in SVG units
_TOLERANCE = 0.2 / _SIDE  # largest distance of a thinned curve from the full one: a fifth of an SVG unit
_BINS = 10
_LEAST = 20  # pairs in a bin; with fewer, its observed share is mostly noise


@dataclass(frozen=True)
class Reliability:
    """Predicted probability against the observed share of duplicates, in bins that hold any pair, each (B,)."""

    count: NDArray[np.int64]
    predicted: NDArray[np.float64]
    """Mean predicted probability."""
    observed: NDArray[np.float64]
    """Share of duplicates."""

    @classmethod
    def of(cls, probability: NDArray[np.float64], label: NDArray[np.float64]) -> "Reliability":
        """Group pairs by tenths of predicted probability; equal probabilities always share a bin.

        Args:
            probability: (P,) in [0, 1].
            label: (P,) 0 or 1.
        """
        which = np.minimum((probability * _BINS).astype(np.int64), _BINS - 1)
        count = np.bincount(which, minlength=_BINS)
        sums = (np.bincount(which, weights=each, minlength=_BINS)[count > 0] for each in (probability, label))
        predicted, observed = (each / count[count > 0] for each in sums)
        return cls(count[count > 0], predicted, observed)

    @property
    def gap(self) -> float:
        """Mean distance between predicted and observed, weighted by pairs (expected calibration error)."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.count))


@dataclass(frozen=True)
class Dot:
    """A point of a line."""

    x: str
    y: str
    radius: str
    hover: str
    """Shown after the line's name in the hover title."""


@dataclass(frozen=True)
class Line:
    """One curve of a figure."""

    name: str
    note: str
    """Shown after the name in the hover title, for example the AUROC."""
    colour: int
    """Position of the model in the order of the page: a model has one colour on the whole page."""
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    sizes: NDArray[np.int64] | None = None
    """Pairs behind each point, shares of pairs themselves; None draws no points."""


@dataclass(frozen=True)
class Axis:
    """One axis of a figure."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, label: str, values: Sequence[float]) -> "Axis":
        """An axis from tick to tick that contains the values."""
        spread = max(max(values) - min(values), 0.01)
        step = 10.0 ** math.floor(math.log10(spread))
        step = next(step * part for part in (0.2, 0.5, 1, 2) if spread / (step * part) <= 5.5)
        first, last = math.floor(min(values) / step), math.ceil(max(values) / step)
        ticks = tuple(round(tick * step, 6) for tick in range(first, max(last, first + 1) + 1))
        return cls(label, ticks[0], ticks[-1], ticks)

    @classmethod
    def of_shares(cls, label: str) -> "Axis":
        """An axis from 0 to 1."""
        return cls(label, 0, 1, (0, 0.25, 0.5, 0.75, 1))

    def unit(self, value: float) -> float:
        """A value as a share of the axis."""
        return (float(value) - self.low) / (self.high - self.low)

    def marks(self) -> list[tuple[float, str]]:
        """Place on the axis, as a share of it, and text of each tick."""
        return [(self.unit(tick), f"{tick:g}") for tick in self.ticks]


@dataclass(frozen=True)
class Frame:
    """The rectangle that the axes of a figure span, and the size of the figure, in SVG units."""

    left: int
    top: int
    right: int
    bottom: int
    width: int
    height: int

    def across(self, share: float) -> str:
        """Horizontal coordinate of a share of the axis across."""
        return coordinate(self.left + (self.right - self.left) * share)

    def up(self, share: float, lower: float = 0) -> str:
        """Vertical coordinate of a share of the axis up, so much lower."""
        return coordinate(self.top + (self.bottom - self.top) * (1 - share) + lower)


@dataclass(frozen=True)
class Drawn:
    """A line in SVG units."""

    name: str
    note: str
    colour: int
    path: str
    dots: tuple[Dot, ...]


_SQUARE = Frame(left=46, top=10, right=46 + _SIDE, bottom=10 + _SIDE, width=358, height=352)
_DIAGONAL = f"M{_SQUARE.left} {_SQUARE.bottom}L{_SQUARE.right} {_SQUARE.top}"


def curve_figures(board: Leaderboard, kind: str, colours: Mapping[str, int]) -> list[Figure]:
    """ROC curves for each label and, for labelled pairs, the reliability of probabilities; one colour per model.

    Args:
        board: of the dataset; each model's first seed is drawn.
        kind: of data.
        colours: model -> place among those of the page.
    """
    rows = [(row, row.first.curves) for row in board.rows]
    labels = dict.fromkeys(label for _, curves in rows for label in curves)
    figures = []
    for label in labels:
        lines = [
            Line(row.model, _area(row, label), colours[row.model], *thinned(curves[label].fpr, curves[label].tpr))
            for row, curves in rows
            if label in curves
        ]
        axes = Axis.of_shares("false positive rate"), Axis.of_shares("true positive rate")
        drawing = _drawing(lines, f"ROC curves for {label}", *axes)
        title = f"ROC, same {label}" if len(labels) > 1 else "ROC"
        figures.append(Figure(title, ": true pairs scores against false alarms", drawing, _legend(lines)))
    scored = [(row, row.first.scores("test")) for row in board.rows] if kind == "labelled_pairs" else []
    if lines := [
        _reliability_line(row, Reliability.of(row.first.decision.probability(scores.score), scores.label), colours)
        for row, scores in scored
        if scores is not None
    ]:
        axes = Axis.of_shares("predicted probability"), Axis.of_shares("observed share")
        drawing = _drawing(lines, "Observed share against predicted probability", *axes)
        caption = ": on the diagonal, probabilities are calibrated"
        figures.append(Figure("Reliability", caption, drawing, _legend(lines)))
    return figures


def _reliability_line(row: Row, bins: Reliability, colours: Mapping[str, int]) -> Line:
    full = bins.count >= _LEAST
    note = f"off by {bins.gap:.3f}"
    return Line(row.model, note, colours[row.model], bins.predicted[full], bins.observed[full], bins.count[full])


def _area(row: Row, label: str) -> str:
    metrics = row.metrics.get("train" if label.endswith(ON_TRAIN) else "test", {})
    estimate = metrics.get(f"auroc_{label.removesuffix(ON_TRAIN)}") or metrics.get("auroc")
    return "" if estimate is None else f"AUROC {describe('auroc').show(estimate.mean)}"


def _legend(lines: Sequence[Line]) -> tuple[tuple[int, str, str], ...]:
    return tuple((line.colour, line.name, line.note) for line in lines)


def thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The curve with fewer points: every point left out is within `_TOLERANCE` of the thinned curve.

    Douglas & Peucker 1973: keep the ends; if some point between them is too far from their chord, keep the furthest
    and do the same on both sides of it.
    """
    keep = np.zeros(len(x), bool)
    keep[[0, -1]] = True
    open_stretches = [(0, len(x) - 1)]
    while open_stretches:
        first, last = open_stretches.pop()
        if last - first < 2:
            continue
        along = np.array([x[last] - x[first], y[last] - y[first]])
        from_x, from_y = x[first + 1 : last] - x[first], y[first + 1 : last] - y[first]
        length = float(np.hypot(*along))
        off = np.abs(along[0] * from_y - along[1] * from_x) / length if length else np.hypot(from_x, from_y)
        furthest = int(np.argmax(off))
        if off[furthest] > _TOLERANCE:
            middle = first + 1 + furthest
            keep[middle] = True
            open_stretches += [(first, middle), (middle, last)]
    return x[keep], y[keep]


def _drawing(lines: Sequence[Line], title: str, across: Axis, up: Axis) -> Markup:
    drawn = [_drawn(line, across, up) for line in lines]
    return part(_TEMPLATE, "lines", _SQUARE, drawn, title, across, up, _DIAGONAL)


def _drawn(line: Line, across: Axis, up: Axis) -> Drawn:
    places = zip(line.x.tolist(), line.y.tolist(), strict=True)
    points = [(_SQUARE.across(across.unit(x)), _SQUARE.up(up.unit(y))) for x, y in places]
    path = "M" + "L".join(f"{x} {y}" for x, y in points) if points else ""
    dots = [] if line.sizes is None else [_dot(line, place, *point) for place, point in enumerate(points)]
    return Drawn(line.name, line.note, line.colour, path, tuple(dots))


def _dot(line: Line, place: int, x: str, y: str) -> Dot:
    """A point of a line of shares, as large as it has pairs."""
    assert line.sizes is not None
    pairs = int(line.sizes[place])
    radius = 1.5 + 2.5 * math.sqrt(pairs / max(1, int(line.sizes.max())))
    hover = f"{100 * line.y[place]:.0f} % of {pairs:,} pairs, predicted {100 * line.x[place]:.0f} %"
    return Dot(x, y, coordinate(radius), hover)
