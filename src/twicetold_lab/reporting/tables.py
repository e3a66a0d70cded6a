"""A report as data: sections of sentences, tables and figures.

Nothing here knows how a section is shown; `html`, `markdown` and `terminal` show each its way, and `numbers` writes the
values of its tables.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from markupsafe import Markup

from twicetold.evaluation.intervals import Interval
from twicetold_lab.reporting.glossary import describe

NOTHING = "–"


@dataclass(frozen=True)
class TableCell:
    """A cell, the head of a column or the name of a row.

    Args:
        text: what it shows.
        note: a remark beside it.
        value: a number to sort by, at full precision; NaN where there is none, None in a column of words.
        interval: ends of the 95 % interval of `value`, shown before the note.
        strong: whether it stands out: the highest of its column, the best row.
        is_code: whether it is a command.
        is_difference: whether the ends of the interval have signs.
    """

    text: str
    note: str = ""
    value: float | None = math.nan
    interval: Interval | None = None
    strong: bool = False
    is_code: bool = False
    is_difference: bool = False

    @property
    def remark(self) -> str:
        """The interval and the note, as a reader sees them; may be empty."""
        ends = interval_text(self.interval, "+.3f" if self.is_difference else ".3f")
        return ", ".join(filter(None, (ends, self.note)))


MISSING = TableCell(NOTHING)
TableRow: TypeAlias = tuple[TableCell, tuple[TableCell, ...]]
"""Name, and a cell for each column."""


@dataclass(frozen=True)
class Drawn:
    """A column whose cells draw their interval on one axis.

    Args:
        column: its place.
        mark: value of the best baseline, which is marked; None if there is none.
    """

    column: int
    mark: float | None


@dataclass(frozen=True)
class Table:
    """Rows of cells.

    Args:
        columns: heads, without that of the names.
        rows: of as many cells as there are columns.
        of: what the rows are.
        drawn: a column that is drawn as well, on a page.
    """

    columns: tuple[TableCell, ...]
    rows: tuple[TableRow, ...]
    of: str = "model"
    drawn: Drawn | None = None

    def with_columns(self, keep: Sequence[int]) -> "Table":
        """The same rows with some columns."""
        rows = tuple((name, tuple(cells[i] for i in keep)) for name, cells in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in keep), rows=rows)

    @property
    def known(self) -> "Table":
        """The columns in which something is known."""
        return self.with_columns(
            [i for i in range(len(self.columns)) if any(cells[i].text != NOTHING for _, cells in self.rows)]
        )


@dataclass(frozen=True)
class Figure:
    """A figure with its caption and, if it draws several things, its legend."""

    title: str
    caption: str
    """Follows the title."""
    drawing: Markup
    legend: tuple[tuple[int, str, str], ...] = ()
    """Colour, name and note."""


@dataclass(frozen=True)
class Section:
    """A part of a report: in this order sentences, figures, tables, notes and facts, then parts of its own.

    Args:
        title: its heading.
        sentences: paragraphs above.
        figures: beside each other.
        tables: below each other.
        notes: paragraphs below the tables.
        facts: a list; of a pair the first part stands out.
        parts: sections within it.
        anchor: where links to it lead on the page; empty for none.
        data: the dataset that it is about.
        is_folded: whether only its title shows until it is opened.
        is_page_only: whether it is left out of Markdown.
    """

    title: str
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    facts: Sequence[str | tuple[str, str]] = ()
    parts: Sequence["Section"] = ()
    anchor: str = ""
    data: str = ""
    is_folded: bool = False
    is_page_only: bool = False


@dataclass(frozen=True)
class Estimate:
    """A metric over the seeds of one model."""

    mean: float
    deviation: float | None = None
    """Standard deviation over seeds, None for a single one."""
    interval: Interval | None = None
    """Ends of the 95 % interval of one run, averaged over seeds; None where none was computed."""


Metrics: TypeAlias = Mapping[str, Mapping[str, Estimate]]
"""Split ("val", "test", where it was measured "train") -> metric -> estimate."""


def estimate_cell(
    name: str, estimate: Estimate | None, *, top: float | None = None, with_interval: bool = False, note: str = ""
) -> TableCell:
    """A metric as a cell: the mean and, of several seeds, the standard deviation; a dash if it is missing.

    Args:
        name: of the metric.
        estimate: its value.
        top: the highest of its column, which stands out.
        with_interval: whether the interval is shown.
        note: a remark.
    """
    if estimate is None:
        return MISSING
    show = describe(name).show
    spread = "" if estimate.deviation is None else f" ± {show(estimate.deviation)}"
    interval = estimate.interval if with_interval else None
    return TableCell(show(estimate.mean) + spread, note, estimate.mean, interval, strong=estimate.mean == top)


def words(text: str, note: str = "") -> TableCell:
    """A cell of a column of words."""
    return TableCell(text or NOTHING, note, value=None)


def difference_cell(value: float, interval: Interval, note: str = "") -> TableCell:
    """A difference with its interval, with signs."""
    return TableCell(f"{value:+.3f}", note, value, interval, is_difference=True)


def interval_text(interval: Interval | None, form: str = ".3f") -> str:
    """An interval in words; empty if there is none."""
    return f"{interval[0]:{form}} to {interval[1]:{form}}" if interval else ""
