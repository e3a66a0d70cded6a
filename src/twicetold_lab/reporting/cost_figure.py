"""Quality of models with its interval against the time that a text takes, as inline SVG with reproducible bytes.

The front (Pareto) has the models that no faster one reaches. A model that is slower, and cannot be told from the best
one that is as fast, is drawn as on it.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from twicetold_lab.reporting.figures import Axis, Frame
from twicetold_lab.reporting.glossary import magnitude, number, size
from twicetold_lab.reporting.html import coordinate, part

_FRAME = Frame(left=46, top=24, right=508, bottom=344, width=528, height=386)
_LARGEST, _LEAST = 20.0, 2.5  # radius of the largest model, and the smallest radius that can be seen, in SVG units
_LETTER, _LINE = 5.4, 11.0  # width of a letter and height of a line of a label
_GAP = 3.0  # between a circle and its label


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


@dataclass(frozen=True)
class Bubble:
    """A model in SVG units."""

    x: str
    y: str
    radius: str
    low: str
    high: str
    is_on_front: bool
    hover: str
    """Shown as hover title."""
    label: tuple[str, str, str] | None
    """Place and anchor of its name; None where there is no room for it."""
    name: str


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no point that is as fast equals or beats, the fastest first."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.microseconds, -point.quality)):
        if not best or point.quality > best[-1].quality:
            best.append(point)
    return best


def rivals(points: Sequence[Point]) -> dict[Point, Point]:
    """Each point that is not of the front -> the best one that is as fast."""
    steps = front(points)
    others = [point for point in points if point not in steps]
    return {point: [step for step in steps if step.microseconds <= point.microseconds][-1] for point in others}


def cost_figure(points: Sequence[Point], *, tied: Collection[Point] = (), title: str, quality: str) -> Markup:
    """The figure.

    Args:
        points: at least one; labels are placed in their order, those on the front first.
        tied: points that are drawn as on the front, besides those of it.
        title: what it shows, for screen readers.
        quality: the label of the axis up.
    """
    across = LogAxis.around("microseconds a text (log)", [point.microseconds for point in points])
    up = Axis.around(quality, [end for point in points for end in (point.low, point.high)])
    places = {
        point: (
            float(_FRAME.across(across.unit(point.microseconds))),
            float(_FRAME.up(up.unit(point.quality))),
            max(_LEAST, _LARGEST * math.sqrt(point.size / max(each.size for each in points))),
        )
        for point in points
    }
    reached = {*front(points), *tied}
    labels = _labels([*(p for p in points if p in reached), *(p for p in points if p not in reached)], places)
    bubbles = [
        Bubble(
            x=coordinate(places[point][0]),
            y=coordinate(places[point][1]),
            radius=coordinate(places[point][2]),
            low=_FRAME.up(up.unit(point.low)),
            high=_FRAME.up(up.unit(point.high)),
            is_on_front=point in reached,
            hover=_hover(point),
            label=labels.get(point),
            name=point.model,
        )
        for point in sorted(points, key=lambda point: -point.size)
    ]
    step = [places[point][:2] for point in front(points)]
    path = f"M{coordinate(step[0][0])} {_FRAME.bottom}"
    path += "".join(f"H{coordinate(x)}V{coordinate(y)}" for x, y in step) + f"H{_FRAME.right}"
    return part("figures.html.j2", "bubbles", _FRAME, bubbles, title, across, up, path)


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
