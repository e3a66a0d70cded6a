"""Topics and related articles: what the vectors of a model are good for besides duplicates.

`pipelines/topics.py` measures them on test; see `twicetold.topics`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from markupsafe import Markup

from twicetold_lab.reporting.dedupe import DedupeTable, Shown
from twicetold_lab.reporting.glossary import count, number
from twicetold_lab.reporting.panels import Panel
from twicetold_lab.reporting.rendering import coordinate, part
from twicetold_lab.runs.records import Cell, read_object
from twicetold_lab.topics import MAP, RELATED, TOPICS

TITLE = "Topics and related articles"
HOW_TO_READ = (
    "Topics: test texts are grouped on a model's vectors into as many topics as a label has values, by spherical "
    "k-means and by Ward's agglomeration, which do not see the labels. NMI (geometric mean), V-measure and ARI compare "
    "the topics with the label; 1 is agreement. Of many small topics NMI and V-measure are high by chance alone: the "
    "last row has the V-measure of topics of the same sizes with texts dealt out at random. ARI is corrected for "
    "chance. In brackets are 95 % intervals that leave stories out one at a time, then the standard deviation over "
    "three seeds of k-means.",
    "Related articles: each test headline is a query, and the others that were published at most a week before or "
    "after it are ranked. Relevant are those of its story, or of its category. A near-copy shares seven of ten words "
    "with the query or with a suggestion above it; coverage is the share of all headlines that some query is shown "
    "among its first ten. Popularity shows everybody the story with the most headlines so far, and knows stories, "
    "which the models do not. Of a reader who has read three headlines of the story or category, the last columns "
    "rank by the mean of their vectors or by the last one alone. Intervals resample stories.",
)
"""Paragraphs that hold on every dataset."""
ABOUT_MAPS = (
    "Topics on the plane that keeps most of how their centres differ (principal components). A circle is a topic, its "
    "area the number of texts, its colour the category that most of them have; pointing at it shows its name."
)
MEASURES = {"nmi": "NMI", "v_measure": "V-measure", "ari": "ARI"}
METHODS = {"kmeans": "k-means", "agglomerative": "Ward"}
RANKING = {
    "ndcg_at_1": "nDCG@1",
    "ndcg_at_3": "nDCG@3",
    "ndcg_at_10": "nDCG@10",
    "mrr": "MRR",
    "near_copies": "Near-copies",
    "coverage": "Coverage",
}
HISTORY = {"history_mean": "mean of three read", "history_last": "last of three read"}
WITH_INTERVAL = ("ari", "ndcg_at_10")
POPULARITY = "popularity"
Found: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Label -> method or way of ranking -> metrics, intervals, deviations."""
_LARGEST = 20  # radius of the largest topic


@dataclass(frozen=True)
class MeasuredRun:
    """What was measured on the vectors of one model."""

    cell: Cell
    topics: Found
    related: Found
    """Empty of texts whose times are not known."""
    map: Mapping[str, Any]
    """`topics.plane.TopicMap`; empty if it was not drawn."""


@dataclass(frozen=True)
class TopicSection:
    """The tables of one dataset, each with its title."""

    data: str
    tables: tuple[tuple[str, DedupeTable], ...]
    maps: tuple[Panel, ...]
    """Of each model; for the report alone."""


def read_topics(cells: Sequence[Cell], runs: Path) -> list[MeasuredRun]:
    """What was measured of some runs, in the order of the cells.

    Raises:
        FileNotFoundError: if a run was not measured; says which stage to run.
    """
    found = []
    for cell in cells:
        folder = runs / cell.name
        if not (folder / TOPICS).is_file():
            raise FileNotFoundError(f"{folder / TOPICS} is missing: run `dvc repro topics@{cell.name}`")
        found.append(MeasuredRun(cell, *(read_object(folder / file) for file in (TOPICS, RELATED, MAP))))
    return found


def topic_sections(found: Sequence[MeasuredRun]) -> list[TopicSection]:
    """The tables, by dataset."""
    by_data: dict[str, list[MeasuredRun]] = {}
    for run in found:
        by_data.setdefault(run.cell.data, []).append(run)
    return [TopicSection(data, tuple(_tables(data, runs)), tuple(_maps(runs))) for data, runs in by_data.items()]


def _maps(runs: Sequence[MeasuredRun]) -> Iterator[Panel]:
    drawn = [run for run in runs if run.map]
    labels = labels_of([run.map for run in drawn])
    for run in drawn:
        yield map_panel(run.cell.model, run.map, labels)


def _tables(data: str, runs: Sequence[MeasuredRun]) -> Iterator[tuple[str, DedupeTable]]:
    for label in _labels(run.topics for run in runs):
        topics = next(by["kmeans"]["metrics"]["count"] for run in runs if (by := run.topics.get(label)))
        yield f"{data}: {count(topics)} topics against {label}", _topics(runs, label)
    for label in _labels(run.related for run in runs):
        yield f"{data}: related by {label}", _related(runs, label)


def _labels(found: Iterator[Found]) -> list[str]:
    return list(dict.fromkeys(label for each in found for label in each))


def _topics(runs: Sequence[MeasuredRun], label: str) -> DedupeTable:
    columns = [(method, measure) for method in METHODS for measure in MEASURES]
    rows = []
    by_chance = []
    for run in runs:
        methods = run.topics.get(label, {})
        rows.append((Shown(run.cell.model), tuple(_shown(methods.get(method), measure) for method, measure in columns)))
        by_chance.append(methods)
    dealt = {method: [by[method]["metrics"]["by_chance"] for by in by_chance if method in by] for method in METHODS}
    chance = [
        _plain(sum(dealt[method]) / len(dealt[method])) if measure == "v_measure" and dealt[method] else Shown("–")
        for method, measure in columns
    ]
    heads = tuple(Shown(MEASURES[measure], METHODS[method]) for method, measure in columns)
    return DedupeTable(heads, (*rows, (Shown("by chance"), tuple(chance))))


def _related(runs: Sequence[MeasuredRun], label: str) -> DedupeTable:
    heads = [Shown(name) for name in RANKING.values()]
    heads += [Shown(RANKING["ndcg_at_10"], name) for name in HISTORY.values()]
    rows = []
    for run in runs:
        ways = run.related.get(label, {})
        cells = [_shown(ways.get("query"), measure) for measure in RANKING]
        cells += [_shown(ways.get(way), "ndcg_at_10") for way in HISTORY]
        rows.append((Shown(run.cell.model), tuple(cells)))
    popular = next((ways[POPULARITY] for run in runs if POPULARITY in (ways := run.related.get(label, {}))), None)
    cells = [*(_shown(popular, measure) for measure in RANKING), *(Shown("–") for _ in HISTORY)]
    return DedupeTable(tuple(heads), (*rows, (Shown(POPULARITY), tuple(cells))))


def _shown(found: Mapping[str, Any] | None, measure: str) -> Shown:
    """A measure as a cell, with its interval and deviation if it is one that shows them."""
    if found is None or measure not in found["metrics"]:
        return Shown("–")
    notes = []
    if measure in WITH_INTERVAL:
        if ends := found["intervals"].get(measure):
            notes.append(f"{number(ends[0])} to {number(ends[1])}")
        if (deviation := found.get("deviations", {}).get(measure)) is not None:
            notes.append(f"± {number(deviation)}")
    return _plain(found["metrics"][measure], ", ".join(notes))


def _plain(value: float, note: str = "") -> Shown:
    return Shown(number(value), note, value)


_SIDE, _MARGIN = 300, 22


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
