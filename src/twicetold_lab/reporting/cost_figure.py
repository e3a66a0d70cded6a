"""Quality of models with its interval against the time that a text takes, as inline SVG with reproducible bytes.

The front (Pareto) has the models that no faster one reaches. Colours are classes of the page's style sheet, so that a
figure follows light and dark.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from twicetold_lab.reporting.glossary import describe, magnitude, number, size
from twicetold_lab.reporting.html import coordinate, part
from twicetold_lab.reporting.leaderboard import Leaderboard, Row
from twicetold_lab.reporting.tables import Figure
from twicetold_lab.runs.folder import LISTED

_LARGEST, _LEAST = 20.0, 2.5  # radius of the largest model, and the smallest radius that can be seen, in SVG units
_LETTER, _LINE = 5.4, 11.0  # width of a letter and height of a line of a label
_GAP = 3.0  # between a circle and its label
CAPTION = (
    ": filled are the models that no faster one beats, which the step joins; dashed are those whose pretraining lists "
    "the data. The area is the size of the model. The step is drawn through values of test, and chooses nothing."
)


@dataclass(frozen=True)
class Point:
    """One model."""

    model: str
    microseconds: float
    """Time of a text."""
    quality: float
    low: float
    """End of the interval of `quality`."""
    high: float
    size: int
    """Bytes."""
    is_listed: bool = False
    """True if its pretraining lists the data."""


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
class LogAxis:
    """A logarithmic axis, from tick to tick; ticks are 1, 2 and 5 of each power of ten."""

    label: str
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, label: str, values: Sequence[float]) -> "LogAxis":
        """The axis that contains the values, which are positive, and has a tick beyond them on both sides."""
        first, last = math.floor(math.log10(min(values))) - 1, math.ceil(math.log10(max(values))) + 1
        ticks = [part * 10.0**exponent for exponent in range(first, last + 1) for part in (1, 2, 5)]
        low = max(i for i, tick in enumerate(ticks) if tick < min(values))
        high = min(i for i, tick in enumerate(ticks) if tick > max(values))
        return cls(label, tuple(ticks[low : high + 1]))

    def unit(self, value: float) -> float:
        """A value as a share of the axis."""
        low, high = (math.log10(self.ticks[end]) for end in (0, -1))
        return (math.log10(value) - low) / (high - low)

    def marks(self) -> list[tuple[float, str]]:
        """Place and text of each tick; of a long axis, of powers of ten alone."""
        many = len(self.ticks) > 10
        shown = [tick for tick in self.ticks if not many or math.log10(tick) % 1 < 1e-9]
        return [(self.unit(tick), f"{tick:,g}") for tick in shown]


_FRAME = Frame(left=46, top=24, right=508, bottom=344, width=528, height=386)


@dataclass(frozen=True)
class Bubble:
    """A model in SVG units."""

    point: Point
    x: str
    y: str
    radius: str
    low: str
    high: str
    hover: str
    """Shown as hover title."""
    label: tuple[str, str, str] | None
    """Place and anchor of its name; None where there is no room for it."""
    is_on_front: bool


def cost_against_quality(board: Leaderboard, measure: str) -> Figure | None:
    """A measure on test against microseconds a text; None for fewer than two models.

    Times of two processors cannot be compared: drawn are the models of the one with the most of them.
    """
    costed = [row for row in board.rows if row.cost and row.texts_per_second]
    usual = Counter(row.cost.processor for row in costed if row.cost).most_common(1)
    points = [_point(row, measure) for row in costed if row.cost and row.cost.processor == usual[0][0]]
    drawn = [point for point in points if point is not None]
    label = describe(measure).label
    title = f"{label} on test against microseconds a text"
    return Figure("Quality against speed", CAPTION, cost_figure(drawn, title, label)) if len(drawn) > 1 else None


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no point that is as fast equals or beats, the fastest first."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.microseconds, -point.quality)):
        if not best or point.quality > best[-1].quality:
            best.append(point)
    return best


def cost_figure(points: Sequence[Point], title: str, quality: str) -> Markup:
    """The figure.

    Args:
        points: at least one; labels are placed in their order, those on the front first.
        title: what it shows, for screen readers.
        quality: the label of the axis up.
    """
    across = LogAxis.around("microseconds a text (log)", [point.microseconds for point in points])
    up = Axis.around(f"{quality}, test", [end for point in points for end in (point.low, point.high)])
    largest = max(point.size for point in points)
    places = {
        point: (
            float(_FRAME.across(across.unit(point.microseconds))),
            float(_FRAME.up(up.unit(point.quality))),
            max(_LEAST, _LARGEST * math.sqrt(point.size / largest)),
        )
        for point in points
    }
    steps = front(points)
    labels = _labels([*steps, *(point for point in points if point not in steps)], places)
    bubbles = [
        Bubble(
            point=point,
            x=coordinate(places[point][0]),
            y=coordinate(places[point][1]),
            radius=coordinate(places[point][2]),
            low=_FRAME.up(up.unit(point.low)),
            high=_FRAME.up(up.unit(point.high)),
            hover=_hover(point),
            label=labels.get(point),
            is_on_front=point in steps,
        )
        for point in sorted(points, key=lambda point: -point.size)
    ]
    path = f"M{coordinate(places[steps[0]][0])} {_FRAME.bottom}"
    path += "".join(f"H{coordinate(places[step][0])}V{coordinate(places[step][1])}" for step in steps)
    return part("figures.html.j2", "bubbles", _FRAME, bubbles, title, across, up, f"{path}H{_FRAME.right}")


def _point(row: Row, measure: str) -> Point | None:
    estimate, cost = row.value(measure), row.cost
    if not estimate or estimate.mean != estimate.mean or not cost or not row.texts_per_second:
        return None
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    listed = row.first.exposure == LISTED
    return Point(row.model, 1e6 / row.texts_per_second, estimate.mean, low, high, cost.model_bytes, listed)


def _hover(point: Point) -> str:
    ends = f" ({number(point.low)} to {number(point.high)})" if point.low < point.high else ""
    return (
        f"{point.model}: {number(point.quality)}{ends}, {magnitude(point.microseconds)} µs a text, {size(point.size)}"
    )


Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Places: TypeAlias = dict[Point, tuple[float, float, float]]
"""Centre and radius of each circle."""


def _labels(points: Sequence[Point], places: Places) -> dict[Point, tuple[str, str, str]]:
    """Places of names: each at the first free side of its circle; names without a free side are left out."""
    taken: list[Box] = [(x - _LEAST, y - _LEAST, x + _LEAST, y + _LEAST) for x, y, _ in places.values()]
    labels = {}
    for point in points:
        x, y, radius = places[point]
        wide, off = _LETTER * len(point.model), radius + _GAP
        sides: list[tuple[float, float, str, float]] = [
            (x - off, y + 4, "end", x - off - wide),  # first, as the step goes on to the right
            (x, y - off, "middle", x - wide / 2),
            (x + off, y + 4, "start", x + off),
            (x, y + off + 8, "middle", x - wide / 2),
        ]
        for across, down, anchor, left in sides:
            box = (left, down - _LINE + 2, left + wide, down + 2)
            inside = box[0] > _FRAME.left and box[2] < _FRAME.right and box[1] > _FRAME.top and box[3] < _FRAME.bottom
            if inside and not any(_overlap(box, other) for other in taken):
                labels[point] = (coordinate(across), coordinate(down), anchor)
                taken.append(box)
                break
    return labels


def _overlap(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
