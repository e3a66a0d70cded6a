"""Models that are tied for first, for each use of a dataset.

A use rests on one measure of test. The model that is highest on it is compared with each other one on the same units of
test (`evaluation.units`), and the p-values are corrected for the number of comparisons (Holm). All that cannot be told
from it at 5 % are tied for first. That is reporting, and chooses nothing: the model that is named as the best is the
best on validation, whether or not it is tied for first.

Where units were not kept, two models count as tied if their intervals overlap, which ties more of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from twicetold.evaluation.intervals import PairedTest
from twicetold.evaluation.units import holm, paired_test
from twicetold_lab.reporting.dedupe import DedupeTable, Shown
from twicetold_lab.reporting.glossary import describe, number, probability
from twicetold_lab.reporting.leaderboard import Estimate, Leaderboard, Row, or_worst
from twicetold_lab.reporting.search_vectors import heading

LEVEL = 0.05
RANK = 10  # of search
OVERLAP = "not compared in pairs: intervals overlap"
TIED = "●"
HOW_TO_READ = (
    f"The measure of each use on test. {TIED}: tied for first, so that a paired test cannot tell it from the highest. "
    "Set off in colour: the best on validation. A raised p: not clean, as above. Models that are tied for first most "
    "often stand above."
)


@dataclass(frozen=True)
class Use:
    """What somebody does with a model."""

    title: str
    measure: str
    """The metric that it rests on."""
    needs_threshold: bool = False
    """Whether the measure depends on a threshold, so that even a model without training needs labels for it."""

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
    """Whether it is tied for first."""
    against_first: PairedTest | None
    """It minus the highest; None for the highest, and where they were not compared in pairs."""
    p_value: float | None
    """Of `against_first`, corrected for the number of comparisons."""


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


@dataclass(frozen=True)
class Cell:
    """One model for one use."""

    text: str
    clean: bool = True
    """Whether the model, as far as is known, had not met texts of these data before it was trained."""
    tied: bool = False
    chosen: bool = False
    """Whether it is the best on validation."""


@dataclass(frozen=True)
class Glance:
    """The table."""

    datasets: tuple[tuple[str, int], ...]
    """Name, and number of columns."""
    columns: tuple[tuple[str, str], ...]
    """Use, and its measure."""
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


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
    measured = {use.measure: use for use in reversed(uses) if any(row.has_any([use.measure]) for row in board.rows)}
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
    """Whether each first model of two is tied with the other, which is as high or higher on test.

    By a paired test, corrected for the number of pairs; by their intervals where units were not kept.

    Raises:
        ValueError: if two models were evaluated on different units.
    """
    tests = [_paired_test(row, top, measure) for row, top in pairs]
    corrected = iter(holm([test.p_value for test in tests if test is not None]))
    found = []
    for (row, top), test in zip(pairs, tests, strict=True):
        value, p_value = value_of(row, measure), None if test is None else next(corrected)
        tied = _overlap(value_of(top, measure), value) if p_value is None else p_value >= LEVEL
        found.append(Standing(row, value, tied, test, p_value))
    return found


def _paired_test(row: Row, top: Row, measure: str) -> PairedTest | None:
    """The first model minus the other; None where units are missing."""
    kept = [[run.units.get(measure) for run in each.runs] for each in (row, top)]
    one, other = ([unit for unit in each if unit is not None] for each in kept)
    if len(one) < len(row.runs) or len(other) < len(top.runs):
        return None
    try:
        return paired_test(one, other, difference=value_of(row, measure).mean - value_of(top, measure).mean)
    except ValueError as error:
        names = f"{row.first.folder.name} and {top.first.folder.name}"
        raise ValueError(f"{names}, {measure}: {error}") from error


def _overlap(one: Estimate, other: Estimate) -> bool:
    if one.interval is None or other.interval is None:
        return True
    return one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]


def paired_table(found: Tiers) -> DedupeTable:
    """Each model against the highest on test."""
    metric = describe(found.use.measure)
    columns = (
        Shown(metric.label, "test"),
        Shown("Difference", f"from {found.standings[0].row.model}"),
        Shown("p", "corrected"),
        Shown("Tied for first", value=None),
    )
    rows = []
    for each in found.standings:
        ends, test = each.value.interval, each.against_first
        value = Shown(metric.show(each.value.mean), f"{number(ends[0])} to {number(ends[1])}" if ends else "")
        tied = Shown("yes" if each.first else "no", value=None)
        cells = [replace(value, value=each.value.mean), Shown("–"), Shown("–"), tied]
        if test is not None and each.p_value is not None:
            said = Shown(f"{test.difference:+.3f}", f"{test.low:+.3f} to {test.high:+.3f}", test.difference)
            cells[1:3] = [said, Shown(probability(each.p_value), value=each.p_value)]
        elif each is not found.standings[0]:
            cells[1] = Shown("–", OVERLAP if each.first else "intervals apart")
        rows.append((Shown(each.row.model + each.row.mark), tuple(cells)))
    return DedupeTable(columns, tuple(rows))


def clean(rows: Sequence[Row]) -> list[Row]:
    """Those that, as far as is known, had not met texts of the dataset before they were trained."""
    return [row for row in rows if row.first.is_clean]


def glance(found: Sequence[tuple[str, Sequence[Tiers]]]) -> Glance:
    """The table of all models.

    Args:
        found: of each dataset its name and its uses.
    """
    uses = [each for _, of_data in found for each in of_data]
    rows: dict[str, list[Cell]] = {}
    for place, each in enumerate(uses):
        for standing in each.standings:
            cells = rows.setdefault(standing.row.model, [Cell("")] * len(uses))
            cells[place] = _cell(standing, each)
    ordered = sorted(rows.items(), key=lambda row: (-sum(cell.tied for cell in row[1]), row[0]))
    return Glance(
        tuple((name, len(of_data)) for name, of_data in found if of_data),
        tuple((each.use.word, heading(each.use.measure)) for each in uses),
        tuple((model, tuple(cells)) for model, cells in ordered),
    )


def _cell(standing: Standing, each: Tiers) -> Cell:
    value = standing.value.mean
    return Cell(number(value), standing.row.first.is_clean, standing.first, standing.row is each.chosen)
