"""Sections as text for a terminal, and the numbers of their tables as CSV, one on a line, at full precision."""

import math
from collections.abc import Iterator, Sequence

from twicetold.files import csv_text
from twicetold.printable import printable
from twicetold_lab.reporting.tables import Section, Table, TableCell

FILE = "numbers.csv"
"""Beside the pages."""
COLUMNS = ("data", "table", "model", "about", "measure", "value", "low", "high")


def section_text(section: Section) -> str:
    """Return the title and the tables of a section below each other, for a terminal."""
    return "\n\n".join([printable(section.title), *map(_aligned, section.tables)]) + "\n"


def numbers_csv(sections: Sequence[Section]) -> str:
    """A line for each number: dataset, section, name of the row and its note, column, value, ends of its interval."""
    return csv_text(COLUMNS, dict.fromkeys(line for section in sections for line in _lines(section, "")))


def _aligned(table: Table) -> str:
    """Return a table whose first column begins on the left; the others end on the right."""
    heads = [table.of, *(column.text for column in table.columns)]
    rows = [heads, *([_cell_text(cell) for cell in (name, *cells)] for name, cells in table.rows)]
    first, *others = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    lines = ("  ".join([name.ljust(first), *map(str.rjust, cells, others)]) for name, *cells in rows)
    return "\n".join(map(str.rstrip, lines))


def _cell_text(cell: TableCell) -> str:
    return printable(cell.text + (f" ({cell.remark})" if cell.remark else ""))


def _lines(section: Section, data: str) -> Iterator[tuple[str, ...]]:
    data = section.data or data
    for table in section.tables:
        for name, cells in table.rows:
            for column, cell in zip(table.columns, cells, strict=True):
                if cell.value is not None and not math.isnan(cell.value):
                    measure = ", ".join(filter(None, (column.text, column.note)))
                    ends = map(repr, map(float, cell.interval)) if cell.interval else ("", "")
                    yield data, section.title, name.text, name.note, measure, repr(cell.value), *ends
    for part in section.parts:
        yield from _lines(part, data)
