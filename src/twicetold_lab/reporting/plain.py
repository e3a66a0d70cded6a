"""Sections as text for a terminal, and the numbers of their tables as CSV, one on a line, at full precision."""

import math
from collections.abc import Iterator, Sequence

from twicetold.files import csv_text
from twicetold.printable import printable
from twicetold_lab.reporting.tables import Section, TableCell

FILE = "numbers.csv"
"""Beside the pages."""
COLUMNS = ("data", "table", "model", "about", "measure", "value", "low", "high")


def section_text(section: Section) -> str:
    """A section with its tables and parts below each other, for a terminal."""
    return "\n\n".join(_blocks(section)) + "\n"


def numbers_csv(sections: Sequence[Section]) -> str:
    """A line for each number: dataset, section, name of the row and its note, column, value, ends of its interval."""
    return csv_text(COLUMNS, dict.fromkeys(line for section in sections for line in _lines(section, "")))


def _blocks(section: Section) -> Iterator[str]:
    if section.title:
        yield printable(section.title)
    yield from section.sentences
    for table in section.tables:
        heads = [table.of, *(column.text for column in table.columns)]
        yield "\n".join(_aligned([heads, *([*map(_cell_text, (name, *cells))] for name, cells in table.rows)]))
    yield from section.notes
    if section.facts:
        yield "\n".join(f"  {fact}" for fact in section.facts)
    for part in section.parts:
        yield from _blocks(part)


def _cell_text(cell: TableCell) -> str:
    return printable(cell.text + (f" ({cell.remark})" if cell.remark else ""))


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; its first column begins on the left, the others end on the right."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


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
