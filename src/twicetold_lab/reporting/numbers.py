"""The numbers of the page that have no file of their own, one on a line, at full precision.

Metrics with their intervals are in `leaderboard.csv`, those of cost in `cost.csv`, mistakes in `errors.parquet` and
`groups.csv`. A line is about a model's first seed where the page shows that alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twicetold.evaluation.intervals import Interval, accuracy_interval
from twicetold.files import csv_text
from twicetold_lab.reporting.errors import Judged
from twicetold_lab.reporting.operating_points import PRIORS
from twicetold_lab.reporting.page import Section
from twicetold_lab.reporting.published import PUBLISHED
from twicetold_lab.reporting.studies import Study, StudyTable
from twicetold_lab.reporting.topics import MeasuredRun
from twicetold_lab.reporting.wrong_groups import GroupMistakes
from twicetold_lab.runs.records import Abroad, Peer

FILE = "numbers.csv"
"""Beside the page."""
COLUMNS = ("data", "table", "model", "about", "measure", "value", "low", "high")


@dataclass(frozen=True)
class Number:
    """One number of the page."""

    table: str
    """Where it stands."""
    model: str
    """Empty where it is about the data."""
    about: str
    """Part of the table: a use, a threshold, a slice, a split."""
    measure: str
    value: float
    interval: Interval | None = None
    """Ends of its 95 % interval."""


def numbers_csv(
    sections: Iterable[Section],
    abroad: Iterable[Abroad],
    topics: Iterable[MeasuredRun],
    studies: Iterable[Study] = (),
) -> str:
    """The table, a line for each number.

    Args:
        sections: of the datasets.
        abroad: results of models on other data.
        topics: what was measured of topics and related articles.
        studies: questions that trainings beside the grid answer.
    """
    found = [(section.board.data, number) for section in sections for number in _of_section(section)]
    found += [(data, number) for one in abroad for data, number in _of_abroad(one)]
    found += [(run.cell.data, number) for run in topics for number in _of_topics(run)]
    found += [(each.data, number) for study in studies for each in study.tables for number in _of_study(study, each)]
    return csv_text(COLUMNS, ((data, *_cells(number)) for data, number in found))


def _cells(number: Number) -> tuple[str, ...]:
    low, high = ("", "") if number.interval is None else map(repr, map(float, number.interval))
    return number.table, number.model, number.about, number.measure, repr(number.value), low, high


def _of_section(section: Section) -> Iterator[Number]:
    yield from _of_models(section)
    yield from _of_comparisons(section)
    yield from _of_points(section)
    yield from _of_reliability(section)
    if isinstance(section.mistakes, Judged):
        yield from _of_slices(section.mistakes)
    for wrong in section.wrong:
        yield from _of_groups(wrong)
    for peer in section.peers:
        yield from _of_peer(peer)
    yield from _of_data(section)
    yield from _of_papers(section.board.data)


def _of_models(section: Section) -> Iterator[Number]:
    for row in section.board.rows:
        yield Number("models", row.model, "", "seeds", len(row.runs))
        yield Number("models", row.model, "", "parameters", row.first.parameters)
        yield Number("models", row.model, "", "epochs", row.epochs)
        for verdict in row.first.samples:
            pair = f"{verdict.left} / {verdict.right}"
            yield Number("sample pairs", row.model, pair, "score", verdict.score)
            yield Number("sample pairs", row.model, pair, "probability", verdict.probability)
        for view, card in row.first.word_hashing.items():
            for name, value in _flat({k: v for k, v in card.items() if k != "published"}):
                yield Number("word hashing", row.model, view, name, value)
            for name, value in _flat(card["published"]):
                yield Number("word hashing", row.model, "Huang et al. 2013", name, value)


def _of_comparisons(section: Section) -> Iterator[Number]:
    """Each model against the highest on test, for each use."""
    for found in section.tiers:
        for each in found.standings:
            about, model = f"{found.use.title}: {found.use.measure}", each.row.model
            yield Number("paired tests", model, about, "tied for first", int(each.first))
            if each.against_first is not None and each.p_value is not None:
                test = each.against_first
                yield Number("paired tests", model, about, "difference", test.difference, (test.low, test.high))
                yield Number("paired tests", model, about, "corrected p", each.p_value)


def _of_points(section: Section) -> Iterator[Number]:
    for row in section.board.rows:
        for point in row.first.points:
            if point.threshold is None or point.probability is None or point.val is None or point.test is None:
                continue
            measured: dict[str, float | None] = {
                "threshold": point.threshold,
                "probability": point.probability,
                "precision on validation": point.val.precision,
                **{name: getattr(point.test, name) for name in ("precision", "recall", "flagged", "errors")},
                **{f"precision if {prior:.0%} say the same": point.precision_under(prior) for prior in PRIORS},
            }
            for measure, value in measured.items():
                if value is not None:
                    ends = point.test.intervals.get(measure)
                    yield Number("operating points", row.model, point.name, measure, value, ends)


def _of_reliability(section: Section) -> Iterator[Number]:
    for found in section.reliabilities:
        yield Number("reliability", found.model, "", "calibration error", found.gap)
        for each in found.bins:
            about = f"{each.low:.1f} to {each.high:.1f}"
            yield Number("reliability", found.model, about, "pairs", each.count)
            yield Number("reliability", found.model, about, "predicted", each.predicted)
            yield Number("reliability", found.model, about, "observed", each.observed)


def _of_slices(found: Judged) -> Iterator[Number]:
    for model, by_slice in found.slices.items():
        for name, sides in by_slice.items():
            for about, side in zip((name, f"not {name}"), sides, strict=True):
                yield Number("slices", model, about, "pairs", side.total)
                yield Number("slices", model, about, "right", side.value, side.interval)


def _of_groups(found: GroupMistakes) -> Iterator[Number]:
    counted = zip(("joined", "split", "wrong links"), found.counts, strict=True)
    for measure, value in (("threshold", found.threshold), *counted):
        yield Number("wrong groups", found.model, found.rule, measure, value)


def _of_peer(peer: Peer) -> Iterator[Number]:
    for measure, value in peer.metrics.items():
        yield Number("peers", peer.name, "", measure, value, peer.intervals.get(measure))
    if peer.seconds is not None:
        yield Number("peers", peer.name, "", "seconds", peer.seconds)


def _of_data(section: Section) -> Iterator[Number]:
    about = section.about
    for table, found in (("data", about.card), ("leaks", about.audit)):
        for name, value in _flat(found):
            where, _, measure = name.rpartition(".")
            yield Number(table, "", where, measure, value)
    for file in about.files:
        yield Number("raw files", "", file.name, "bytes", file.size)
        yield Number("raw files", "", file.name, "lines", file.lines)
    for mined in about.mined:
        for measure, value in _flat({**asdict(mined), "strategy": None}):
            yield Number("mined negatives", "", mined.strategy, measure, value)
        ends = accuracy_interval(mined.known_duplicates, mined.negatives)
        rate = mined.known_duplicates / mined.negatives
        yield Number("mined negatives", "", mined.strategy, "false-negative rate", rate, ends)


def _of_papers(data: str) -> Iterator[Number]:
    if papers := PUBLISHED.get(data):
        for result in papers.results:
            yield Number("published", result.model, result.source, papers.metric, result.value / 100)
        if rule := papers.pairwise_knn:
            for measure, value in rule.metrics.items():
                yield Number("published", rule.model, "pairwise k-NN", measure, value)


def _of_abroad(one: Abroad) -> Iterator[tuple[str, Number]]:
    about = f"learnt on {one.run.cell.data}"
    for data, metrics in one.metrics.items():
        for measure, value in metrics.items():
            ends = one.intervals.get(data, {}).get(measure)
            yield data, Number("across domains", one.run.cell.model, about, measure, value, ends)
    for data, texts in one.shared.items():
        yield data, Number("across domains", one.run.cell.model, about, "texts that are known", texts)


def _of_topics(run: MeasuredRun) -> Iterator[Number]:
    for table, found in (("topics", run.topics), ("related articles", run.related)):
        for label, ways in found.items():
            for way, each in ways.items():
                about, ends = f"{label}, {way}", each.get("intervals", {})
                for measure, value in each["metrics"].items():
                    interval = tuple(ends[measure]) if ends.get(measure) else None
                    yield Number(table, run.cell.model, about, measure, value, interval)
                for measure, value in each.get("deviations", {}).items():
                    yield Number(table, run.cell.model, about, f"{measure}, standard deviation", value)


def _of_study(study: Study, found: StudyTable) -> Iterator[Number]:
    for row, measure, value, ends in found.numbers():
        yield Number(study.title, row, found.title, measure, value, (ends[0], ends[1]) if ends else None)


def _flat(found: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number of nested mappings and lists, with its keys joined by points; places of a list count from 1."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        yield name, found
    parts = found.items() if isinstance(found, Mapping) else _places(found)
    for key, value in parts:
        yield from _flat(value, f"{name}.{key}".removeprefix("."))


def _places(found: Any) -> Iterable[tuple[int, Any]]:
    return enumerate(found, start=1) if isinstance(found, Sequence) and not isinstance(found, str) else ()
