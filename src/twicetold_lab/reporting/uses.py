"""Tables of all models for each use of a dataset, the links of a dedupe, and families on the same terms."""

from collections.abc import Iterator, Mapping, Sequence

from twicetold_lab.reporting.glossary import describe, size
from twicetold_lab.reporting.leaderboard import DECIDE, DEDUPE, DEFAULT, SEARCH, Leaderboard, Row
from twicetold_lab.reporting.tables import Section, Table, TableCell, amount, command_cell, estimate_cell, words
from twicetold_lab.runs.folder import Cell

AIM = 0.9
"""The aimed precision of the table of links."""
OTHERS = {
    DEDUPE: ("text_average_precision{group}", "b3_average", "average_precision{group}", "ari_average", "auroc{group}"),
    SEARCH: ("retrieval_recall_at_10",),
    DECIDE: ("accuracy{group}", "f1{group}", "pearson", "spearman", "auroc{group}"),
}
"""Use -> metrics that stand beside its measure; of documents with the group that it is about."""
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
    f"Links are the pairs that reach the lowest threshold that had a precision of {AIM:g} on validation; a model "
    "without one is not listed. By text, each linked text counts once, by the share of its links that is right."
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
    has_cost: bool = True,
) -> Table:
    """Return rows with a measure, the paired difference to the first one, other metrics, and what each row costs.

    Args:
        rows: at least one; the first is what the others are compared with.
        measure: of test.
        board: of the dataset, for the highest value of each column.
        commands: that train cells; None: without a column of commands.
        others: further metrics.
        has_cost: whether size, speed and pretraining stand beside.
    """
    heads = [TableCell(describe(measure).label, "test"), TableCell("Difference", f"to {rows[0].model}")]
    heads += [TableCell(describe(name).label) for name in others]
    heads += [TableCell("Size"), TableCell("Texts a second"), words("Pretrained on these data")] if has_cost else []
    heads += [words("Command")] if commands is not None else []
    lines = []
    for row in rows:
        cells = [estimate_cell(measure, row.value(measure), top=board.top(measure), with_interval=True)]
        cells += [row.difference(rows[0], measure)]
        cells += [estimate_cell(name, row.value(name), top=board.top(name)) for name in others]
        if has_cost:
            cells += [amount(row.cost.model_bytes if row.cost else None, size), amount(row.texts_per_second)]
            cells += [words(row.first.exposure)]
        cells += [] if commands is None else [command_cell("" if row.after else commands.get(row.first.cell, ""))]
        lines.append((row.name, tuple(cells)))
    return Table(tuple(heads), tuple(lines))


def use_sections(board: Leaderboard, kind: str, commands: Mapping[Cell, str]) -> Iterator[Section]:
    """Yield all models for each use, the first use open and with what models cost; then the links of a dedupe.

    The command that trains a model stands in the first table that the model is in.
    """
    left = dict(commands)
    for place, (use, measure) in enumerate(board.uses.items()):
        group = f"_{board.duplicates}" if use == DEDUPE else measure.removeprefix(describe(measure).stem)
        others = [name for each in OTHERS[use] if (name := each.format(group=group)) in board.metrics]
        rows = board.ranked(measure)
        rows += [one for row in rows for one in row.with_answers] if use == DEDUPE else []
        rows.sort(key=lambda row: row.model != DEFAULT)  # the others stay in their order
        lower = [LOWER_BOUND] if use == DEDUPE and kind == "labelled_pairs" else []
        others = [name for name in others if name != measure]
        first = {row.first.cell: left.pop(row.first.cell) for row in rows if row.first.cell in left}
        table = comparison(rows, measure, board, commands=first or None, others=others, has_cost=not place)
        yield Section(f"{use}: all models", [HOW[use], *lower], [table], is_folded=bool(place))
    if DEDUPE in board.uses and (links := _links_table(board)):
        yield Section(f"{DEDUPE}: links at a precision of {AIM:g}", [LINKS], [links], is_folded=True)


def _links_table(board: Leaderboard) -> Table | None:
    """Return precision and recall on test of the links at `AIM`."""
    precision, *others = (f"link_{name}_at_{100 * AIM:g}" for name in ("precision", "text_precision", "recall"))
    columns = (TableCell("Precision", "test"), TableCell("Precision by text"), TableCell("Recall"))
    lines = []
    for row in board.rows:
        if estimate := row.value(precision):
            cells = (estimate_cell(name, row.value(name)) for name in others)
            lines.append((row.name, (estimate_cell(precision, estimate, with_interval=True), *cells)))
    return Table(columns, tuple(lines)) if lines else None


def terms_sections(board: Leaderboard, terms: Mapping[Cell, str], commands: Mapping[Cell, str]) -> Iterator[Section]:
    """Yield families on the same terms, by the experiment that chooses them."""
    for name in dict.fromkeys(terms[row.first.cell] for row in board.rows if row.first.cell in terms):
        rows = [row for row in board.rows if terms.get(row.first.cell) == name]
        pairs = f"average_precision_{board.duplicates}"
        measures = dict.fromkeys([*board.uses.values()] + [pairs] * (pairs in board.metrics))
        table = comparison(rows, next(iter(measures)), board, commands=commands, others=[*measures][1:])
        yield Section(f"On the same terms: {name}", [TERMS], [table], is_folded=True)
