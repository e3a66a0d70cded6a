"""Small figures as inline SVG, with reproducible bytes, coloured by the page's style sheet.

Colours are classes (`c0` to `c7`), so a figure follows light and dark; from the ninth model on lines are dashed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.ranking import RocCurve
from twicetold.reporting.comparison import Reliability

COLOURS = 8
_SIDE = 300  # of the unit square, in SVG units
_LEFT, _TOP, _RIGHT, _BOTTOM = 46, 10, 12, 42
_TOLERANCE = 0.2 / _SIDE  # largest distance of a thinned curve from the full one: a fifth of an SVG unit
_LEAST = 20  # pairs in a bin; with fewer, its observed share is mostly noise


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
    """Pairs behind each point; None draws no points."""


def roc_figure(curves: Sequence[tuple[str, str, int, RocCurve]], *, title: str) -> str:
    """ROC curves of several models over the diagonal of guessing.

    Args:
        curves: model, its AUROC in words, its colour, its curve.
        title: what the figure shows, for screen readers.
    """
    lines = [Line(model, note, colour, *thinned(curve.fpr, curve.tpr)) for model, note, colour, curve in curves]
    return _square(lines, title=title, x_label="false positive rate", y_label="true positive rate")


def reliability_figure(reliabilities: Sequence[tuple[int, Reliability]], *, title: str) -> str:
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
    return _square(lines, title=title, x_label="predicted probability", y_label="observed share")


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

    def unit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values as shares of the axis."""
        return np.asarray((values - self.low) / (self.high - self.low))

    def marks(self) -> list[tuple[float, str]]:
        """Place on the axis, as a share of it, and text of each tick."""
        places = self.unit(np.array(self.ticks)).tolist()
        return [(place, f"{tick:g}") for place, tick in zip(places, self.ticks, strict=True)]


def line_figure(lines: Sequence[Line], *, title: str, across: Axis, up: Axis, mark: float | None = None) -> str:
    """Lines over two axes.

    Args:
        lines: in the units of the axes.
        title: what the figure shows, for screen readers.
        across: the horizontal axis.
        up: the vertical axis.
        mark: where a dotted line crosses the horizontal axis.
    """
    drawn = [replace(line, x=across.unit(line.x), y=up.unit(line.y)) for line in lines]
    crossing = ""
    if mark is not None:
        at = _n(_across(float(across.unit(np.array(mark)))))
        crossing = f'<path class="diagonal" d="M{at} {_TOP + _SIDE}V{_TOP}"/>'
    return _square(
        drawn,
        title=title,
        x_label=across.label,
        y_label=up.label,
        x_marks=across.marks(),
        y_marks=up.marks(),
        reference=crossing,
    )


@dataclass(frozen=True)
class Share:
    """One row of `share_figure`."""

    name: str
    note: str
    """Shown at its right end."""
    value: float
    interval: tuple[float, float]


def share_figure(shares: Sequence[Share], *, title: str, across: Axis) -> str:
    """Values with their intervals, one below the other on one axis.

    Args:
        shares: in the units of the axis.
        title: what the figure shows, for screen readers.
        across: the axis.
    """
    left, row, width = 128, 24, 128 + _SIDE + 92
    bottom = _TOP + row * len(shares)

    def at(value: float) -> str:
        return _n(left + _SIDE * float(across.unit(np.array(value))))

    parts = [
        f'<svg class="figure" viewBox="0 0 {width} {bottom + _BOTTOM}" role="img" aria-label="{escape(title)}">',
        f'<rect class="frame" x="{left}" y="{_TOP}" width="{_SIDE}" height="{bottom - _TOP}"/>',
    ]
    parts += _ticks(across.marks(), left=left, bottom=bottom)
    middle, height = _n(left + _SIDE / 2), bottom + _BOTTOM
    parts.append(f'<text class="axis" x="{middle}" y="{height - 6}" text-anchor="middle">{escape(across.label)}</text>')
    for number, shown in enumerate(shares):
        y = _TOP + row * number + row / 2
        low, high = map(at, shown.interval)
        parts.append(
            f"<g><title>{escape(shown.name)}: {escape(shown.note)}</title>"
            f'<text class="tick" x="{left - 8}" y="{_n(y + 4)}" text-anchor="end">{escape(shown.name)}</text>'
            f'<line class="span" x1="{low}" x2="{high}" y1="{_n(y)}" y2="{_n(y)}"/>'
            f'<circle class="dot" cx="{at(shown.value)}" cy="{_n(y)}" r="3.2"/>'
            f'<text class="tick" x="{left + _SIDE + 8}" y="{_n(y + 4)}">{escape(shown.note)}</text></g>'
        )
    return "".join([*parts, "</svg>"])


