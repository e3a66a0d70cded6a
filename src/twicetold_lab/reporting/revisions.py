"""Changes of the published metrics between two revisions, from the files of the run folders in Git.

A metric of test has *moved outside its interval* if its new value is not within the 95 % interval that was stored with
the old one. The interval says how the value varies with the test examples. Two revisions have the same ones, so a
change within the interval may still be more than chance; what stands outside is worth a look first.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from twicetold import layout
from twicetold_lab.reporting.glossary import number
from twicetold_lab.reporting.tables import Section, Table, TableCell, interval_text
from twicetold_lab.runs.records import intervals_of
from twicetold_lab.tracking.repository import commit_of, files_at

NOTE = (
    "Outside: the head's value is not within the base's own 95 % interval on test. Both revisions have the same test "
    "examples, so a change within the interval may be more than chance as well."
)


@dataclass(frozen=True)
class Moved:
    """A metric of test with another value than before."""

    cell: str
    metric: str
    base: float
    low: float
    high: float
    """Ends of the interval that was stored with the base's value."""
    head: float

    @property
    def outside(self) -> bool:
        """True if the new value is not within the old interval; a value that is no number any more is not."""
        return not self.low <= self.head <= self.high

    @property
    def share(self) -> float:
        """The change in half widths of the interval, towards the end that it goes to."""
        width = (self.high - self.base) if self.head > self.base else (self.base - self.low)
        return abs(self.head - self.base) / width if width > 0 else math.inf


@dataclass(frozen=True)
class Revisions:
    """The metrics of two revisions, compared."""

    base: str
    head: str
    """The names that were asked for."""
    commits: tuple[str, str]
    same: tuple[str, ...]
    """Cells that both have."""
    new: tuple[str, ...]
    gone: tuple[str, ...]
    measured: int
    """Metrics of test that both have and that have an interval in the base, of all cells that both have."""
    moved: tuple[Moved, ...]
    """Those with another value, by cell and metric."""
    without_interval: int
    """Further values, of validation say, that changed and have no interval."""
    lost: int = 0
    """Values of cells that both have which the head has no more."""

    @property
    def outside(self) -> tuple[Moved, ...]:
        """The metrics that moved outside their intervals."""
        return tuple(one for one in self.moved if one.outside)

    @property
    def within(self) -> tuple[tuple[str, int, Moved], ...]:
        """Cell, how many of its metrics changed within their intervals, and the one that did most."""
        cells: dict[str, list[Moved]] = {}
        for one in self.moved:
            if not one.outside:
                cells.setdefault(one.cell, []).append(one)
        return tuple((cell, len(moved), max(moved, key=lambda one: one.share)) for cell, moved in cells.items())


def compare_revisions(base: str, head: str, *, runs: str = "runs") -> Revisions:
    """Compare the metrics of two revisions of the repository that this code is in.

    Args:
        base: a branch, a tag or a commit.
        head: another one.
        runs: the folder of run folders, from the root of the repository.

    Raises:
        ValueError: if git does not know a revision, none of them has metrics, or a file is not what it should be.
    """
    old, new = (_cells(revision, runs) for revision in (base, head))
    if not old and not new:
        raise ValueError(
            f"neither {base} nor {head} has metrics: expected {runs}/<cell>/{layout.METRICS} in one of them"
        )
    same = sorted(old.keys() & new.keys())
    measured, without, lost, moved = 0, 0, 0, []
    for cell in same:
        one, other = old[cell], new[cell]
        lost += len(one.values.keys() - other.values.keys())
        for name in sorted(one.values.keys() & other.values.keys()):
            before, after = one.values[name], other.values[name]
            interval = one.intervals.get(name.removeprefix("test/")) if name.startswith("test/") else None
            changed = before != after and not (math.isnan(before) and math.isnan(after))
            measured += interval is not None
            if changed and interval is not None:
                moved.append(Moved(cell, name.removeprefix("test/"), before, *interval, after))
            without += changed and interval is None
    return Revisions(
        base,
        head,
        commits=(commit_of(base), commit_of(head)),
        same=tuple(same),
        new=tuple(sorted(new.keys() - old.keys())),
        gone=tuple(sorted(old.keys() - new.keys())),
        measured=measured,
        moved=tuple(moved),
        without_interval=without,
        lost=lost,
    )


