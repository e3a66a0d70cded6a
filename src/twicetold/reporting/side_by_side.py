"""Any runs of one dataset side by side: what differs in their settings, and whether their results do.

The best run on validation is compared with each other one, or another run that is named. Where the runs scored the
same test pairs, the differences come with paired tests.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twicetold.evaluation.intervals import PairedTest
from twicetold.reporting.comparison import paired, paired_verdicts
from twicetold.reporting.glossary import describe, magnitude, number, ordered, probability
from twicetold.reporting.model_card import About
from twicetold.reporting.rendering import render
from twicetold.reporting.terminal import WIDTH, aligned, short_name, width_of
from twicetold.runs.records import SampledPairs

NOTE = (
    "Differences are of the first run minus the other, on the same test pairs: DeLong's test (AUROC), McNemar's test "
    "(accuracy), a bootstrap (correlations). Where pairs share texts, these are one unit of the tests, and accuracy is "
    "compared by Student's t, not by McNemar's test. The p-values are not corrected for the number of comparisons."
)
UNPAIRED = "No scores of pairs are kept for documents, so there is no paired test: compare the runs' own intervals."
SAME = "No setting that is known."
NOT_EVALUATED = "A dash under test: not evaluated; a sweep reads validation only."


@dataclass(frozen=True)
class Entry:
    """One run to compare."""

    name: str
    about: About
    settings: Mapping[str, Any]
    """Dotted key -> value, the family under `model`; empty if unknown."""
    scores: SampledPairs | None
    """Of the test pairs; None if it was not evaluated, and for documents."""

    @property
    def validation(self) -> float:
        """The primary metric on validation, NaN if unknown."""
        primary = self.about.primary or ""
        found = self.about.metrics.get("val", {}).get(primary, self.about.training.get("best_value"))
        return float("nan") if found is None else float(found)

    def test(self, metric: str) -> float:
        """A metric on test, NaN if there is none."""
        return self.about.metrics.get("test", {}).get(metric, float("nan"))

    def interval(self, metric: str) -> tuple[float, float] | None:
        """Ends of its 95 % interval on test."""
        return self.about.intervals.get(metric)


@dataclass(frozen=True)
class SideBySide:
    """Runs of one dataset, the one that the others are compared with first, these by validation."""

    data: str
    primary: str
    entries: tuple[Entry, ...]
    differing: Mapping[str, tuple[Any, ...]]
    """Key -> its value in each run, None where it is not set; keys of one value are left out."""
    tests: tuple[Mapping[str, PairedTest], ...]
    """Of each run: metric -> the first run minus this one."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are tested, or else the leading ones of test, the primary first."""
        tested = {name for found in self.tests for name in found}
        known = {name for entry in self.entries for name in entry.about.metrics.get("test", {})}
        shown = [name for name in ordered(known) if (name in tested if tested else describe(name).leads)]
        return tuple(dict.fromkeys([self.primary, *(name for name in shown if describe(name).is_quality)]))[:4]


def side_by_side(entries: Sequence[Entry], *, against: str | None = None) -> SideBySide:
    """Compare runs.

    Args:
        entries: two or more.
        against: name of the run that the others are compared with; None for the best on validation.

    Raises:
        ValueError: if there are fewer than two, they are of different data, or none is called `against`.
    """
    if len(entries) < 2:
        raise ValueError(f"expected two or more runs to compare, got {[entry.name for entry in entries]}")
    for what in ("data", "digest", "primary"):
        if len(found := {getattr(entry.about, what): entry.name for entry in entries}) > 1:
            (one, first), (other, second) = list(found.items())[:2]
            said = {"data": "on", "digest": "on a train split with digest", "primary": "by the metric"}[what]
            raise ValueError(
                f"{first} was trained {said} {one} and {second} {said} {other}: compare runs of the same data"
            )
    ranked = sorted(entries, key=lambda entry: (-_or_worst(entry.validation), entry.name))
    if against is not None:
        named = [entry for entry in ranked if entry.name == against]
        if not named:
            raise ValueError(f"no run is called {against!r}: expected one of {[entry.name for entry in ranked]}")
        ranked = [*named, *(entry for entry in ranked if entry.name != against)]
    primary = ranked[0].about.primary or ""
    return SideBySide(
        data=ranked[0].about.data or "",
        primary=primary,
        entries=tuple(ranked),
        differing=_differing([entry.settings for entry in ranked]),
        tests=tuple({} if entry is ranked[0] else _tests(ranked[0], entry, primary) for entry in ranked),
    )


