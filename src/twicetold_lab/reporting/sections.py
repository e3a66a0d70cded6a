"""Sections of one dataset, each a function over its leaderboard or its run folders; None where nothing was measured."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from twicetold.evaluation.intervals import Interval
from twicetold.evaluation.thresholds import TARGETS
from twicetold_lab.evaluation.operating_points import OperatingPoint
from twicetold_lab.reporting.glossary import count, describe, number, share, size
from twicetold_lab.reporting.leaderboard import DECIDE, DEDUPE, SEARCH, Leaderboard, Row, best_rule, cheapest
from twicetold_lab.reporting.tables import (
    MISSING,
    NOTHING,
    Section,
    Table,
    TableCell,
    amount,
    command_cell,
    estimate_cell,
    interval_text,
    words,
)
from twicetold_lab.runs.checks import CLEAR, NOT_CHECKED, check
from twicetold_lab.runs.folder import Cell, RunFolder
from twicetold_lab.runs.records import Provenance, read_object
from twicetold_lab.scoring.cost import MANY

AIM = 0.9
"""The aimed precision of the table of links."""
PRIORS = (0.1, 0.01)
"""Shares of pairs that say the same for which precision is given as well."""
STEMS = {
    DEDUPE: ("text_average_precision", "b3", "average_precision", "ari", "pair_f1", "auroc"),
    SEARCH: ("retrieval_ndcg_at", "retrieval_mrr_at", "retrieval_recall_at", "index_agreement_at"),
    DECIDE: ("accuracy", "f1", "mcc", "pearson", "spearman", "auroc", "average_precision", "brier", "threshold"),
}
"""Use -> stems of the metrics that stand beside its measure."""
HOW = {
    DEDUPE: "Texts are compared with every other one. Groups are by average linkage; thresholds are of validation.",
    SEARCH: "Each test text that has another of its group (or each of a sample) is looked for among all texts of the "
    "corpus. The search is exact.",
    DECIDE: "Each model answers about a pair by the threshold that was chosen on validation.",
}
CONTRAST = 0.05
"""Least difference between shares in a column of a study."""
LOWER_BOUND = (
    "Not every duplicate is labelled. A pair without a label may be one, and counts as wrong, so precision, average "
    "precision and the measures of groups are lower bounds here."
)
LINKS = (
    f"Links are the pairs that reach a threshold: the lowest one that had a precision of {AIM:g} on validation. Shown "
    "is the precision promised by validation → that on test. By text, each linked text counts once, by the share of "
    "its links that is right. A dash: no threshold reached the aim; beside it is the highest precision that one did."
)
POINTS = (
    "Where the threshold can be set. Each is chosen on validation; all other columns are about test. Precision depends "
    "on how many pairs say the same; the last columns have it for other shares."
)
COSTS = (
    "Size is that of the model folder. Memory and times were observed: a second measurement gives other ones, and "
    "those of two processors cannot be compared. Texts go from strings to vectors, and pairs from strings to a score, "
    "on one thread. Training is the whole stage."
)
ELSEWHERE = (
    "Models that learnt, or have their threshold, from other data. A dash: the model has no vector for each text, or "
    "gives no verdict."
)
TERMS = (
    "One objective, one kind of examples and one number of epochs for all; features, encoder, optimizer and learning "
    "rate are those of each family's recipe."
)
CHECKS = (
    "What the figures do not say by themselves, for each model's first seed. An error: a figure does not hold for new "
    "texts. A warning: it holds under a condition. A note: a comparison is uneven."
)


def comparison(
    rows: Sequence[Row],
    measure: str,
    board: Leaderboard,
    *,
    commands: Mapping[Cell, str] | None = None,
    others: Sequence[str] = (),
) -> Table:
    """Rows with a measure, the paired difference to the first one, other metrics, and what each row costs.

    Args:
        rows: at least one; the first is what the others are compared with.
        measure: of test.
        board: of the dataset, for the highest value of each column.
        commands: that train cells; None: without a column of commands.
        others: further metrics.
    """
    heads = [TableCell(describe(measure).label, "test"), TableCell("Difference", f"to {rows[0].model}")]
    heads += [TableCell(describe(name).label) for name in others]
    heads += [TableCell("Size"), TableCell("Texts a second"), words("Pretrained on these data")]
    heads += [words("Command")] if commands is not None else []
    lines = []
    for row in rows:
        cells = [estimate_cell(measure, row.value(measure), top=board.top(measure), with_interval=True)]
        cells += [row.difference(rows[0], measure)]
        cells += [estimate_cell(name, row.value(name), top=board.top(name)) for name in others]
        cells += [amount(row.cost.model_bytes if row.cost else None, size), amount(row.texts_per_second)]
        cells += [words(row.first.exposure)]
        cells += [] if commands is None else [command_cell(commands.get(row.first.cell, ""))]
        lines.append((row.name, tuple(cells)))
    return Table(tuple(heads), tuple(lines))


def use_sections(
    board: Leaderboard, uses: Sequence[str], kind: str, peers: Mapping[str, Sequence[float]]
) -> Iterator[Section]:
    """All models for each use, the first use open; then the links of a dedupe."""
    for place, use in enumerate(uses):
        measure = board.uses[use]
        others = [name for stem in STEMS[use] for name in board.metrics if describe(name).stem == stem]
        if use == DEDUPE:
            groups = (board.duplicates or "", "average", "")
            others = [name for name in others if describe(name).group in groups and name != "ari_average"]
        rows = board.ranked(measure)
        rows += [one for row in rows for one in row.with_answers] if use == DEDUPE else []
        lower = [LOWER_BOUND] if use == DEDUPE and kind == "labelled_pairs" else []
        table = comparison(rows, measure, board, others=[name for name in others if name != measure])
        notes = _peers_note(peers) if use == DEDUPE else []
        yield Section(f"{use}: all models", [HOW[use], *lower], [table], notes=notes, is_folded=bool(place))
    if DEDUPE in uses and (links := _links_table(board)):
        yield Section(f"{DEDUPE}: links at a precision of {AIM:g}", [LINKS], [links], is_folded=True)


def _peers_note(peers: Mapping[str, Sequence[float]]) -> list[str]:
    """A sentence on other libraries, each with the lowest and the highest value of its settings."""
    ranges = [f"{name} {number(min(each))} to {number(max(each))}" for name, each in peers.items()]
    return [f"B-cubed of other libraries' groups, by their settings: {', '.join(ranges)}."] if ranges else []


def _links_table(board: Leaderboard) -> Table | None:
    """Links at `AIM`, and the rule of grouping that was best on validation."""
    precision, *others = (f"link_{name}_at_{100 * AIM:g}" for name in ("precision", "text_precision", "recall", "ari"))
    rows = [row for row in board.rows if any(row.value(f"link_precision_at_{100 * aim:g}", "val") for aim in TARGETS)]
    columns = (
        TableCell("Precision", "validation → test"),
        TableCell("Precision by text"),
        TableCell("Recall"),
        TableCell("ARI", "components"),
        words("Best rule", "on validation"),
        TableCell("ARI", "best rule"),
    )
    lines = []
    for row in rows:
        promised, kept = row.value(precision, "val"), row.value(precision)
        cell = estimate_cell(precision, kept, with_interval=True)
        if promised:
            before = number(promised.mean)
            cell = replace(cell, text=f"{before} → {cell.text}") if kept else TableCell(NOTHING, f"highest {before}")
        cells = [estimate_cell(name, row.value(name)) for name in others]
        agreed = estimate_cell("ari", row.value("ari"), with_interval=True)
        lines.append((row.name, (cell, *cells, words(best_rule(row.metrics) or ""), agreed)))
    return Table(columns, tuple(lines)) if lines else None


def terms_sections(board: Leaderboard, terms: Mapping[Cell, str], uses: Sequence[str]) -> Iterator[Section]:
    """Families on the same terms, by the experiment that chooses them."""
    for name in dict.fromkeys(terms[row.first.cell] for row in board.rows if row.first.cell in terms):
        rows = [row for row in board.rows if terms.get(row.first.cell) == name]
        pairs = f"average_precision_{board.duplicates}"
        measures = dict.fromkeys([board.uses[use] for use in uses] + [pairs] * (pairs in board.metrics))
        table = comparison(rows, next(iter(measures)), board, others=[*measures][1:])
        yield Section(f"On the same terms: {name}", [TERMS], [table], is_folded=True)


def points_section(rows: Sequence[Row]) -> Section | None:
    """A row for each model and operating point of labelled pairs, of the first seed."""
    lines = [(TableCell(row.model, point.name), _point_cells(point)) for row in rows for point in row.first.points]
    columns = (
        TableCell("Threshold", "validation"),
        TableCell("Probability", "at the threshold"),
        TableCell("Precision"),
        TableCell("Recall"),
        TableCell("Flagged", "share of pairs"),
        TableCell("Errors", "per 1,000 pairs"),
        *(TableCell("Precision", f"if {prior:.0%} say the same") for prior in PRIORS),
    )
    return Section("Operating points", [POINTS], [Table(columns, tuple(lines))], is_folded=True) if lines else None


def _point_cells(point: OperatingPoint) -> tuple[TableCell, ...]:
    if point.threshold is None or point.test is None or point.probability is None:
        return (TableCell(NOTHING, "not reached on validation"), *[MISSING] * (5 + len(PRIORS)))
    test, intervals = point.test, point.test.intervals
    errors = interval_text(tuple(1000 * end for end in intervals["errors"]), ".0f")  # type: ignore[arg-type]
    return (
        amount(point.threshold),
        amount(point.probability, share),
        _measured(test.precision, intervals.get("precision")),
        _measured(test.recall, intervals.get("recall")),
        amount(test.flagged, share),
        TableCell(f"{1000 * test.errors:.0f}", errors, test.errors),
        *(_measured(point.precision_under(prior)) for prior in PRIORS),
    )


def _measured(value: float | None, interval: Interval | None = None, note: str = "") -> TableCell:
    return MISSING if value is None else TableCell(number(value), note, value, interval)


def cost_section(board: Leaderboard, seconds: Mapping[str, float], commands: Mapping[Cell, str]) -> Section:
    """Size, memory, speed and training of each model, its run folders and the command that trains the first.

    Args:
        board: all models.
        seconds: that a cell's training took, by the cell's name; the mean over seeds is shown.
        commands: that train cells.
    """
    columns = (
        TableCell("Size", "as trained"),
        TableCell("Size", "8 bits"),
        TableCell("Memory", "peak"),
        TableCell("Texts a second", f"{MANY} at once"),
        TableCell("Texts a second", "one by one"),
        TableCell("Milliseconds a pair", "median"),
        TableCell("Parameters"),
        TableCell("Epochs"),
        TableCell("Training", "seconds"),
        words("Tuned"),
        words("Runs", "folders in runs/"),
        words("Command", "of the first"),
    )
    lines = []
    for row in board.rows:
        cost, first = row.cost, row.first
        sizes = (cost.model_bytes, cost.model_bytes_8_bits, cost.peak_memory_bytes) if cost else (None,) * 3
        speeds = (cost.texts_per_second_256, cost.texts_per_second_1, cost.pair_milliseconds_p50) if cost else ()
        cells = [*(amount(each, size) for each in sizes), *(amount(each) for each in speeds or (None,) * 3)]
        cells += [amount(first.parameters or None, count), amount(first.epochs or None, count)]
        cells += [amount(training_seconds(row, seconds)), words(first.tuned_how or "")]
        cells += [words(", ".join(run.cell.name for run in row.runs)), command_cell(commands.get(first.cell, ""))]
        lines.append((row.name, tuple(cells)))
    processors = dict.fromkeys(row.cost.processor for row in board.rows if row.cost)
    notes = [f"Observed on {'; '.join(processors)}."] if processors else ["Size and speed are not measured yet."]
    table = Table(columns, tuple(lines)).known
    return Section("Cost and training", [COSTS], [table], notes=notes, is_folded=True)


def training_seconds(row: Row, seconds: Mapping[str, float]) -> float | None:
    """Seconds of training, averaged over those seeds of which they are known."""
    known = [seconds[run.cell.name] for run in row.runs if run.cell.name in seconds]
    return sum(known) / len(known) if known else None


def cross_domain_section(data: str, runs: Sequence[RunFolder]) -> Section | None:
    """Models that learnt on other data, on test of this dataset."""
    used = [run for run in runs if run.cell.data != data and data in run.cross_domain]
    measured = dict.fromkeys(name for run in used for name in run.cross_domain[data].metrics)
    stems = ("average_precision", "pearson", "accuracy", "f1")
    names = [name for stem in stems for name in measured if describe(name).stem == stem]
    lines = []
    for run in used:
        results = run.cross_domain[data]
        cells = [_measured(results.metrics.get(name), results.intervals.get(name)) for name in names]
        source = "threshold alone" if run.is_untrained else ""
        lines.append((TableCell(run.cell.model), (words(run.cell.data, source), *cells)))
    table = Table((words("Learnt on"), *(TableCell(describe(name).label) for name in names)), tuple(lines))
    return Section("Learnt on other data", [ELSEWHERE], [table], is_folded=True) if lines else None


def study_sections(runs: Path, data: str) -> Iterator[Section]:
    """Tables of this dataset in the files `study-<name>.json` of the folder of runs.

    Raises:
        ValueError: if a file is no study.
    """
    forms = {"number": number, "difference": lambda value: f"{value:+.3f}", "count": count, "share": share}
    for file in sorted(runs.glob("study-*.json")):
        about = read_object(file)
        try:
            for table in (each for each in about["tables"] if each["data"] == data):
                lines = tuple(
                    (TableCell(*name), tuple(_study_cell(forms, **cell) for cell in cells))
                    for name, cells in table["rows"]
                )
                shown = Table(tuple(TableCell(*head) for head in table["columns"]), lines, table["of"])
                title = ": ".join(dict.fromkeys((about["title"], table["title"].removeprefix(f"{about['title']}: "))))
                yield Section(title, about["how_to_read"], [_contrasting(shown)], is_folded=True)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{file} is no study: expected a title, how_to_read and tables ({error!r})") from None


def _contrasting(table: Table) -> Table:
    """The columns but those of shares in which no two rows differ by `CONTRAST`."""
    keep = []
    for place in range(len(table.columns)):
        cells = [cells[place] for _, cells in table.rows]
        values = [cell.value for cell in cells if cell.value is not None and not math.isnan(cell.value)]
        shares = all(cell.text.endswith("%") for cell in cells)
        if not shares or not values or max(values) - min(values) >= CONTRAST:
            keep.append(place)
    return table.with_columns(keep)


def _study_cell(
    forms: Mapping[str, Any],
    *,
    value: float | None = None,
    form: str = "number",
    deviation: float | None = None,
    interval: Sequence[float] | None = None,
) -> TableCell:
    if value is None:
        return MISSING
    note = "" if deviation is None else f"± {number(deviation)}"
    return TableCell(forms[form](value), note, value, (interval[0], interval[1]) if interval else None)


def checks_section(board: Leaderboard, about: Provenance) -> Section:
    """The findings of the numbered checks, each with its models."""
    findings: dict[str, list[str]] = {}
    for row in board.rows:
        for outcome in check(replace(row.first, audit=about.audit)):
            if outcome.state not in (CLEAR, NOT_CHECKED):
                findings.setdefault(outcome.line, []).append(row.model)
    facts = [f"{line} ({', '.join(models)})" for line, models in sorted(findings.items())]
    return Section("Checks", [CHECKS], facts=facts or ["No check found anything."], is_folded=True)


def named_rows(board: Leaderboard, measure: str) -> list[Row]:
    """The best on validation, and the cheapest that is not worse."""
    best, *others = board.ranked(measure)
    cheap = cheapest([best, *(row for row in others if row.is_not_worse(best, measure))])
    return [best] if cheap is best else [best, cheap]


def glossary_section(board: Leaderboard) -> Section:
    """The metrics of a leaderboard."""
    entries = dict.fromkeys(describe(name).entry for name in board.metrics)
    facts = [(metric.label, metric.meaning) for metric in map(describe, entries) if metric.meaning]
    return Section("Glossary", facts=facts, is_folded=True)
