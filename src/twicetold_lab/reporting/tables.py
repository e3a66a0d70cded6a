"""A report as data: sections of sentences, tables and figures.

Nothing here knows how a section is shown: `html`, `markdown` and `reporting` render it, and `reporting` writes the
values of its tables.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from markupsafe import Markup

from twicetold.evaluation.intervals import Interval
from twicetold_lab.reporting.glossary import describe, magnitude

NOTHING = "–"


@dataclass(frozen=True)
class TableCell:
    """A cell, the head of a column or the name of a row.

    Args:
        text: what it shows.
        note: a remark beside it.
        value: a number to sort by, at full precision; NaN where there is none, None in a column of words.
        interval: ends of the 95 % interval of `value`, shown before the note.
        strong: whether it stands out: the highest of its column, the first row.
        is_code: whether it is a command.
        is_difference: whether the ends of the interval have signs.
        page: dataset to whose page the text leads; empty for none.
    """

    text: str
    note: str = ""
    value: float | None = math.nan
    interval: Interval | None = None
    strong: bool = False
    is_code: bool = False
    is_difference: bool = False
    page: str = ""

    @property
    def remark(self) -> str:
        """The interval and the note, as a reader sees them; may be empty."""
        form = "+.3f" if self.is_difference else ".3f"
        ends = f"{self.interval[0]:{form}} to {self.interval[1]:{form}}" if self.interval else ""
        return ", ".join(filter(None, (ends, self.note)))


MISSING = TableCell(NOTHING)
TableRow: TypeAlias = tuple[TableCell, tuple[TableCell, ...]]
"""Name, and a cell for each column."""


@dataclass(frozen=True)
class Table:
    """Rows of cells.

    Args:
        columns: heads, without that of the names.
        rows: of as many cells as there are columns.
        of: what the rows are.
    """

    columns: tuple[TableCell, ...]
    rows: tuple[TableRow, ...]
    of: str = "model"


@dataclass(frozen=True)
class Figure:
    """A figure with its caption, which follows the title."""

    title: str
    caption: str
    drawing: Markup


@dataclass(frozen=True)
class Section:
    """A part of a report: in this order sentences, tables, a figure, notes and facts, then parts of its own.

    Args:
        title: its heading; empty for none.
        sentences: paragraphs above.
        tables: below each other.
        figure: below the tables, on a page.
        notes: paragraphs below.
        facts: a list.
        parts: sections within it.
        data: the dataset that it is about.
        is_folded: whether only its title shows until it is opened.
        is_detail: whether it stands on pages and in numbers.csv alone, and not in Markdown.
    """

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figure: Figure | None = None
    notes: Sequence[str] = ()
    facts: Sequence[str] = ()
    parts: Sequence["Section"] = ()
    data: str = ""
    is_folded: bool = False
    is_detail: bool = False


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
    name: str, estimate: Estimate | None, *, top: float | None = None, with_interval: bool = False
) -> TableCell:
    """Return a metric as a cell: the mean and, of several seeds, the standard deviation; a dash if it is missing.

    Args:
        name: of the metric.
        estimate: its value.
        top: the highest of its column, which stands out.
        with_interval: whether the interval is shown.
    """
    if estimate is None:
        return MISSING
    show = describe(name).show
    spread = "" if estimate.deviation is None else f" ± {show(estimate.deviation)}"
    interval = estimate.interval if with_interval else None
    return TableCell(show(estimate.mean) + spread, "", estimate.mean, interval, strong=estimate.mean == top)


def words(text: str, note: str = "") -> TableCell:
    """Return a cell of a column of words."""
    return TableCell(text or NOTHING, note, value=None)


def command_cell(command: str) -> TableCell:
    """Return a command; a dash if there is none."""
    return TableCell(command, value=None, is_code=True) if command else words("")


def amount(value: float | None, show: Callable[[Any], str] = magnitude) -> TableCell:
    """Return a number as a cell; a dash if it is not known."""
    return MISSING if value is None else TableCell(show(value), value=value)
