"""All models at a glance: a row for each, a column for each use of each dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

from twicetold_lab.reporting.glossary import number
from twicetold_lab.reporting.search_vectors import heading
from twicetold_lab.reporting.tiers import Standing, Tiers

TIED = "●"
HOW_TO_READ = (
    f"The measure of each use on test. {TIED}: tied for first, so that a paired test cannot tell it from the highest. "
    "Set off in colour: the best on validation. A raised p: not clean, as above. Models that are tied for first most "
    "often stand above."
)


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
