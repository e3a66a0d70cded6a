"""How far a dedupe can be trusted: links at an aimed precision and groups on test, and what was promised of them.

Thresholds and the rule of grouping come from validation (`evaluation.thresholds`), and so does the order of the models.
Peers, which are other libraries, stand below the models.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from twicetold.evaluation.thresholds import TARGETS
from twicetold.neighbours.rules import RULES
from twicetold_lab.reporting.glossary import describe, magnitude, number
from twicetold_lab.reporting.leaderboard import Estimate, Leaderboard, Metrics, Row, best_rule, or_worst
from twicetold_lab.runs.records import Peer

AIM = 0.9
"""The aimed precision of the first table."""
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
NOTHING = "–"


@dataclass(frozen=True)
class Shown:
    """The head of a column, the name of a row, or a cell: its text and a note beside it."""

    text: str
    note: str = ""
    value: float | None = math.nan
    """A number to sort by; None in a column of words."""


@dataclass(frozen=True)
class DedupeTable:
    """A table of models and peers, or of something else."""

    columns: tuple[Shown, ...]
    """After that of the names."""
    rows: tuple[tuple[Shown, tuple[Shown, ...]], ...]
    """Name, and the cells of `columns`."""
    of: str = "model"
    """What the rows are."""


@dataclass(frozen=True)
class Deduped:
    """What is said of a dedupe of one dataset."""

    caveat: str
    """What holds on this dataset besides `HOW_TO_READ`; may be empty."""
    table: DedupeTable
    other_aims: DedupeTable
    rules: DedupeTable
    notes: tuple[str, ...]
    """Paragraphs below the tables."""
    metrics: tuple[str, ...]
    """Names of the metrics in the tables."""


def link_metric(measure: str, aim: float) -> str:
    """Name of a metric of the links at the threshold for an aimed precision: `link_recall_at_90`.

    Args:
        measure: precision, text_precision, recall or ari.
        aim: the precision.
    """
    return f"link_{measure}_at_{100 * aim:g}"


def deduped(board: Leaderboard, kind: str, peers: Sequence[Peer]) -> Deduped | None:
    """The tables of one dataset; None if no model was measured.

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
    named: list[tuple[Shown, Metrics]] = [(Shown(row.model + row.mark), row.metrics) for row in measured]
    named += [(Shown(peer.name, f"peer {i}"), _metrics_of(peer)) for i, peer in enumerate(peers, start=1)]
    names = {name for _, metrics in named for split in metrics.values() for name in split}
    return Deduped(
        caveat=LOWER_BOUND if kind == "labelled_pairs" else "",
        table=_main_table(named, board.duplicates),
        other_aims=_aims_table(named),
        rules=_rules_table(named),
        notes=tuple(_notes(board, measured, peers)),
        metrics=tuple(sorted(name for name in names if describe(name).entry != name)),
    )


def _is_measured(metrics: Metrics) -> bool:
    return best_rule(metrics) is not None or any(link_metric("precision", aim) in metrics["val"] for aim in TARGETS)


def _metrics_of(peer: Peer) -> Metrics:
    return {"val": {}, "test": {n: Estimate(value, None, peer.intervals.get(n)) for n, value in peer.metrics.items()}}


def _main_table(named: Sequence[tuple[Shown, Metrics]], group: str | None) -> DedupeTable:
    auroc, average = f"auroc_{group}", f"average_precision_{group}"
    ranked = any(auroc in metrics["test"] for _, metrics in named)  # of labelled pairs it may not be known
    columns = (
        *([Shown("AUROC", "all pairs")] if ranked else []),
        Shown("Average precision", "all pairs"),
        *_aim_columns(AIM),
        Shown("Best rule", "on validation"),
        *(Shown(describe(stem).label, "best rule") for stem in ("ari", "b3", "pair_f1")),
    )
    rows = []
    for name, metrics in named:
        test, rule = metrics["test"], best_rule(metrics)
        cells = [*([_shown(test.get(auroc))] if ranked else []), _shown(test.get(average), with_interval=True)]
        cells += [*_aim_cells(metrics, AIM), Shown(rule or NOTHING, value=None)]
        cells += _group_cells(test, rule, with_interval=True)
        rows.append((name, tuple(cells)))
    return DedupeTable(columns, tuple(rows))