def whisker(
    value: float, *, interval: tuple[float, float] | None, axis: tuple[float, float], baseline: float | None
) -> str:
    """A value and its interval on the axis of its column; a dotted line marks the best baseline."""
    width, middle = 72, 8

    def at(number: float) -> str:
        return _n(3 + (width - 6) * (number - axis[0]) / (axis[1] - axis[0]))

    marks = [f'<line class="track" x1="3" x2="{width - 3}" y1="{middle}" y2="{middle}"/>']
    if baseline is not None:
        marks.append(f'<line class="mark" x1="{at(baseline)}" x2="{at(baseline)}" y1="1" y2="{2 * middle - 1}"/>')
    if interval is not None:
        low, high = map(at, interval)
        marks.append(f'<line class="span" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>')
    marks.append(f'<circle class="dot" cx="{at(value)}" cy="{middle}" r="3.2"/>')
    return (
        f'<svg class="whisker" viewBox="0 0 {width} {2 * middle}" width="{width}" height="{2 * middle}" '
        f'aria-hidden="true">{"".join(marks)}</svg>'
    )


def swatch(colour: int) -> str:
    """The stroke of one model, for legends."""
    stroke = _stroke(colour, '<path class="ink" d="M1 4H21"/>')
    return f'<svg class="swatch" viewBox="0 0 22 8" width="22" height="8" aria-hidden="true">{stroke}</svg>'


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


_UNIT_MARKS = [(tick, f"{tick:g}") for tick in (0.0, 0.25, 0.5, 0.75, 1.0)]
_DIAGONAL = f'<path class="diagonal" d="M{_LEFT} {_TOP + _SIDE}L{_LEFT + _SIDE} {_TOP}"/>'


def _square(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_marks: Sequence[tuple[float, str]] = _UNIT_MARKS,
    y_marks: Sequence[tuple[float, str]] = _UNIT_MARKS,
    reference: str = _DIAGONAL,
) -> str:
    width, height = _LEFT + _SIDE + _RIGHT, _TOP + _SIDE + _BOTTOM
    bottom, right, middle = _TOP + _SIDE, _LEFT + _SIDE, _LEFT + _SIDE / 2
    parts = [
        f'<svg class="figure" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">',
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>',
    ]
    parts += _ticks(x_marks, left=_LEFT, bottom=bottom)
    for place, text in y_marks:
        y = _up(place)
        if 0 < place < 1:
            parts.append(f'<path class="grid" d="M{_LEFT} {_n(y)}H{right}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{_n(y + 4)}" text-anchor="end">{text}</text>')
    parts += [
        reference,
        f'<text class="axis" x="{_n(middle)}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text class="axis" transform="translate(12 {_n(_TOP + _SIDE / 2)}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
    ]
    # The best model is first in every list, and drawn last, so that it is on top.
    parts += [_line(line) for line in reversed(lines)]
    return "".join([*parts, "</svg>"])


def _ticks(marks: Sequence[tuple[float, str]], *, left: float, bottom: float) -> list[str]:
    """Ticks of a horizontal axis below the frame, and grid lines within it."""
    parts = []
    for place, text in marks:
        x = _n(left + _SIDE * place)
        if 0 < place < 1:
            parts.append(f'<path class="grid" d="M{x} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 15}" text-anchor="middle">{text}</text>')
    return parts


def _line(line: Line) -> str:
    points = [(_n(_across(float(x))), _n(_up(float(y)))) for x, y in zip(line.x, line.y, strict=True)]
    path = "M" + "L".join(f"{x} {y}" for x, y in points) if points else ""
    dots = ""
    if line.sizes is not None:
        biggest = max(1, int(line.sizes.max(initial=0)))
        dots = "".join(
            f'<circle cx="{x}" cy="{y}" r="{_n(1.5 + 2.5 * float(np.sqrt(pairs / biggest)))}">'
            f"<title>{escape(line.name)}: {100 * float(seen):.0f} % of {int(pairs):,} pairs, "
            f"predicted {100 * float(said):.0f} %</title></circle>"
            for (x, y), pairs, said, seen in zip(points, line.sizes, line.x, line.y, strict=True)
        )
    title = f"<title>{escape(line.name)}: {escape(line.note)}</title>"
    return _stroke(line.colour, f'{title}<path class="touch" d="{path}"/><path class="ink" d="{path}"/>{dots}')


def _stroke(colour: int, inner: str) -> str:
    dashed = " dashed" if colour >= COLOURS else ""
    return f'<g class="line c{colour % COLOURS}{dashed}">{inner}</g>'


def _across(value: float) -> float:
    return _LEFT + _SIDE * value


def _up(value: float) -> float:
    return _TOP + _SIDE * (1 - value)


def _n(value: float | str) -> str:
    """A coordinate with one decimal at most: a tenth of a unit is below what a screen shows."""
    return f"{float(value):.1f}".removesuffix(".0")
