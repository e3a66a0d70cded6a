"""A corpus card as tables: counts of each split, facts, and the findings of the leakage audit.

Each source chooses what it counts, so everything on a card is shown.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.reporting.glossary import magnitude, number, readable, share
from twicetold_lab.reporting.tables import Section, Table, TableCell, amount
from twicetold_lab.runs.records import Provenance

MALFORMED = "malformed"  # on a card: why rows were left out, and how many

KINDS = {
    "documents": "Texts with labels. Two texts belong together when they share a label, and all pairs of test texts "
    "are evaluated.",
    "labelled_pairs": "Pairs of texts, labelled as having the same meaning or not.",
    "graded_pairs": "Pairs of texts, graded by similarity of meaning.",
}
"""Kind of data -> description of its labels."""

_FINDINGS = {
    "texts_in_train": "Texts that occur in training pairs",
    "equal_texts_in_train": "Texts that are in train, word for word",
    "pairs_with_both_texts_in_train": "Pairs of two texts that are both in train",
    "equal_pairs_in_train": "Pairs that are pairs of train, word for word",
    "identical_pairs": "Pairs of the same text twice",
    "closure_coverage": "Pairs that follow from train by transitivity (one cluster of known duplicates)",
    "closure_label_mean": "Mean label of those pairs",
    "frequency_auroc_min": "AUROC of how often the rarer text of a pair occurs in training pairs",
    "frequency_auroc_sum": "AUROC of how often both texts occur there",
    "stories_in_train": "Stories that are in train",
    "texts_of_train_stories": "Texts of such a story",
    "texts_before_end_of_train": "Texts older than the newest one of train",
}
"""Finding of `twicetold_lab.data.sources` -> its name, in reading order; others are shown by their key."""
AUDIT = (
    "Shares of a split's texts or pairs, and AUROC of scores that read no text: 0.5 in a fair split, and also where no "
    "text of test is in a training pair."
)

_FIRST = ("texts", "pairs")  # columns that lead the table of splits


def data_section(about: Provenance) -> Section:
    """Counts, facts, and what leaks between the splits."""
    known, audited = [f"{name}: {value}" for name, value in facts(about.card)], audit_table(about.audit)
    leaks = [Section("Leakage", [AUDIT], [audited])] if audited else []
    counted = split_table(about.card)
    return Section("The data", tables=[counted] if counted else [], facts=known, parts=leaks, is_folded=True)


def split_table(card: Mapping[str, Any]) -> Table | None:
    """Every count that a card has for each split, as one table; None if there is none."""
    columns: dict[str, dict[str, Any]] = {}
    for name, split, value in _leaves(card):
        if split:
            columns.setdefault(name, {})[split] = value
    if not columns:
        return None
    names = sorted(columns, key=lambda name: name not in _FIRST)
    rows = ((TableCell(s), tuple(TableCell(_value(columns[name].get(s))) for name in names)) for s in SPLITS)
    return Table(tuple(TableCell(readable(name)) for name in names), tuple(rows), of="split")


def facts(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything on a card that is not per split, as name and value."""
    known = ((name, value) for name, split, value in _leaves(card) if not split and value is not None and value != [])
    rows = [(readable(name), _value(value)) for name, value in known]
    return [*rows, ("Malformed rows left out", _malformed(card[MALFORMED]))] if MALFORMED in card else rows


def _malformed(reasons: Mapping[str, Any]) -> str:
    """Number of malformed rows and the reasons, from reason -> count or file -> reason -> count."""
    counts: Counter[str] = Counter()
    by_file = any(isinstance(part, Mapping) for part in reasons.values())
    for part in reasons.values() if by_file else [reasons]:
        counts.update(part)
    total = counts.total()
    why = ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in counts.items() if count)
    return f"{total:,} ({why})" if total else "none"


def audit_table(audit: Mapping[str, Any]) -> Table | None:
    """The findings of the leakage audit that are defined on test; None if there are none.

    Args:
        audit: split -> finding -> value, as `twicetold_lab.data.sources` gives it.
    """
    test, val = audit.get("test", {}), audit.get("val", {})
    keys = [*(key for key in _FINDINGS if key in test), *(key for key in test if key not in _FINDINGS)]
    rows = (
        (TableCell(_FINDINGS.get(key, readable(key))), (_finding(key, test[key]), _finding(key, val.get(key))))
        for key in keys
        if test[key] is not None
    )
    lines = tuple(rows)
    return Table((TableCell("test"), TableCell("validation")), lines, of="finding") if lines else None


def _finding(key: str, value: float | None) -> TableCell:
    return amount(value, number if "auroc" in key or "mean" in key else share)


def _leaves(card: Mapping[str, Any], prefix: str = "", split: str = "") -> Iterator[tuple[str, str, Any]]:
    """Name, split and value of everything on a card; without a split where it is not per split."""
    for key, value in card.items():
        name = key if key == prefix else f"{prefix} {key}".strip()
        if key in SPLITS and not split:
            yield from _leaves(value, "", key) if isinstance(value, Mapping) else [(prefix, key, value)]
        elif isinstance(value, Mapping) and key != MALFORMED:
            yield from _leaves(value, name, split)
        elif key != MALFORMED:
            yield name, split, value


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return share(value) if 0 <= value <= 1 else magnitude(value)
    if isinstance(value, list):
        return ", ".join(_value(item) for item in value)
    return str(value)
