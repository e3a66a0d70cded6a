"""Studies: questions that trainings beside the grid answer, as tables of RESULTS.md and of the report.

What came out is `study-<name>.json` in the folder of runs, which is in Git; tools/probe.py writes one.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from twicetold.files import write_json
from twicetold_lab.reporting.dedupe import DedupeTable, Shown
from twicetold_lab.reporting.glossary import count, number, share
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
    def shown(self) -> Shown:
        """Cell of a table; a dash if there is no number."""
        if self.value is None:
            return Shown("–")
        notes = [" to ".join(map(number, self.interval))] if self.interval else []
        notes += [] if self.deviation is None else [f"± {number(self.deviation)}"]
        return Shown(_FORMS[self.form](self.value), ", ".join(notes), self.value)


@dataclass(frozen=True)
class StudyTable:
    """One table of a study."""

    data: str
    """Dataset that its numbers are of."""
    title: str
    of: str
    """What the rows are."""
    columns: Sequence[tuple[str, str]]
    """Heads, each with a note."""
    rows: Sequence[tuple[tuple[str, str], Sequence[StudyCell]]]
    """Name with a note, and the cells of `columns`."""

    @property
    def shown(self) -> DedupeTable:
        """The table to write."""
        rows = ((Shown(*name), tuple(cell.shown for cell in cells)) for name, cells in self.rows)
        return DedupeTable(tuple(Shown(*column) for column in self.columns), tuple(rows), self.of)

    def numbers(self) -> Iterator[tuple[str, str, float, Sequence[float] | None]]:
        """Row, measure, value and interval of each number."""
        for name, cells in self.rows:
            for column, cell in zip(self.columns, cells, strict=True):
                measure = ", ".join(filter(None, column))
                if cell.value is not None:
                    yield name[0], measure, cell.value, cell.interval
                if cell.deviation is not None:
                    yield name[0], f"{measure}, standard deviation", cell.deviation, None


@dataclass(frozen=True)
class Study:
    """A question and its answer."""

    title: str
    how_to_read: Sequence[str]
    """Paragraphs."""
    tables: Sequence[StudyTable]


def write_study(study: Study, name: str, runs: Path) -> None:
    """Write a study to the folder of runs, in place of the former one of this name."""
    write_json(runs / _FILE.format(name), asdict(study))


def read_studies(runs: Path, data: Collection[str]) -> list[Study]:
    """The studies of a folder of runs, in the order of their names, with the tables of some datasets.

    Raises:
        ValueError: if a file is not one that `write_study` writes.
    """
    found = (_read(file) for file in sorted(runs.glob(_FILE.format("*"))))
    kept = (replace(study, tables=[each for each in study.tables if each.data in data]) for study in found)
    return [study for study in kept if study.tables]


def read_study(name: str, runs: Path) -> Study | None:
    """One study, with all tables; None if it is not there. Errors: `read_studies`."""
    file = runs / _FILE.format(name)
    return _read(file) if file.is_file() else None


def _read(file: Path) -> Study:
    about = read_object(file)
    try:
        return Study(about["title"], tuple(about["how_to_read"]), tuple(map(_table, about["tables"])))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is no study: expected a title, how_to_read and tables ({error!r})") from None


def _table(found: Mapping[str, Any]) -> StudyTable:
    rows = [((name, note), [StudyCell(**cell) for cell in cells]) for (name, note), cells in found["rows"]]
    columns = [(name, note) for name, note in found["columns"]]
    return StudyTable(found["data"], found["title"], found["of"], columns, rows)
