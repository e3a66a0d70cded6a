"""The sections of a report, in their order: what to take, all models at a glance, each dataset, and how to read it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from twicetold_lab.reporting import cost, dedupe, operating_points, provenance, recommendation, tiers
from twicetold_lab.reporting.controlled import controlled_runs, controlled_sections
from twicetold_lab.reporting.cross_domain import cross_domain_section
from twicetold_lab.reporting.errors import Judged, error_sections, judged
from twicetold_lab.reporting.figures import curve_figures
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.grid import Grid
from twicetold_lab.reporting.html import anchor_of
from twicetold_lab.reporting.leaderboard import (
    Leaderboard,
    leaderboard_table,
    rank,
    search_table,
    train_and_test_table,
)
from twicetold_lab.reporting.studies import read_studies
from twicetold_lab.reporting.tables import Section, Table, TableCell, words
from twicetold_lab.runs.checks import CLEAR, NOT_CHECKED, check
from twicetold_lab.runs.folder import RunFolder, read_cross_domain, read_runs
from twicetold_lab.runs.records import Peer, Provenance, read_peers

TRAIN_AND_TEST = (
    "Over all pairs of the train texts, and of the test texts. Nothing was chosen by train. Its pairs are others than "
    "those of test, easier or harder for any model: compare models within a column."
)
SEARCH = {
    "documents": "Each test text that has another of its story (or each of a sample) is looked for among all texts of "
    "the corpus.",
    "pairs": "Each text of a test duplicate (or each of a sample) is looked for among all texts of the corpus. Correct "
    "answers are the texts that are duplicates according to test; duplicates known only from train or validation are "
    "removed from the list.",
}
CHECKS = (
    "What the figures do not say by themselves, for each model's first seed. An error: a figure does not hold for new "
    "texts. A warning: it holds under a condition. A note: a comparison is uneven. docs/guides/checks.md shows each."
)
HOW_TO_READ = (
    (
        "Validation chooses, test reports.",
        "Rows are ordered by validation, and the best is the best there. A model further down may do better on test by "
        "chance. Test data are read by the stage evaluate only, after training.",
    ),
    (
        "Thresholds are chosen on validation",
        "(the highest accuracy there; for documents, the highest F1) and applied unchanged to test, so they do not "
        "make accuracy, F1 and MCC on test look better. The probability of a pair is a logistic function of its score, "
        "also fitted on validation.",
    ),
    (
        "Intervals",
        "are 95 % confidence intervals for the choice of test data. Overlapping intervals do not mean that two models "
        "are equal: use the paired tests, which compare what each test pair, story or cluster adds to the measure.",
    ),
    (
        "Several seeds:",
        "values are means over seeds with the standard deviation behind ±, intervals are those of one run, averaged, "
        "and paired tests compare the mean; curves, mistakes and operating points are of the smallest seed.",
    ),
    (
        "Baselines",
        "have no parameters: they count words or letters, or average ready-made vectors of words. Compare trained "
        "models with them.",
    ),
    (
        "Compare within one dataset.",
        "Class balance, difficulty and size differ between datasets and affect most metrics.",
    ),
)


@dataclass(frozen=True)
class Dataset:
    """One dataset with its models.

    Args:
        about: its description.
        board: its models.
        grid: that the models are of.
        cross_domain: models of any dataset that were evaluated on other data.
        processed: folder of its corpus; None where nothing but files in Git is read.
    """

    about: Provenance
    board: Leaderboard
    grid: Grid
    cross_domain: Sequence[RunFolder] = ()
    processed: Path | None = None

    @cached_property
    def tiers(self) -> tuple[tiers.Tiers, ...]:
        """Who is tied for first, for each use and for the groups of a dedupe."""
        return tiers.all_tiers(self.board, self.about.kind)

    @cached_property
    def recommended(self) -> tuple[recommendation.UseRecommendation, ...]:
        """The recommendations for each use."""
        return recommendation.recommend(self.board, self.tiers, grid=self.grid, cross_domain=self.cross_domain)

    @cached_property
    def mistakes(self) -> Judged | str | None:
        """The verdicts of models about test pairs; see `judged`."""
        return judged(self.board, self.processed, kind=self.about.kind) if self.processed else None


@dataclass(frozen=True)
class Report:
    """A report as data.

    Args:
        datasets: in their order.
        sections: in their order.
        models: all of them, the trained ones first, then by name: the order of colours.
        runs: that the numbers are of, those on shared terms among them.
    """

    datasets: Sequence[Dataset]
    sections: Sequence[Section]
    models: Sequence[str]
    runs: Sequence[RunFolder]


def read_report(
    grid: Grid,
    *,
    runs: Path,
    abouts: Mapping[str, Provenance],
    processed: Path | None = None,
    resplit: Collection[str] = (),
    observed: bool = True,
) -> Report:
    """Read run folders and make a report of them.

    Args:
        grid: what to report.
        runs: the folder of run folders.
        abouts: descriptions of the datasets.
        processed: the folder of corpora; None: no texts are read.
        resplit: datasets that are split otherwise since their runs were made; their sections say so.
        observed: whether seconds that a training observed count where the grid has none.

    Raises:
        FileNotFoundError: if a file is missing; says which stage writes it.
        ValueError: if there are no cells, or models of one dataset were evaluated on different units.
    """
    by_data, on_terms = read_runs(grid.cells, runs), controlled_runs(grid.controlled, runs)
    cross_domain = read_cross_domain(grid.cross_domain, runs)
    everything = [run for found in (*by_data.values(), *on_terms.values()) for run in found]
    took = {run.cell.name: run.train_seconds for run in everything if observed and run.train_seconds is not None}
    took |= grid.seconds
    datasets = [
        Dataset(abouts[data], rank(data, found), grid, cross_domain, processed / data if processed else None)
        for data, found in by_data.items()
    ]
    rows = [row for each in datasets for row in each.board.rows]
    trained = {row.model for row in rows if not row.first.is_baseline}
    models = sorted({row.model for row in rows}, key=lambda model: (model not in trained, model))
    peers, colours = read_peers(runs), {model: place for place, model in enumerate(models)}
    changed = {
        each.about.name: [provenance.RESPLIT.format(data=each.about.name)]
        for each in datasets
        if each.about.name in resplit
    }
    boards = [each.board for each in datasets]
    how = [recommendation.LEAD, recommendation.how_to_read(boards)]
    take = [
        recommendation.recommendation_section(each.board, each.recommended, changed.get(each.about.name, []))
        for each in datasets
        if each.recommended
    ]
    every = [(each.about.name, [one.tiers for one in each.recommended]) for each in datasets]
    sections = [
        Section(recommendation.TITLE, how, parts=take, anchor="recommendation"),
        Section("Overview", [tiers.HOW_TO_READ], tables=[tiers.overview(every)], anchor="overview", is_page_only=True),
    ]
    for each in datasets:
        name = each.about.name
        terms = controlled_sections(each.board, grid.controlled, on_terms.get(name, []), took)
        parts = [part for part in _parts(each, peers.get(name, []), terms, took, colours) if part is not None]
        sentences = [provenance.KINDS[each.about.kind], *changed.get(name, [])]
        sections.append(Section(name, sentences, parts=parts, anchor=anchor_of(name), data=name))
    across = cross_domain_section(cross_domain, grid.ensembles)
    sections += [] if across is None else [across]
    sections += [study.section(f"study-{i}") for i, study in enumerate(read_studies(runs, by_data.keys()), start=1)]
    sections += [_how_to_read(sections), _glossary(datasets)]
    return Report(datasets, sections, models, everything)


def _parts(
    each: Dataset,
    peers: Sequence[Peer],
    terms: Sequence[Section],
    took: Mapping[str, float],
    colours: Mapping[str, int],
) -> Iterator[Section | None]:
    board, kind = each.board, each.about.kind
    yield Section("Leaderboard", tables=[leaderboard_table(board)], notes=board.pretraining)
    yield _commands(each)
    train = train_and_test_table(board)
    yield Section("Train and test", [TRAIN_AND_TEST], tables=[train]) if train.rows else None
    yield cost.cost_section(board, took)
    yield from map(tiers.paired_section, each.tiers)
    yield operating_points.operating_points_section(each.recommended[0].named if each.recommended else ())
    yield dedupe.dedupe_section(board, kind, peers)
    yield from terms
    search = search_table(board)
    asked = SEARCH.get(kind, SEARCH["pairs"])
    yield (
        Section("Search in the whole corpus", [f"{asked} The search is exact."], tables=[search])
        if search.rows
        else None
    )
    curves = curve_figures(board, kind, colours)
    yield Section("Curves", figures=curves, is_page_only=True) if curves else None
    yield _checks(each)
    yield from error_sections(each.mistakes, board.data)
    yield provenance.data_section(each.about)


def _commands(each: Dataset) -> Section | None:
    """The runs of each model, and the command that trains the first."""
    rows = [row for row in each.board.rows if row.first.cell in each.grid.commands]
    lines = tuple(
        (
            TableCell(row.model + row.mark),
            (
                words(", ".join(run.cell.name for run in row.runs)),
                TableCell(each.grid.commands[row.first.cell], value=None, is_code=True),
            ),
        )
        for row in rows
    )
    table = Table((words("Runs", "folders in runs/"), words("Command", "of the first")), lines)
    return Section("How each is trained", tables=[table], is_folded=True) if rows else None


def _checks(each: Dataset) -> Section:
    """The findings of the numbered checks, each with its models."""
    found: dict[str, list[str]] = {}
    by_model = {row.model: check(_with_audit(row.first, each)) for row in each.board.rows}
    for outcomes in zip(*by_model.values(), strict=True):
        for model, outcome in zip(by_model, outcomes, strict=True):
            if outcome.state not in (CLEAR, NOT_CHECKED):
                found.setdefault(outcome.line, []).append(model)
    facts = [f"{line} ({', '.join(models)})" for line, models in found.items()] or ["No check found anything."]
    return Section("Checks", [CHECKS], facts=facts, is_page_only=True)


def _with_audit(run: RunFolder, each: Dataset) -> RunFolder:
    return RunFolder(run.path, run.cell, each.about.audit)


def _how_to_read(sections: Sequence[Section]) -> Section:
    """Reading guide for the numbers; what does not apply is left out."""
    titles = {part.title for section in sections for part in section.parts}
    measured = any(cell.text == "Size" for section in sections for part in section.parts for cell in _heads(part))
    parts = [
        Section("Reading of a dedupe", dedupe.HOW_TO_READ) if "Dedupe" in titles else None,
        Section("Reading of operating points", [operating_points.HOW_TO_READ])
        if operating_points.TITLE in titles
        else None,
        Section("Reading of costs", [cost.HOW_TO_READ] * measured + [cost.OF_TRAINING])
        if cost.TITLE in titles
        else None,
    ]
    return Section("How to read this", facts=HOW_TO_READ, parts=[part for part in parts if part], anchor="reading")


def _heads(part: Section) -> Iterator[TableCell]:
    for table in part.tables:
        yield from table.columns


def _glossary(datasets: Sequence[Dataset]) -> Section:
    """The metrics of the leaderboards and of the tables of a dedupe."""
    entries = dict.fromkeys(describe(name).entry for each in datasets for name in each.board.metrics)
    explained = [metric for metric in map(describe, entries) if metric.meaning]
    facts = [(metric.label, metric.meaning) for metric in explained]
    return Section("Glossary", facts=facts, anchor="glossary", is_page_only=True)