def revisions_section(revisions: Revisions) -> Section:
    """The comparison: counts, what moved outside its interval, and the rest folded."""
    named = zip((revisions.base, revisions.head), revisions.commits, strict=True)
    parts = []
    if revisions.within:
        changed = sum(count for _, count, _ in revisions.within)
        title = f"{_many(changed, 'metric')} that changed within the interval"
        parts.append(Section(title, tables=[_within(revisions)], is_folded=True))
    for title, cells in (("new", revisions.new), ("gone", revisions.gone)):
        if cells:
            parts.append(Section(f"{_many(len(cells), 'cell')} {title}", facts=cells, is_folded=True))
    return Section(
        f"Metrics of {' and '.join(f'{name} ({commit[:7]})' for name, commit in named)}",
        _counts(revisions),
        tables=[_outside(revisions)] if revisions.outside else [],
        notes=[NOTE] if revisions.outside else [],
        parts=parts,
    )


@dataclass(frozen=True)
class _Cell:
    values: Mapping[str, float]
    """`<split>/<metric>` -> value."""
    intervals: Mapping[str, tuple[float, float]]
    """Metric of test -> ends of its interval."""


def _cells(revision: str, runs: str) -> dict[str, _Cell]:
    """The cells of a revision that have metrics."""
    files = files_at(revision, runs, (layout.METRICS, layout.SUMMARY))
    cells = {}
    for path, content in files.items():
        place = PurePath(path)
        if place.name != layout.METRICS:
            continue
        metrics = _read(revision, path, content)
        beside = f"{place.with_name(layout.SUMMARY)}"
        summary = _read(revision, beside, files.get(beside, b"{}"))
        try:
            values = {f"{split}/{name}": float(v) for split, each in metrics.items() for name, v in each.items()}
            intervals = intervals_of(summary)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} of {revision} holds something else than metrics and intervals: {error}"
            ) from error
        cells[place.parent.name] = _Cell(values, intervals)
    return cells


def _read(revision: str, path: str, content: bytes) -> dict[str, Any]:
    try:
        record = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path} of {revision} is no JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path} of {revision} must hold an object, got {type(record).__name__}")
    return record


def _counts(revisions: Revisions) -> list[str]:
    cells = len({one.cell for one in revisions.outside})
    first = (
        f"{_many(len(revisions.outside), 'metric')} in {_many(cells, 'cell')} moved outside the interval."
        if revisions.outside
        else "No metric moved outside its interval."
    )
    return [
        first,
        f"{_many(len(revisions.same), 'cell')} in both, {len(revisions.new):,} new, {len(revisions.gone):,} gone. Of "
        f"{_many(revisions.measured, 'metric')} of test with an interval, {len(revisions.moved):,} changed; so did "
        f"{revisions.without_interval:,} further values without one.",
        *(
            [f"Of the cells in both, the head lacks {_many(revisions.lost, 'value')} of the base."]
            if revisions.lost
            else []
        ),
    ]


def _outside(revisions: Revisions) -> Table:
    """The metrics that moved outside, the cells in order, the largest change of each first."""
    rows = sorted(revisions.outside, key=lambda one: (one.cell, -one.share))
    heads = ("metric of test", "base", "its 95 % interval", "head", "difference")
    cells = (
        (
            one.metric,
            number(one.base),
            interval_text((one.low, one.high)),
            number(one.head),
            f"{one.head - one.base:+.4f}",
        )
        for one in rows
    )
    return _texts(heads, zip((one.cell for one in rows), cells, strict=True))


def _within(revisions: Revisions) -> Table:
    """One row for each cell, the largest change first."""
    rows = sorted(revisions.within, key=lambda row: (-row[2].share, row[0]))
    heads = ("changed", "largest change", "metric of test", "of its interval's half width")
    cells = ((f"{n}", f"{m.head - m.base:+.4f}", m.metric, f"{m.share:.2f}") for _, n, m in rows)
    return _texts(heads, zip((cell for cell, *_ in rows), cells, strict=True))


def _texts(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> Table:
    """A table of cells that are numbers in words."""
    lines = ((TableCell(cell), tuple(map(TableCell, cells))) for cell, cells in rows)
    return Table(tuple(map(TableCell, heads)), tuple(lines), of="cell")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
