"""Small figures as inline SVG, with reproducible bytes, coloured by the page's style sheet.

Colours are classes (`c0` to `c7`), so a figure follows light and dark; from the ninth model on lines are dashed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from twicetold.evaluation.ranking import RocCurve
from twicetold_lab.reporting.reliability import Reliability
from twicetold_lab.reporting.rendering import coordinate, part

_TEMPLATE = "figures.html.j2"
_SIDE = 300  # of the square that two axes span, in SVG units
_TOLERANCE = 0.2 / _SIDE  # largest distance of a thinned curve from the full one: a fifth of an SVG unit
_LEAST = 20  # pairs in a bin; with fewer, its observed share is mostly noise


@dataclass(frozen=True)
class Dot:
    """A point of a line."""

    x: str
    y: str
    radius: str
    said: str
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


@dataclass(frozen=True)
class ShareRow:
    """One row of `share_figure`."""

    name: str
    note: str
    """Shown at its right end."""
    value: float
    interval: tuple[float, float]


_SQUARE = Frame(left=46, top=10, right=46 + _SIDE, bottom=10 + _SIDE, width=358, height=352)
_DIAGONAL = f"M{_SQUARE.left} {_SQUARE.bottom}L{_SQUARE.right} {_SQUARE.top}"


def roc_figure(curves: Sequence[tuple[str, str, int, RocCurve]], *, title: str) -> Markup:
    """ROC curves of several models over the diagonal of guessing.

    Args:
        curves: model, its AUROC in words, its colour, its curve.
        title: what the figure shows, for screen readers.
    """
    lines = [Line(model, note, colour, *thinned(curve.fpr, curve.tpr)) for model, note, colour, curve in curves]
    across, up = Axis.of_shares("false positive rate"), Axis.of_shares("true positive rate")
    return _figure(lines, title, across, up, _DIAGONAL)


def reliability_figure(reliabilities: Sequence[tuple[int, Reliability]], *, title: str) -> Markup:
    """Observed share against predicted probability; a calibrated model is on the diagonal.

    Args:
        reliabilities: colour and reliability of each model.
        title: what the figure shows, for screen readers.
    """
    lines = []
    for colour, found in reliabilities:
        bins = [b for b in found.bins if b.count >= _LEAST]
        lines.append(
            Line(
                name=found.model,
                note=f"off by {found.gap:.3f} on average",
                colour=colour,
                x=np.array([b.predicted for b in bins]),
                y=np.array([b.observed for b in bins]),
                sizes=np.array([b.count for b in bins], dtype=np.int64),
            )
        )
    across, up = Axis.of_shares("predicted probability"), Axis.of_shares("observed share")
    return _figure(lines, title, across, up, _DIAGONAL)


def line_figure(lines: Sequence[Line], *, title: str, across: Axis, up: Axis, mark: float | None = None) -> Markup:
    """Lines over two axes.

    Args:
        lines: in the units of the axes.
        title: what the figure shows, for screen readers.
        across: the horizontal axis.
        up: the vertical axis.
        mark: where a dotted line crosses the horizontal axis.
    """
    dotted = None if mark is None else f"M{_SQUARE.across(across.unit(mark))} {_SQUARE.bottom}V{_SQUARE.top}"
    return _figure(lines, title, across, up, dotted)


def share_figure(shares: Sequence[ShareRow], *, title: str, across: Axis) -> Markup:
    """Values with their intervals, one below the other on one axis.

    Args:
        shares: in the units of the axis.
        title: what the figure shows, for screen readers.
        across: the axis.
    """
    bottom = 10 + 24 * len(shares)
    frame = Frame(left=128, top=10, right=128 + _SIDE, bottom=bottom, width=520, height=bottom + 42)
    return part(_TEMPLATE, "shares", frame, shares, title, across)


def whisker(
    value: float, *, interval: tuple[float, float] | None, axis: tuple[float, float], baseline: float | None
) -> Markup:
    """A value and its interval on the axis of its column; a dotted line marks the best baseline."""

    def at(number: float) -> str:
        return coordinate(3 + 66 * (number - axis[0]) / (axis[1] - axis[0]))

    ends = None if interval is None else tuple(map(at, interval))
    return part(_TEMPLATE, "whisker", at(value), ends, None if baseline is None else at(baseline))


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


def _figure(lines: Sequence[Line], title: str, across: Axis, up: Axis, dotted: str | None) -> Markup:
    return part(_TEMPLATE, "lines", _SQUARE, [_drawn(line, across, up) for line in lines], title, across, up, dotted)


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
    said = f"{100 * line.y[place]:.0f} % of {pairs:,} pairs, predicted {100 * line.x[place]:.0f} %"
    return Dot(x, y, coordinate(radius), said)
