"""Changes of the published metrics between two revisions, from the files of the run folders in Git.

A metric of test has *moved outside its interval* if its new value is not within the 95 % interval that was stored with
the old one. The interval says how the value varies with the test examples. Two revisions have the same ones, so a
change within the interval may still be more than chance; what stands outside is worth a look first.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeAlias

from twicetold import layout
from twicetold.evaluation.intervals import Interval
from twicetold_lab.reporting.glossary import many, number
from twicetold_lab.reporting.tables import Section, Table, TableCell, interval_text
from twicetold_lab.runs.records import intervals_of
from twicetold_lab.tracking.repository import commit_of, files_at

NOTE = (
    "Outside: the head's value is not within the base's own 95 % interval on test. Both revisions have the same test "
    "examples, so a change within the interval may be more than chance as well."
)
Values: TypeAlias = Mapping[str, tuple[float, Interval | None]]
"""`<split>/<metric>` of a cell -> value, and its interval."""


@dataclass(frozen=True)
class Moved:
    """A metric of test with another value than before."""

    cell: str
    metric: str
    base: float
    interval: Interval
    """Stored with the base's value."""
    head: float

    @property
    def is_outside(self) -> bool:
        """True if the new value is not within the old interval; a value that is no number any more is not."""
        return not self.interval[0] <= self.head <= self.interval[1]

    @property
    def share(self) -> float:
        """The change in half widths of the interval, towards the end that it goes to."""
        width = abs(self.interval[self.head > self.base] - self.base)
        return abs(self.head - self.base) / width if width > 0 else math.inf


def compare_revisions(base: str, head: str, *, runs: str = "runs") -> Section:
    """Compare the metrics of two revisions of the repository that this code is in.

    Args:
        base: a branch, a tag or a commit.
        head: another one.
        runs: the folder of run folders, from the root of the repository.

    Returns:
        Counts, what moved outside its interval, and the rest folded.

    Raises:
        ValueError: if git does not know a revision, none of them has metrics, or a file is not what it should be.
    """
    old, new = (_cells(revision, runs) for revision in (base, head))
    if not old and not new:
        raise ValueError(f"neither {base} nor {head} has metrics: expected runs/<cell>/{layout.METRICS} in one of them")
    same, moved, without, measured, lost = sorted(old.keys() & new.keys()), [], 0, 0, 0
    for cell in same:
        lost += len(old[cell].keys() - new[cell].keys())
        for name in sorted(old[cell].keys() & new[cell].keys()):
            (before, interval), (after, _) = old[cell][name], new[cell][name]
            measured += interval is not None
            if before != after and not (math.isnan(before) and math.isnan(after)):
                without += interval is None
                moved += [Moved(cell, name.removeprefix("test/"), before, interval, after)] if interval else []
    outside = sorted((one for one in moved if one.is_outside), key=lambda one: (one.cell, -one.share))
    appeared, gone = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    named = (f"{name} ({commit_of(name)[:7]})" for name in (base, head))
    counts = (
        f"{many(len(same), 'cell')} in both, {len(appeared):,} new, {len(gone):,} gone. Of {many(measured, 'metric')} "
        f"of test with an interval, {len(moved):,} changed; so did {without:,} further values without one."
    )
    lacking = [f"Of the cells in both, the head lacks {many(lost, 'value')} of the base."] if lost else []
    lists = (("new", appeared), ("gone", gone))
    return Section(
        f"Metrics of {' and '.join(named)}",
        [_first(outside), counts, *lacking],
        tables=[_outside_table(outside)] if outside else [],
        notes=[NOTE] if outside else [],
        parts=[
            *_within([one for one in moved if not one.is_outside]),
            *(
                Section(f"{many(len(cells), 'cell')} {how}", facts=cells, is_folded=True)
                for how, cells in lists
                if cells
            ),
        ],
    )


def _first(outside: list[Moved]) -> str:
    cells = len({one.cell for one in outside})
    if not outside:
        return "No metric moved outside its interval."
    return f"{many(len(outside), 'metric')} in {many(cells, 'cell')} moved outside the interval."


def _outside_table(outside: list[Moved]) -> Table:
    """The metrics that moved outside, the cells in order, the largest change of each first."""
    heads = ("metric of test", "base", "its 95 % interval", "head", "difference")
    rows = [
        (one.cell, one.metric, number(one.base), interval_text(one.interval), number(one.head), f"{_change(one)}")
        for one in outside
    ]
    return _texts(heads, rows)


def _within(moved: list[Moved]) -> list[Section]:
    """One row for each cell with metrics that changed within their intervals, the largest change first."""
    cells: dict[str, list[Moved]] = {}
    for one in moved:
        cells.setdefault(one.cell, []).append(one)
    most = {cell: max(of_cell, key=lambda one: one.share) for cell, of_cell in cells.items()}
    heads = ("changed", "largest change", "metric of test", "of its interval's half width")
    rows = [
        (cell, f"{len(cells[cell])}", _change(one), one.metric, f"{one.share:.2f}")
        for cell, one in sorted(most.items(), key=lambda row: (-row[1].share, row[0]))
    ]
    title = f"{many(len(moved), 'metric')} that changed within the interval"
    return [Section(title, tables=[_texts(heads, rows)], is_folded=True)] if rows else []


def _change(one: Moved) -> str:
    return f"{one.head - one.base:+.4f}"


def _texts(heads: tuple[str, ...], rows: Sequence[Sequence[str]]) -> Table:
    """A table of cells that are numbers in words."""
    lines = tuple((TableCell(cell), tuple(map(TableCell, cells))) for cell, *cells in rows)
    return Table(tuple(map(TableCell, heads)), lines, of="cell")


def _cells(revision: str, runs: str) -> dict[str, Values]:
    """The cells of a revision that have metrics."""
    files = files_at(revision, runs, (layout.METRICS, layout.SUMMARY))
    cells: dict[str, Values] = {}
    for path in (PurePath(path) for path in files):
        if path.name != layout.METRICS:
            continue
        metrics, summary = (_read(revision, f"{path.with_name(name)}", files) for name in (path.name, layout.SUMMARY))
        try:
            ends = {f"test/{name}": interval for name, interval in intervals_of(summary).items()}
            values = {f"{split}/{name}": float(v) for split, each in metrics.items() for name, v in each.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} of {revision} holds something else than metrics and intervals: {error}"
            ) from error
        cells[path.parent.name] = {name: (value, ends.get(name)) for name, value in values.items()}
    return cells


def _read(revision: str, path: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        record = json.loads(files.get(path, b"{}"))
    except ValueError as error:
        raise ValueError(f"{path} of {revision} is no JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path} of {revision} must hold an object, got {type(record).__name__}")
    return record