def as_text(found: SideBySide) -> str:
    """The comparison for a terminal, at most 100 columns wide where names allow it."""
    heads, rows = _results(found)
    first, values = found.entries[0], [_or_worst(entry.validation) for entry in found.entries]
    order = "best on validation first" if values[0] == max(values) else f"{first.name}, then the others by validation"
    lines = [f"{found.data}: {describe(found.primary).label}, {len(found.entries)} runs, {order}", ""]
    lines += aligned(heads, rows)
    notes = [line for note in _notes(found) for line in textwrap.wrap(note, WIDTH)]
    lines += ["", *notes, "", "What differs between them:", *(_differences_as_text(found) or [SAME])]
    return "\n".join(lines) + "\n"


def as_page(found: SideBySide) -> str:
    """The comparison as one self-contained HTML page."""
    columns, results = _results(found)
    known = ordered({name for entry in found.entries for name in entry.about.metrics.get("test", {})})
    return render(
        "side_by_side.html.j2",
        data=found.data,
        names=[entry.name for entry in found.entries],
        columns=columns,
        results=results,
        notes=_notes(found),
        differing={key: map(_shown, values) for key, values in found.differing.items()},
        same=SAME,
        metrics={describe(m).label: [describe(m).show(e.test(m), 4) for e in found.entries] for m in known},
    )


def _tests(first: Entry, other: Entry, primary: str) -> dict[str, PairedTest]:
    """The paired tests that the scores of both allow.

    Raises:
        ValueError: if they were scored on different pairs.
    """
    one, two = first.scores, other.scores
    if one is None or two is None:
        return {}
    if not np.array_equal(one.label, two.label):
        raise ValueError(
            f"{first.name} and {other.name} were scored on different test pairs ({len(one):,} and {len(two):,}, or in "
            "another order): evaluate both again on the same data"
        )
    found = {primary: paired(primary, one, two)}
    if primary == "auroc":
        found["accuracy"] = paired_verdicts(one, two, (first.about.decisions.selected, other.about.decisions.selected))
    return {name: test for name, test in found.items() if test is not None}


def _differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Settings with several values; what some families alone have counts among runs of one family only."""
    keys = dict.fromkeys(["model", *(key for each in settings for key in each)])
    one_family = len({each.get("model") for each in settings}) == 1
    values = {key: tuple(each.get(key) for each in settings) for key in keys}
    return {
        key: found
        for key, found in values.items()
        if len({repr(value) for value in found if one_family or value is not None}) > 1
    }


def _results(found: SideBySide) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of results, as plain text."""
    tested = {name for tests in found.tests for name in tests}
    heads = ["run", "val"]
    rows = [[entry.name, number(entry.validation)] for entry in found.entries]
    for metric in found.metrics:
        heads.append(_head(metric, found.primary))
        for cells, entry in zip(rows, found.entries, strict=True):
            cells.append(describe(metric).show(entry.test(metric)))
        if metric in tested:
            heads += ["diff", "95 % interval", "p"]
            for cells, tests in zip(rows, found.tests, strict=True):
                cells += _test_cells(tests.get(metric))
        elif metric == found.primary:
            heads.append("95 % interval")
            for cells, entry in zip(rows, found.entries, strict=True):
                ends = entry.interval(metric)
                cells.append(f"{number(ends[0])} to {number(ends[1])}" if ends else "")
    return heads, rows


def _head(metric: str, primary: str) -> str:
    return "test" if metric == primary else short_name(metric)


def _test_cells(test: PairedTest | None) -> list[str]:
    if test is None:
        return ["", "", ""]
    p = "" if math.isnan(test.p_value) else probability(test.p_value)
    return [f"{test.difference:+.4f}", f"{test.low:+.3f} to {test.high:+.3f}", p]


def _notes(found: SideBySide) -> list[str]:
    notes = [NOTE] if any(found.tests) else []
    if not any(entry.scores is not None for entry in found.entries) and any(e.about.metrics for e in found.entries):
        notes.append(UNPAIRED)
    if any(not entry.about.metrics for entry in found.entries):
        notes.append(NOT_EVALUATED)
    if unknown := [entry.name for entry in found.entries if not entry.settings]:
        notes.append(f"No configuration was found of {', '.join(unknown)}: its settings are unknown.")
    return notes


def _differences_as_text(found: SideBySide) -> list[str]:
    """A table of keys by runs, in blocks of as many runs as fit beside each other."""
    lines: list[str] = []
    columns = [
        [entry.name, *(_shown(values[place]) for values in found.differing.values())]
        for place, entry in enumerate(found.entries)
    ]
    keys = ["", *found.differing]
    while columns and found.differing:
        block = [keys]
        while columns and (len(block) == 1 or sum(map(width_of, [*block, columns[0]])) + 2 * len(block) <= WIDTH):
            block.append(columns.pop(0))
        lines += ["", *aligned([cells[0] for cells in block], [list(cells) for cells in zip(*block, strict=True)][1:])]
    return lines[1:]


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return magnitude(value) if isinstance(value, float) and value not in (0.0, 1.0) else str(value)


def _or_worst(value: float) -> float:
    return -math.inf if math.isnan(value) else value
