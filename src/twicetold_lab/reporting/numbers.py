"""The numbers of the tables of a report, one on a line, at full precision."""

import math
from collections.abc import Iterator, Sequence

from twicetold.files import csv_text
from twicetold_lab.reporting.tables import Section

FILE = "numbers.csv"
"""Beside the page."""
COLUMNS = ("data", "table", "model", "about", "measure", "value", "low", "high")


def numbers_csv(sections: Sequence[Section]) -> str:
    """A line for each number: dataset, section, name of the row and its note, column, value, ends of its interval."""
    return csv_text(COLUMNS, (line for section in sections for line in _lines(section, "")))


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
