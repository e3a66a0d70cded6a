"""Models that are tied for first, for each use of a dataset.

A use rests on one measure of test. The model that is highest on it is compared with each other one on the same units of
test (`evaluation.units`), and the p-values are corrected for the number of comparisons (Holm). All that cannot be told
from it at 5 % are tied for first. That is reporting, and chooses nothing: the model that is named as the best is the
best on validation, whether or not it is tied for first.

Where units were not kept, two models count as tied if their intervals overlap, which ties more of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from twicetold_lab.evaluation.comparisons import Comparison, compare, holm
from twicetold_lab.reporting.glossary import describe, number, probability
from twicetold_lab.reporting.leaderboard import MARK, Leaderboard, Row, or_worst, search_heading
from twicetold_lab.reporting.tables import (
    MISSING,
    NOTHING,
    Estimate,
    Section,
    Table,
    TableCell,
    difference_cell,
    estimate_cell,
    words,
)

LEVEL = 0.05
RANK = 10  # of search
OVERLAP = "not compared in pairs: intervals overlap"
TIED = "●"
HOW_TO_READ = (
    f"The measure of each use on test. {TIED}: tied for first, so that a paired test cannot tell it from the highest. "
    f"Bold: the best on validation. {MARK}: not clean. Models that are tied for first most often stand above."
)


@dataclass(frozen=True)
class Use:
    """A use of a model."""

    title: str
    measure: str
    """The metric that it rests on."""
    needs_threshold: bool = False
    """True if the measure depends on a threshold, so that even a model without training needs labels for it."""

    @property
    def word(self) -> str:
        """The title in one word, for the head of a column."""
        return {DECIDE: "Pair", DEDUPE: "Dedupe"}.get(self.title, self.title)

    @property
    def heading(self) -> str:
        """The title; of a decision about documents, with what it is about."""
        group = describe(self.measure).group
        return f"{self.title}: the same {group}" if self.title == DECIDE and group else self.title


DECIDE, DEDUPE, SEARCH = "Decide about a pair", "Dedupe a corpus", "Search"
GROUPS = "Groups by average linkage"
"""Part of a dedupe: compared as well, and nothing is named by it, as it depends on a threshold."""


@dataclass(frozen=True)
class Standing:
    """One model for one use."""

    row: Row
    value: Estimate
    """On test."""
    first: bool
    """True if it is tied for first."""
    against_first: Comparison | None
    """It minus the highest; None for the highest, and where they were not compared in pairs."""
    p_value: float | None
    """The p-value of `against_first`, corrected for the number of comparisons."""


@dataclass(frozen=True)
class Tiers:
    """All models for one use."""

    use: Use
    standings: tuple[Standing, ...]
    """The highest on test first."""
    chosen: Row
    """The best on validation."""

    @property
    def first(self) -> tuple[Standing, ...]:
        """Those that are tied for first."""
        return tuple(each for each in self.standings if each.first)

    def of(self, row: Row) -> Standing:
        """The standing of a model that has the measure."""
        return next(each for each in self.standings if each.row is row)


def uses_of(board: Leaderboard, kind: str) -> tuple[Use, ...]:
    """The uses of a dataset that were measured, each with its measure.

    Args:
        board: of the dataset.
        kind: of data.
    """
    labelled = kind == "labelled_pairs" and "accuracy" in board.metrics
    uses = [Use(DECIDE, "accuracy" if labelled else board.primary, labelled)]
    if board.duplicates is not None:
        uses += [Use(DEDUPE, f"average_precision_{board.duplicates}"), Use(GROUPS, "ari_average", needs_threshold=True)]
    uses.append(Use(SEARCH, f"retrieval_ndcg_at_{RANK}"))
    measured = {
        use.measure: use for use in reversed(uses) if any(use.measure in row.metrics["test"] for row in board.rows)
    }
    return tuple(use for use in uses if measured.get(use.measure) is use)


def tiers(board: Leaderboard, use: Use) -> Tiers:
    """Who is tied for first.

    Raises:
        ValueError: if models were evaluated on different units.
    """
    rows = [row for row in board.rows if not math.isnan(value_of(row, use.measure).mean)]
    ranked = sorted(rows, key=lambda row: -value_of(row, use.measure).mean)
    top, *others = ranked
    standings = [Standing(top, value_of(top, use.measure), True, None, None)]
    standings += against([(row, top) for row in others], use.measure)
    chosen = max(rows, key=lambda row: or_worst(row.metrics["val"].get(use.measure)))
    return Tiers(use, tuple(standings), chosen)


def all_tiers(board: Leaderboard, kind: str) -> tuple[Tiers, ...]:
    """For each use of a dataset; see `uses_of`."""
    return tuple(tiers(board, use) for use in uses_of(board, kind))


def value_of(row: Row, measure: str) -> Estimate:
    """A measure of a model on test; NaN where it is missing."""
    return row.metrics["test"].get(measure, Estimate(math.nan, None, None))


def against(pairs: Sequence[tuple[Row, Row]], measure: str) -> list[Standing]:
    """Standings that say whether each first model of two is tied with the other, which is as high or higher on test.

    By a paired test, corrected for the number of pairs; by their intervals where units were not kept.

    Raises:
        ValueError: if two models were evaluated on different units.
    """
    tests = [_paired_test(row, top, measure) for row, top in pairs]
    corrected = iter(holm([test.p_value for test in tests if test is not None]))
    standings = []
    for (row, top), test in zip(pairs, tests, strict=True):
        value, p_value = value_of(row, measure), None if test is None else next(corrected)
        tied = _overlap(value_of(top, measure), value) if p_value is None else p_value >= LEVEL
        standings.append(Standing(row, value, tied, test, p_value))
    return standings


def _paired_test(row: Row, top: Row, measure: str) -> Comparison | None:
    """The first model minus the other; None where units are missing."""
    one, other = (
        [(run.units[measure], run.metrics["test"][measure]) for run in each.runs if measure in run.units]
        for each in (row, top)
    )
    if len(one) < len(row.runs) or len(other) < len(top.runs):
        return None
    try:
        units, values = zip(*([list(part) for part in zip(*each, strict=True)] for each in (one, other)), strict=True)
        return compare(*units, of_one=values[0], of_other=values[1])
    except ValueError as error:
        names = f"{row.first.path.name} and {top.first.path.name}"
        raise ValueError(f"{names}, {measure}: {error}") from error


def _overlap(one: Estimate, other: Estimate) -> bool:
    if one.interval is None or other.interval is None:
        return True
    return one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]


def paired_section(use_tiers: Tiers) -> Section:
    """Each model against the highest on test."""
    columns = (
        TableCell(describe(use_tiers.use.measure).label, "test"),
        TableCell("Difference", f"from {use_tiers.standings[0].row.model}"),
        TableCell("p", "corrected"),
        words("Tied for first"),
    )
    rows = ((each.row.name, _paired_cells(each, use_tiers)) for each in use_tiers.standings)
    title = f"{use_tiers.use.title}: each model against the highest on test ({len(use_tiers.first)} tied for first)"
    return Section(title, tables=[Table(columns, tuple(rows))], is_folded=True, is_page_only=True)


def _paired_cells(each: Standing, use_tiers: Tiers) -> tuple[TableCell, ...]:
    measure, test = use_tiers.use.measure, each.against_first
    difference = p_value = MISSING
    if test is not None and each.p_value is not None:
        difference = difference_cell(test.difference, (test.low, test.high))
        p_value = TableCell(probability(each.p_value), value=each.p_value)
    elif each is not use_tiers.standings[0]:
        difference = TableCell(NOTHING, OVERLAP if each.first else "intervals apart")
    value = estimate_cell(measure, each.value, with_interval=True)
    return value, difference, p_value, words("yes" if each.first else "no")


def clean(rows: Sequence[Row]) -> list[Row]:
    """Those that, as far as is known, had not met texts of the dataset before they were trained."""
    return [row for row in rows if row.first.is_clean]


def overview(datasets: Sequence[tuple[str, Sequence[Tiers]]]) -> Table:
    """A row for each model and a column for each use of each dataset; those most often tied for first stand above.

    Args:
        datasets: of each dataset its name and its uses.
    """
    uses = [each for _, of_data in datasets for each in of_data]
    heads = [(name, each.use) for name, of_data in datasets for each in of_data]
    rows: dict[str, list[TableCell]] = {}
    for place, each in enumerate(uses):
        for standing in each.standings:
            cells = rows.setdefault(standing.row.model, [TableCell("")] * len(uses))
            cells[place] = _overview_cell(standing, each)
    ordered = sorted(rows.items(), key=lambda row: (-sum(TIED in cell.note for cell in row[1]), row[0]))
    columns = tuple(TableCell(name, f"{use.word}: {search_heading(use.measure)}") for name, use in heads)
    return Table(columns, tuple((TableCell(model), tuple(cells)) for model, cells in ordered))


def _overview_cell(standing: Standing, each: Tiers) -> TableCell:
    row, value = standing.row, standing.value.mean
    note = " ".join(filter(None, (row.mark.strip(), TIED if standing.first else "")))
    return TableCell(number(value), note, value, strong=row is each.chosen)
