"""Quality of a dedupe: links at an aimed precision and groups on test, and the precision promised for them.

Thresholds and the rule of grouping come from validation (`evaluation.thresholds`), and so does the order of the models.
Peers, which are other libraries, stand below the models.
"""

from collections.abc import Sequence
from dataclasses import replace

from twicetold.evaluation.thresholds import TARGETS
from twicetold_lab.reporting.glossary import describe, magnitude
from twicetold_lab.reporting.leaderboard import Leaderboard, Row, best_rule, or_worst
from twicetold_lab.reporting.tables import NOTHING, Estimate, Metrics, Section, Table, TableCell, estimate_cell, words
from twicetold_lab.runs.records import Peer

AIM = 0.9
"""The aimed precision of the table."""
GROUPS = ("ari", "b3", "pair_f1")
"""Measures of groups."""
HOW_TO_READ = (
    "A dedupe compares every text with every other one, and one pair in a hundred to one in a million says the same. "
    "AUROC flatters there. If one pair in ten thousand says the same, and one in a thousand of the others scores "
    "higher than these, AUROC is 0.999, and ten of the eleven pairs at the top are wrong. Average precision and the "
    "precision of links count them.",
    "Links are the pairs that reach a threshold: the lowest one that had the aimed precision on validation. Its "
    "precision is shown as promised by validation → kept on test, with a 95 % interval that resamples whole groups. By "
    "text, each linked text counts once, by the share of its links that is right; by pair, large groups decide. A dash "
    "means that no threshold reached the aim; beside it is the highest precision that one did.",
    "Groups follow from links by a rule: components joins every chain of links, complete and average linkage ask for "
    "more. The best rule, and the threshold of each, have the highest ARI on validation. The intervals of ARI, B-cubed "
    "and pairwise F1 leave whole groups out. Rows are ordered by average precision on validation. A precision "
    "holds for as many texts as validation has: with more texts, each has more false links.",
)
"""Paragraphs that hold on every dataset."""
LOWER_BOUND = (
    "Not every duplicate is labelled. A pair without a label may be one, and counts as wrong, so precision, average "
    "precision and ARI are lower bounds here."
)


def link_metric(measure: str, aim: float) -> str:
    """Name of a metric of the links at the threshold for an aimed precision: `link_recall_at_90`.

    Args:
        measure: precision, text_precision, recall or ari.
        aim: the precision.
    """
    return f"link_{measure}_at_{100 * aim:g}"


def dedupe_section(board: Leaderboard, kind: str, peers: Sequence[Peer]) -> Section | None:
    """The quality of a dedupe by each model; None if no model was measured.

    Args:
        board: all models.
        kind: of data; not every duplicate of labelled pairs is labelled.
        peers: on the same dataset.
    """
    measured = [row for row in board.rows if _is_measured(row.metrics)]
    if not measured:
        return None
    average = f"average_precision_{board.duplicates}"
    measured.sort(key=lambda row: -or_worst(row.metrics["val"].get(average)))
    named: list[tuple[TableCell, Metrics]] = [(row.name, row.metrics) for row in measured]
    named += [(TableCell(peer.name, f"peer {i}"), _metrics_of(peer)) for i, peer in enumerate(peers, start=1)]
    sentences = [LOWER_BOUND] if kind == "labelled_pairs" else []
    return Section("Dedupe", sentences, tables=[_table(named, board.duplicates)], notes=_notes(board, measured, peers))


def _is_measured(metrics: Metrics) -> bool:
    return best_rule(metrics) is not None or any(link_metric("precision", aim) in metrics["val"] for aim in TARGETS)


def _metrics_of(peer: Peer) -> Metrics:
    return {"val": {}, "test": {n: Estimate(value, None, peer.intervals.get(n)) for n, value in peer.metrics.items()}}


def _table(named: Sequence[tuple[TableCell, Metrics]], group: str | None) -> Table:
    """Average precision, links at `AIM` and groups by the best rule; AUROC where a model has it."""
    auroc, average = f"auroc_{group}", f"average_precision_{group}"
    columns = (
        TableCell("AUROC", "all pairs"),
        TableCell("Average precision", "all pairs"),
        TableCell(f"Precision, aimed at {AIM:g}", "promised → kept"),
        TableCell("Precision by text", f"at {AIM:g}"),
        TableCell("Recall", f"at {AIM:g}"),
        TableCell("ARI", f"components at {AIM:g}"),
        words("Best rule", "on validation"),
        *(TableCell(describe(stem).label, "best rule") for stem in GROUPS),
    )
    rows = []
    for name, metrics in named:
        test, rule = metrics["test"], best_rule(metrics)
        cells = [estimate_cell("auroc", test.get(auroc))]
        cells += [estimate_cell(average, test.get(average), with_interval=True), *_link_cells(metrics)]
        cells += [words(rule or "")]
        cells += [
            estimate_cell(stem, test.get(f"{stem}_{rule}" if rule else stem), with_interval=True) for stem in GROUPS
        ]
        rows.append((name, tuple(cells)))
    table = Table(columns, tuple(rows))
    ranked = any(auroc in metrics["test"] for _, metrics in named)  # of labelled pairs it may not be known
    return table if ranked else table.with_columns(range(1, len(columns)))


def _link_cells(metrics: Metrics) -> list[TableCell]:
    """Precision by pair and by text, recall and ARI of links at the threshold for the aimed precision.

    A peer without that aim has links at its own threshold.
    """
    val, test = metrics["val"], metrics["test"]
    precision, *others = (link_metric(measure, AIM) for measure in ("precision", "text_precision", "recall", "ari"))
    if not val and precision not in test and "link_precision" in test:
        own = estimate_cell("link_precision", test["link_precision"], with_interval=True, note="own threshold")
        return [own, *(estimate_cell(n, test.get(f"link_{n}")) for n in ("text_precision", "recall", "ari"))]
    kept, promised = estimate_cell(precision, test.get(precision), with_interval=True), val.get(precision)
    cells = [estimate_cell(name, test.get(name)) for name in others]
    if promised is None:
        return [kept, *cells]
    before = estimate_cell(precision, promised).text
    if precision not in test and others[-1] not in test:
        return [TableCell(NOTHING, f"highest {before}"), *cells]
    return [replace(kept, text=f"{before} → {kept.text}"), *cells]


def _notes(board: Leaderboard, measured: Sequence[Row], peers: Sequence[Peer]) -> list[str]:
    notes = []
    without = [row.model for row in board.rows if row not in measured]
    if without:
        notes.append(f"Not measured, as a dedupe needs a vector for each text: {', '.join(without)}.")
    for i, peer in enumerate(peers, start=1):
        cost = "" if peer.seconds is None else f"; {magnitude(peer.seconds)} seconds"
        notes.append(f"Peer {i}: {' '.join(filter(None, (peer.name, peer.version, peer.settings)))}{cost}.")
    return notes
