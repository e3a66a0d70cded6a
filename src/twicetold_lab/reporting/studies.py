"""Studies: questions that trainings beside the grid answer, as tables of RESULTS.md and of the report.

What came out is `study-<name>.json` in the folder of runs, which is in Git.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twicetold_lab.reporting.glossary import count, number, share
from twicetold_lab.reporting.tables import MISSING, Section, Table, TableCell
from twicetold_lab.runs.records import read_object

_FILE = "study-{}.json"
_FORMS = {"number": number, "difference": lambda value: f"{value:+.3f}", "count": count, "share": share}


@dataclass(frozen=True)
class StudyCell:
    """A number of a table, or none."""

    value: float | None = None
    form: str = "number"
    """How it is written: number, difference, count or share."""
    deviation: float | None = None
    """Standard deviation over seeds."""
    interval: Sequence[float] | None = None
    """Ends of its 95 % interval."""

    def __post_init__(self) -> None:
        if self.form not in _FORMS:
            raise ValueError(f"a number is written as one of {', '.join(_FORMS)}, got {self.form!r}")

    @property
    def shown(self) -> TableCell:
        """Cell of a table; a dash if there is no number."""
        if self.value is None:
            return MISSING
        note = "" if self.deviation is None else f"± {number(self.deviation)}"
        interval = (self.interval[0], self.interval[1]) if self.interval else None
        return TableCell(_FORMS[self.form](self.value), note, self.value, interval)


@dataclass(frozen=True)
class StudyTable:
    """One table of a study."""

    data: str
    """Dataset that its numbers are of."""
    title: str
    of: str
    """Name of the rows."""
    columns: Sequence[tuple[str, str]]
    """Heads, each with a note."""
    rows: Sequence[tuple[tuple[str, str], Sequence[StudyCell]]]
    """Name with a note, and the cells of `columns`."""

    @property
    def shown(self) -> Table:
        """The table to write."""
        rows = ((TableCell(*name), tuple(cell.shown for cell in cells)) for name, cells in self.rows)
        return Table(tuple(TableCell(*column) for column in self.columns), tuple(rows), self.of)


@dataclass(frozen=True)
class Study:
    """A question and its answer."""

    title: str
    how_to_read: Sequence[str]
    """Paragraphs."""
    tables: Sequence[StudyTable]

    def section(self, anchor: str) -> Section:
        """A section of the report."""
        parts = [Section(each.title, tables=[each.shown], data=each.data) for each in self.tables]
        return Section(self.title, self.how_to_read, parts=parts, anchor=anchor)


def read_studies(runs: Path, data: Collection[str]) -> list[Study]:
    """The studies of a folder of runs, in the order of their names, with the tables of some datasets.

    Raises:
        ValueError: if a file is no study.
    """
    found = (_read(file) for file in sorted(runs.glob(_FILE.format("*"))))
    kept = (replace(study, tables=[each for each in study.tables if each.data in data]) for study in found)
    return [study for study in kept if study.tables]


def _read(file: Path) -> Study:
    about = read_object(file)
    try:
        return Study(about["title"], tuple(about["how_to_read"]), tuple(map(_table, about["tables"])))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is no study: expected a title, how_to_read and tables ({error!r})") from None


def _table(table: Mapping[str, Any]) -> StudyTable:
    rows = [((name, note), [StudyCell(**cell) for cell in cells]) for (name, note), cells in table["rows"]]
    columns = [(name, note) for name, note in table["columns"]]
    return StudyTable(table["data"], table["title"], table["of"], columns, rows)
