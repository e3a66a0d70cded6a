"""Tables of all models for each use of a dataset, the links of a dedupe, shared terms and operating points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from twicetold.evaluation.thresholds import TARGETS
from twicetold_lab.evaluation.operating_points import OperatingPoint
from twicetold_lab.reporting.glossary import describe, number, share, size
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
    measured_cell,
    words,
)
from twicetold_lab.runs.folder import Cell

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
TERMS = (
    "One objective, one kind of examples and one number of epochs for all; features, encoder, optimizer and learning "
    "rate are those of each family's recipe."
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


def use_sections(board: Leaderboard, kind: str, peers: Mapping[str, Sequence[float]]) -> Iterator[Section]:
    """All models for each use, the first use open; then the links of a dedupe."""
    for place, (use, measure) in enumerate(board.uses.items()):
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
    if DEDUPE in board.uses and (links := _links_table(board)):
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


def terms_sections(board: Leaderboard, terms: Mapping[Cell, str]) -> Iterator[Section]:
    """Families on the same terms, by the experiment that chooses them."""
    for name in dict.fromkeys(terms[row.first.cell] for row in board.rows if row.first.cell in terms):
        rows = [row for row in board.rows if terms.get(row.first.cell) == name]
        pairs = f"average_precision_{board.duplicates}"
        measures = dict.fromkeys([*board.uses.values()] + [pairs] * (pairs in board.metrics))
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
        measured_cell(test.precision, intervals.get("precision")),
        measured_cell(test.recall, intervals.get("recall")),
        amount(test.flagged, share),
        TableCell(f"{1000 * test.errors:.0f}", errors, test.errors),
        *(measured_cell(point.precision_under(prior)) for prior in PRIORS),
    )


def named_rows(board: Leaderboard, measure: str) -> list[Row]:
    """The best on validation, and the cheapest that is not worse."""
    best, *others = board.ranked(measure)
    cheap = cheapest([best, *(row for row in others if row.is_not_worse(best, measure))])
    return [best] if cheap is best else [best, cheap]
