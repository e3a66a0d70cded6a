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

    @property
    def hover(self) -> str:
        """Its values, shown as hover title."""
        ends = f" ({number(self.low)} to {number(self.high)})" if self.low < self.high else ""
        speed = f"{magnitude(self.microseconds)} µs a text"
        return f"{self.model}: {number(self.quality)}{ends}, {speed}, {size(self.size)}"


@dataclass(frozen=True)
class Axis:
    """One axis of a figure, from its first tick to its last one."""

    label: str
    ticks: tuple[float, ...]
    is_log: bool = False

    @classmethod
    def linear(cls, label: str, values: Sequence[float]) -> "Axis":
        """Return an axis that contains the values."""
        spread = max(max(values) - min(values), 0.01)
        step = 10.0 ** math.floor(math.log10(spread))
        step = next(step * part for part in (0.2, 0.5, 1, 2) if spread / (step * part) <= 5.5)
        first, last = math.floor(min(values) / step), math.ceil(max(values) / step)
        return cls(label, tuple(round(tick * step, 6) for tick in range(first, max(last, first + 1) + 1)))

    @classmethod
    def logarithmic(cls, label: str, values: Sequence[float]) -> "Axis":
        """The axis that contains the values, which are positive: 1, 2 and 5 of powers of ten, one beyond each side."""
        first, last = math.floor(math.log10(min(values))) - 1, math.ceil(math.log10(max(values))) + 1
        ticks = [part * 10.0**exponent for exponent in range(first, last + 1) for part in (1, 2, 5)]
        low = max(i for i, tick in enumerate(ticks) if tick < min(values))
        high = min(i for i, tick in enumerate(ticks) if tick > max(values))
        return cls(label, tuple(ticks[low : high + 1]), is_log=True)

    def unit(self, value: float) -> float:
        """Return a value as a share of the axis."""
        low, at, high = (math.log10(each) if self.is_log else each for each in (self.ticks[0], value, self.ticks[-1]))
        return (at - low) / (high - low)

    def marks(self) -> list[tuple[float, str]]:
        """Return place and text of each tick; of a long logarithmic axis, of powers of ten alone."""
        many = self.is_log and len(self.ticks) > 10
        shown = [tick for tick in self.ticks if not many or math.log10(tick) % 1 < 1e-9]
        return [(self.unit(tick), f"{tick:,g}") for tick in shown]


@dataclass(frozen=True)
class Frame:
    """The rectangle that two axes span, and the size of the figure, in SVG units."""

    across: Axis
    up: Axis
    left: int = 46
    top: int = 24
    right: int = 508
    bottom: int = 344
    width: int = 528
    height: int = 386

    def x(self, share: float) -> float:
        """Return horizontal coordinate of a share of the axis across."""
        return self.left + (self.right - self.left) * share

    def y(self, share: float) -> float:
        """Return vertical coordinate of a share of the axis up."""
        return self.top + (self.bottom - self.top) * (1 - share)


@dataclass(frozen=True)
class Bubble:
    """A model in SVG units."""

    point: Point
    x: float
    y: float
    radius: float
    ends: tuple[float, float]
    """Vertical coordinates of the interval."""

    @classmethod
    def of(cls, point: Point, frame: Frame, largest: int) -> "Bubble":
        """Return the bubble of a model, whose area is to that of the largest model as its size."""
        low, middle, high = (frame.y(frame.up.unit(value)) for value in (point.low, point.quality, point.high))
        radius = max(_LEAST, _LARGEST * math.sqrt(point.size / largest))
        return cls(point, frame.x(frame.across.unit(point.microseconds)), middle, radius, (low, high))


def cost_against_quality(board: Leaderboard, measure: str) -> Figure | None:
    """Return a measure on test against microseconds a text; None for fewer than two models.

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
    """Return the points that no point that is as fast equals or beats, the fastest first."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.microseconds, -point.quality)):
        if not best or point.quality > best[-1].quality:
            best.append(point)
    return best


def cost_figure(points: Sequence[Point], title: str, quality: str) -> Markup:
    """Return the figure.

    Args:
        points: at least one; labels are placed in their order, those on the front first.
        title: what it shows, for screen readers.
        quality: the label of the axis up.
    """
    across = Axis.logarithmic("microseconds a text (log)", [point.microseconds for point in points])
    up = Axis.linear(f"{quality}, test", [end for point in points for end in (point.low, point.high)])
    frame, largest, steps = Frame(across, up), max(point.size for point in points), front(points)
    bubbles = [Bubble.of(point, frame, largest) for point in [*steps, *(each for each in points if each not in steps)]]
    labels, joined = _labels(bubbles, frame), bubbles[: len(steps)]
    path = f"M{coordinate(joined[0].x)} {frame.bottom}"
    path += "".join(f"H{coordinate(step.x)}V{coordinate(step.y)}" for step in joined) + f"H{frame.right}"
    shown = sorted(bubbles, key=lambda bubble: (-bubble.point.size, points.index(bubble.point)))
    return part("figures.html.j2", "bubbles", frame, shown, labels, steps, title, path)


def _point(row: Row, measure: str) -> Point | None:
    estimate, cost = row.value(measure), row.cost
    if not estimate or estimate.mean != estimate.mean or not cost or not row.texts_per_second:
        return None
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    listed = row.first.exposure == LISTED
    return Point(row.model, 1e6 / row.texts_per_second, estimate.mean, low, high, cost.model_bytes, listed)


Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _labels(bubbles: Sequence[Bubble], frame: Frame) -> dict[str, tuple[float, float, str]]:
    """Return model -> place and anchor of its name, at the first free side; names without a free side are left out."""
    taken: list[Box] = [(each.x - _LEAST, each.y - _LEAST, each.x + _LEAST, each.y + _LEAST) for each in bubbles]
    labels = {}
    for bubble in bubbles:
        x, y, wide, off = bubble.x, bubble.y, _LETTER * len(bubble.point.model), bubble.radius + _GAP
        sides: list[tuple[float, float, str, float]] = [
            (x - off, y + 4, "end", x - off - wide),  # first, as the step goes on to the right
            (x, y - off, "middle", x - wide / 2),
            (x + off, y + 4, "start", x + off),
            (x, y + off + 8, "middle", x - wide / 2),
        ]
        for across, down, anchor, left in sides:
            box = (left, down - _LINE + 2, left + wide, down + 2)
            inside = box[0] > frame.left and box[2] < frame.right and box[1] > frame.top and box[3] < frame.bottom
            if inside and not any(_overlap(box, other) for other in taken):
                labels[bubble.point.model] = (across, down, anchor)
                taken.append(box)
                break
    return labels


def _overlap(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
