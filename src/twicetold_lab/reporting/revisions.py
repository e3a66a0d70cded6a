"""Changes of the published metrics between two revisions, from the files of the run folders in Git.

A metric of test has *moved outside its interval* if its new value is not within the 95 % interval that was stored with
the old one. The interval says how the value varies with the test examples. Two revisions have the same ones, so a
change within the interval may still be more than chance; what stands outside is worth a look first.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeAlias

from twicetold import layout
from twicetold.evaluation.intervals import Interval
from twicetold_lab.reporting.glossary import many, number
from twicetold_lab.reporting.tables import Section, Table, TableCell, TableRow, interval_text
from twicetold_lab.runs.records import intervals_of
from twicetold_lab.tracking.repository import commit_of, files_at

NOTE = (
    "Outside: the head's value is not within the base's own 95 % interval on test. Both revisions have the same test "
    "examples, so a change within the interval may be more than chance as well."
)
HEADS = tuple(map(TableCell, ("metric of test", "base", "its 95 % interval", "head", "difference")))
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

    @property
    def row(self) -> TableRow:
        """A row of the table."""
        texts = (self.metric, number(self.base), interval_text(self.interval), number(self.head))
        return TableCell(self.cell), tuple(map(TableCell, (*texts, f"{self.head - self.base:+.4f}")))


def compare_revisions(base: str, head: str) -> Section:
    """Compare the metrics of two revisions of the repository that this code is in.

    Args:
        base: a branch, a tag or a commit.
        head: another one.

    Returns:
        Counts, what moved outside its interval (the cells in order, the largest change of each first), and cells that
        one revision has alone.

    Raises:
        ValueError: if git does not know a revision, none of them has metrics, or a file is not what it should be.
    """
    old, new = map(_cells, (base, head))
    if not old and not new:
        raise ValueError(f"neither {base} nor {head} has metrics: expected runs/<cell>/{layout.METRICS} in one of them")
    same = sorted(old.keys() & new.keys())
    both = [(cell, name) for cell in same for name in sorted(old[cell].keys() & new[cell].keys())]
    values = [(cell, name, *old[cell][name], new[cell][name][0]) for cell, name in both]
    known = [
        Moved(cell, name.removeprefix("test/"), before, interval, after)
        for cell, name, before, interval, after in values
        if interval
    ]
    moved = [one for one in known if _differ(one.base, one.head)]
    outside = sorted((one for one in moved if one.is_outside), key=lambda one: (one.cell, -one.share))
    further = sum(_differ(before, after) for *_, before, interval, after in values if not interval)
    lost = sum(len(old[cell].keys() - new[cell].keys()) for cell in same)
    lists = {"new": sorted(new.keys() - old.keys()), "gone": sorted(old.keys() - new.keys())}
    counts = (
        f"{many(len(same), 'cell')} in both, {len(lists['new']):,} new, {len(lists['gone']):,} gone. Of "
        f"{many(len(known), 'metric')} of test with an interval, {len(moved):,} changed; so did {further:,} further "
        "values without one."
    )
    cells = many(len({one.cell for one in outside}), "cell")
    first = f"{many(len(outside), 'metric')} in {cells}" if outside else "No metric"
    lacking = [f"Of the cells in both, the head lacks {many(lost, 'value')} of the base."] if lost else []
    return Section(
        f"Metrics of {' and '.join(f'{name} ({commit_of(name)[:7]})' for name in (base, head))}",
        [f"{first} moved outside {'the' if outside else 'its'} interval.", counts, *lacking],
        tables=[Table(HEADS, tuple(one.row for one in outside), of="cell")] if outside else [],
        notes=[NOTE] if outside else [],
        parts=[Section(f"{many(len(of), 'cell')} {how}", facts=of, is_folded=True) for how, of in lists.items() if of],
    )


def _differ(before: float, after: float) -> bool:
    return before != after and not (math.isnan(before) and math.isnan(after))


def _cells(revision: str) -> dict[str, Values]:
    """The cells of a revision that have metrics."""
    files = files_at(revision, "runs", (layout.METRICS, layout.SUMMARY))
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
