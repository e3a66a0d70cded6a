"""Topics and related articles: what the vectors of a model are good for besides duplicates.

`pipelines/topics.py` measures them on test; see `twicetold.topics`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from twicetold_lab.reporting.glossary import count, number
from twicetold_lab.reporting.tables import MISSING, Section, Table, TableCell
from twicetold_lab.runs.folder import Cell
from twicetold_lab.runs.records import read_json, read_object
from twicetold_lab.topics import RELATED, TOPICS

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
ByModel: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Model -> method or way of ranking -> metrics, intervals, deviations."""


def topics_section(cells: Sequence[Cell], runs: Path) -> Section | None:
    """The tables of each dataset; None without cells.

    Raises:
        FileNotFoundError: if a run was not measured; says which stage to run.
    """
    parts: list[Section] = []
    for data in dict.fromkeys(cell.data for cell in cells):
        models = {cell.model: runs / cell.name for cell in cells if cell.data == data}
        topics = {m: read_json(run / TOPICS, stage=f"topics@{run.name}") for m, run in models.items()}
        for label, by_model in _by_label(topics):
            count_of = next(methods["kmeans"]["metrics"]["count"] for methods in by_model.values() if methods)
            title = f"{data}: {count(count_of)} topics against {label}"
            parts.append(Section(title, tables=[_topics_table(by_model)], data=data))
        for label, by_model in _by_label({m: read_object(run / RELATED) for m, run in models.items()}):
            parts.append(Section(f"{data}: related by {label}", tables=[_related_table(by_model)], data=data))
    return Section(TITLE, HOW_TO_READ, parts=parts, anchor="topics") if parts else None


def _by_label(models: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ByModel]]:
    for label in dict.fromkeys(label for of_model in models.values() for label in of_model):
        yield label, {model: of_model.get(label, {}) for model, of_model in models.items()}


def _topics_table(by_model: ByModel) -> Table:
    columns = [(method, measure) for method in METHODS for measure in MEASURES]
    rows = [
        (TableCell(model), tuple(_cell(methods.get(method), measure) for method, measure in columns))
        for model, methods in by_model.items()
    ]
    chance = []
    for method, measure in columns:
        dealt = [methods[method]["metrics"]["by_chance"] for methods in by_model.values() if method in methods]
        mean = sum(dealt) / len(dealt) if dealt and measure == "v_measure" else None
        chance.append(MISSING if mean is None else TableCell(number(mean), value=mean))
    heads = tuple(TableCell(MEASURES[measure], METHODS[method]) for method, measure in columns)
    return Table(heads, (*rows, (TableCell("by chance"), tuple(chance))))


def _related_table(by_model: ByModel) -> Table:
    columns = [("query", measure) for measure in RANKING] + [(way, "ndcg_at_10") for way in HISTORY]
    heads = tuple(TableCell(RANKING[measure], HISTORY.get(way, "")) for way, measure in columns)
    rows = [
        (TableCell(model), tuple(_cell(ways.get(way), measure) for way, measure in columns))
        for model, ways in by_model.items()
    ]
    popular = next((ways[POPULARITY] for ways in by_model.values() if POPULARITY in ways), None)
    cells = (_cell(popular if way == "query" else None, measure) for way, measure in columns)
    return Table(heads, (*rows, (TableCell(POPULARITY), tuple(cells))))


def _cell(report: Mapping[str, Any] | None, measure: str) -> TableCell:
    """A measure as a cell, with its interval and deviation if it is one that shows them."""
    if report is None or measure not in report["metrics"]:
        return MISSING
    value, note, interval = report["metrics"][measure], "", None
    if measure in WITH_INTERVAL:
        interval = tuple(report["intervals"].get(measure) or ()) or None
        deviation = report.get("deviations", {}).get(measure)
        note = "" if deviation is None else f"± {number(deviation)}"
    return TableCell(number(value), note, value, interval)
