"""A corpus card as tables: the size of each split, and the findings of the leakage audit."""

from collections.abc import Mapping
from typing import Any

from twicetold.evaluation.inputs import is_number
from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.reporting.glossary import count, magnitude, number, readable, share
from twicetold_lab.reporting.tables import Section, Table, TableCell, amount
from twicetold_lab.runs.records import Provenance

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
LEAKS = "Train has of test (what is not listed is 0 %, or an AUROC of 0.5):"
NO_LEAK = "The audit found nothing of test in train."
_FAIR = ("0.0 %", "0.500")
_FIRST = ("texts", "pairs")  # columns that lead the table of splits


def data_section(about: Provenance) -> Section:
    """Return the size of each split, and what leaks between them: in a few lines, and with every finding as a part."""
    counted, audited = split_table(about.card), audit_table(about.audit)
    found = audited.rows if audited else ()
    leaks = [f"{name.text}: {test.text}" for name, (test, _) in found if test.text not in _FAIR]
    return Section(
        "The data",
        tables=[counted] if counted else [],
        notes=[LEAKS if leaks else NO_LEAK] if audited else [],
        facts=leaks,
        parts=[Section("Leakage", [AUDIT], [audited], is_folded=True, is_detail=True)] if audited else [],
        is_folded=True,
    )


def split_table(card: Mapping[str, Any]) -> Table | None:
    """Return the numbers that a card has for each split as a whole; None if there are none."""
    splits = card.get("splits", {})
    known = dict.fromkeys(name for each in splits.values() for name, value in each.items() if is_number(value))
    names = sorted(known, key=lambda name: name not in _FIRST)
    rows = ((TableCell(s), tuple(amount(splits.get(s, {}).get(name), _size) for name in names)) for s in SPLITS)
    return Table(tuple(TableCell(readable(name)) for name in names), tuple(rows), of="split") if names else None


def _size(value: float) -> str:
    if isinstance(value, int):
        return count(value)
    return share(value) if 0 <= value <= 1 else magnitude(value)


def audit_table(audit: Mapping[str, Any]) -> Table | None:
    """Return the findings of the leakage audit that are defined on test; None if there are none.

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
