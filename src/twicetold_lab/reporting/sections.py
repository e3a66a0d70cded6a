"""Sections of one dataset, each a function over its leaderboard or its run folders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from twicetold_lab.reporting.glossary import describe, number, size
from twicetold_lab.reporting.leaderboard import Leaderboard
from twicetold_lab.reporting.tables import Section, Table, TableCell, amount, words
from twicetold_lab.runs.checks import CLEAR, NOT_CHECKED, check
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.runs.records import Provenance

COSTS = (
    "Size is that of the model folder. Memory and times were observed: a second measurement gives other ones, and "
    "those of two processors cannot be compared. Texts go from strings to vectors, many at once, and pairs to a score, "
    "on one thread. Training is the whole stage."
)
ELSEWHERE = (
    "Models that learnt, or have their threshold, from other data. A dash: the model has no vector for each text, or "
    "gives no verdict."
)
CHECKS = "Of each model's first seed; docs/guides/checks.md says what they mean."


def cost_section(board: Leaderboard, seconds: Mapping[str, float]) -> Section:
    """Return size, memory, speed and training of each model.

    Args:
        board: all models.
        seconds: that a cell's training took, by the cell's name; the mean over seeds is shown.
    """
    columns = (
        TableCell("Size"),
        TableCell("Memory", "peak"),
        TableCell("Texts a second"),
        TableCell("Milliseconds a pair", "median"),
        TableCell("Training", "seconds"),
    )
    lines = []
    for row in board.rows:
        cost = row.cost
        sizes = (cost.model_bytes, cost.peak_memory_bytes) if cost else (None, None)
        cells = [*(amount(each, size) for each in sizes), amount(row.texts_per_second)]
        cells += [amount(cost.pair_milliseconds_p50 if cost else None)]
        took = [seconds[run.cell.name] for run in row.runs if run.cell.name in seconds]
        cells += [amount(sum(took) / len(took) if took else None)]
        lines.append((row.name, tuple(cells)))
    processors = dict.fromkeys(row.cost.processor for row in board.rows if row.cost)
    notes = [f"Observed on {'; '.join(processors)}."] if processors else ["Size and speed are not measured yet."]
    table = Table(columns, tuple(lines))
    return Section("Cost and training", [COSTS], [table], notes=notes, is_folded=True, is_detail=True)


def cross_domain_sections(data: str, runs: Sequence[RunFolder]) -> list[Section]:
    """Return models that learnt on other data, on test of this dataset; empty if there are none."""
    used = [run for run in runs if run.cell.data != data and data in run.cross_domain]
    measured = dict.fromkeys(name for run in used for name in run.cross_domain[data].metrics)
    stems = ("average_precision", "pearson", "accuracy", "f1")
    names = [name for stem in stems for name in measured if describe(name).stem == stem]
    lines = []
    for run in used:
        results = run.cross_domain[data]
        cells = [
            replace(amount(results.metrics.get(name), number), interval=results.intervals.get(name)) for name in names
        ]
        source = "threshold alone" if run.is_untrained else ""
        lines.append((TableCell(run.cell.model), (words(run.cell.data, source), *cells)))
    table = Table((words("Learnt on"), *(TableCell(describe(name).label) for name in names)), tuple(lines))
    return [Section("Learnt on other data", [ELSEWHERE], [table], is_folded=True)] if lines else []


def checks_section(board: Leaderboard, about: Provenance) -> Section:
    """Return the numbered checks that found something, each once with its models; with the finding where it is one."""
    findings: dict[str, dict[str, list[str]]] = {}
    for row in board.rows:
        for outcome in check(replace(row.first, audit=about.audit)):
            if outcome.state not in (CLEAR, NOT_CHECKED):
                of_check = findings.setdefault(replace(outcome, detail="").line, {})
                of_check.setdefault(outcome.detail, []).append(row.model)
    facts = []
    for line, details in sorted(findings.items()):
        models = [model for each in details.values() for model in each]
        named = "all models" if len(models) == len(board.rows) > 1 else ", ".join(models)
        facts.append(f"{line}{f': {next(iter(details))}' if len(details) == 1 else ''} ({named})")
    return Section("Checks", [CHECKS], facts=facts or ["No check found anything."], is_folded=True)