def _aims_table(named: Sequence[tuple[Shown, Metrics]]) -> DedupeTable:
    others = [aim for aim in TARGETS if aim != AIM]
    columns = tuple(column for aim in others for column in _aim_columns(aim))
    rows = ((name, tuple(cell for aim in others for cell in _aim_cells(metrics, aim))) for name, metrics in named)
    return DedupeTable(columns, tuple(row for row in rows if _says_something(row[1])))


def _rules_table(named: Sequence[tuple[Shown, Metrics]]) -> DedupeTable:
    columns, rows = [], []
    for rule in RULES:
        columns += [Shown("ARI", f"{rule}, validation → test")]
        columns += [Shown(describe(stem).label, rule) for stem in ("b3", "pair_f1")]
    for name, metrics in named:
        cells: list[Shown] = []
        for rule in RULES:
            ari, *others = _group_cells(metrics["test"], rule)
            cells += [_promised_and(metrics["val"].get(f"ari_{rule}"), ari), *others]
        rows.append((name, tuple(cells)))
    return DedupeTable(tuple(columns), tuple(row for row in rows if _says_something(row[1])))


def _says_something(cells: Sequence[Shown]) -> bool:
    return any(cell.note or cell.text != NOTHING for cell in cells)


def _aim_columns(aim: float) -> tuple[Shown, ...]:
    return (
        Shown(f"Precision, aimed at {aim:g}", "promised → kept"),
        Shown("Precision by text", f"at {aim:g}"),
        Shown("Recall", f"at {aim:g}"),
        Shown("ARI", f"components at {aim:g}"),
    )


def _aim_cells(metrics: Metrics, aim: float) -> tuple[Shown, ...]:
    """Precision by pair and by text, recall and ARI of links at the threshold for an aimed precision.

    A peer without that aim has links at its own threshold, which stand at `AIM`.
    """
    val, test = metrics["val"], metrics["test"]
    precision, *others = (link_metric(measure, aim) for measure in ("precision", "text_precision", "recall", "ari"))
    if not val and precision not in test and "link_precision" in test and aim == AIM:
        own = _shown(test["link_precision"], with_interval=True)
        note = ", ".join(filter(None, (own.note, "own threshold")))
        return replace(own, note=note), *(
            _shown(test.get(f"link_{name}")) for name in ("text_precision", "recall", "ari")
        )
    promised, kept = val.get(precision), _shown(test.get(precision), with_interval=True)
    if promised is not None and precision not in test and others[-1] not in test:
        return Shown(NOTHING, f"highest {_shown(promised).text}"), *[Shown(NOTHING)] * len(others)
    return _promised_and(promised, kept), *(_shown(test.get(name)) for name in others)


def _group_cells(test: Mapping[str, Estimate], rule: str | None, *, with_interval: bool = False) -> list[Shown]:
    """ARI, B-cubed and pairwise F1 of the groups by a rule; those of a peer may have none that is known."""
    found = (test.get(f"{stem}_{rule}" if rule else stem) for stem in ("ari", "b3", "pair_f1"))
    return [_shown(each, with_interval=with_interval) for each in found]


def _promised_and(promised: Estimate | None, kept: Shown) -> Shown:
    return kept if promised is None else Shown(f"{_shown(promised).text} → {kept.text}", kept.note, kept.value)


def _shown(found: Estimate | None, *, with_interval: bool = False) -> Shown:
    if found is None:
        return Shown(NOTHING)
    ends = found.interval if with_interval else None
    spread = "" if found.deviation is None else f" ± {number(found.deviation)}"
    note = "" if ends is None else f"{number(ends[0])} to {number(ends[1])}"
    return Shown(number(found.mean) + spread, note, found.mean)


def _notes(board: Leaderboard, measured: Sequence[Row], peers: Sequence[Peer]) -> list[str]:
    notes = []
    without = [row.model for row in board.rows if row not in measured]
    if without:
        notes.append(f"Not measured, as a dedupe needs a vector for each text: {', '.join(without)}.")
    for i, peer in enumerate(peers, start=1):
        cost = "" if peer.seconds is None else f"; {magnitude(peer.seconds)} seconds"
        notes.append(f"Peer {i}: {' '.join(filter(None, (peer.name, peer.version, peer.settings)))}{cost}.")
    return notes
