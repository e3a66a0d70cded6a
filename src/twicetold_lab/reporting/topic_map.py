"""Maps of topics: a circle a topic, as large as it has texts, in the colour of the label that most of these have."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from twicetold_lab.reporting.panels import Panel
from twicetold_lab.reporting.rendering import coordinate, part

EXPLANATION = (
    "Topics on the plane that keeps most of how their centres differ (principal components). A circle is a topic, its "
    "area the number of texts, its colour the category that most of them have; pointing at it shows its name."
)
_SIDE, _MARGIN = 300, 22
_LARGEST = 20  # radius of the largest topic


@dataclass(frozen=True)
class Circle:
    """A topic, in SVG units."""

    x: str
    y: str
    radius: str
    colour: int
    said: str


def map_panel(model: str, found: Mapping[str, Any], labels: Sequence[str]) -> Panel:
    """The map of one model.

    Args:
        model: its name.
        found: a `topics.plane.TopicMap` as JSON.
        labels: in the order of their colours.
    """
    topics = found["topics"]
    span = max([1e-9, *(abs(topic[axis]) for topic in topics for axis in "xy")])
    most = max([1, *(topic["size"] for topic in topics)])
    half = _SIDE / 2
    circles = [
        Circle(
            coordinate(half + (half - _MARGIN) * topic["x"] / span),
            coordinate(half - (half - _MARGIN) * topic["y"] / span),
            coordinate(_LARGEST * math.sqrt(topic["size"] / most)),
            labels.index(topic["label"]) if topic["label"] in labels else len(labels),
            _said(topic),
        )
        for topic in topics
    ]
    figure: Markup = part("figures.html.j2", "circles", _SIDE, circles, f"Topics of {model}")
    legend = tuple((colour, label, "") for colour, label in enumerate(labels))
    return Panel(model, f": {100 * found['kept']:.0f} % of the spread of the centres", figure, legend)


def labels_of(maps: Sequence[Mapping[str, Any]]) -> list[str]:
    """All labels of some maps, sorted."""
    return sorted({topic["label"] for found in maps for topic in found["topics"] if topic["label"]})


def _said(topic: Mapping[str, Any]) -> str:
    about = f"{topic['name']}: {topic['size']:,} texts"
    return about if topic["label"] is None else f"{about}, {100 * topic['share']:.0f} % {topic['label']}"
