"""A corpus card in words: counts of each split, facts, and a sentence for each finding of the leakage audit.

Each source chooses what it counts, so everything on a card is shown.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.reporting.glossary import magnitude, readable, share
from twicetold_lab.reporting.tables import Section, Table, TableCell
from twicetold_lab.runs.records import Provenance

MALFORMED = "malformed"  # on a card: why rows were left out, and how many
_NOT_FACTS = (MALFORMED, "twin_groups")  # shown in other words; of cards of earlier code

RESPLIT = (
    "The split of {data} has changed since its rows were made (data.source in conf/data/{data}.yaml). Its figures and "
    "counts here are of the former one, until the grid is run again."
)
KINDS = {
    "documents": "Texts with labels. Two texts belong together when they share a label, and all pairs of test texts "
    "are evaluated.",
    "labelled_pairs": "Pairs of texts, labelled as having the same meaning or not.",
    "graded_pairs": "Pairs of texts, graded by similarity of meaning.",
}
"""Kind of data -> description of its labels."""

_AUDIT = {
    "texts_in_train": "{test} of the test texts occur in training pairs, too (validation {val}).",
    "equal_texts_in_train": "{test} of the test texts are also in train, word for word (validation {val}).",
    "pairs_with_both_texts_in_train": "{test} of the test pairs consist of two texts that are both in train "
    "(validation {val}).",
    "equal_pairs_in_train": "{test} of the test pairs are pairs of train, word for word (validation {val}).",
    "identical_pairs": "{test} of the test pairs hold the same text twice (validation {val}).",
    "closure_coverage": "{test} of the test pairs follow from train by transitivity: both texts are in one cluster of "
    "known duplicates (validation {val}).",
    "closure_label_mean": "The mean label of those pairs is {test} (validation {val}).",
    "frequency_auroc_min": "A score that does not read the texts, but counts how often the rarer of the two occurs in "
    "training pairs, reaches an AUROC of {test} (validation {val}); 0.500 would be a fair split.",
    "frequency_auroc_sum": "The same with the occurrences of both texts added up: AUROC {test} (validation {val}).",
    "stories_in_train": "{test} of the test stories are also in train (validation {val}).",
    "texts_of_train_stories": "{test} of the test texts belong to such a story (validation {val}).",
    "texts_before_end_of_train": "{test} of the test texts are older than the newest one of train (validation {val}).",
}
"""Sentence for each finding of `twicetold_lab.data.sources`, in reading order; others are shown by name."""

_FAIR = "0.500 would be a fair split."
_APART = "0.500 whatever the split, as no text of test is in a training pair; counts within test are not audited."

_FIRST = ("texts", "pairs")  # columns that lead the table of splits


def data_section(about: Provenance) -> Section:
    """Counts, facts, and what leaks between the splits."""
    counted = split_table(about.card)
    known = [f"{name}: {value}" for name, value in facts(about.card)] + audit_in_words(about.audit)
    return Section("The data", tables=[counted] if counted else [], facts=known, is_folded=True)


def split_table(card: Mapping[str, Any]) -> Table | None:
    """Every count that a card has for each split, as one table; None if there is none."""
    columns: dict[str, Mapping[str, Any]] = {}
    for key, value in _leaves({key: value for key, value in card.items() if key not in _NOT_FACTS}):
        if _is_per_split(value):
            columns |= _per_split(key, value)
    if not columns:
        return None
    columns = {name: columns[name] for name in sorted(columns, key=lambda name: name not in _FIRST)}
    rows = ((TableCell(s), tuple(TableCell(_value(values.get(s))) for values in columns.values())) for s in SPLITS)
    return Table(tuple(TableCell(readable(name)) for name in columns), tuple(rows), of="split")


def facts(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything on a card that is not per split, as name and value."""
    rows = [
        (readable(key), _value(value))
        for key, value in _leaves({key: value for key, value in card.items() if key not in _NOT_FACTS})
        if not _is_per_split(value) and value is not None and value != []
    ]
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


def audit_in_words(audit: Mapping[str, Any]) -> list[str]:
    """A sentence for each finding of the leakage audit; findings that are not defined on test are left out.

    Args:
        audit: split -> finding -> value, as `twicetold_lab.data.sources` gives it.
    """
    test, val = audit.get("test", {}), audit.get("val", {})
    known = [key for key in _AUDIT if key in test]
    keys = known + [key for key in test if key not in _AUDIT]
    sentences = [_sentence(key, test[key], val.get(key)) for key in keys if test[key] is not None]
    apart = test.get("texts_in_train") == 0
    return [each.replace(_FAIR, _APART) for each in sentences] if apart else sentences


def _sentence(key: str, test: Any, val: Any) -> str:
    pattern = _AUDIT.get(key, f"{readable(key)}: {{test}} on test, {{val}} on validation.")
    is_share = "auroc" not in key and "mean" not in key
    for split, value in (("test", test), ("val", val)):
        shown = "not defined" if value is None else share(value) if is_share else f"{value:.3f}"
        pattern = pattern.replace(f"{{{split}}}", shown)
    return pattern


def _leaves(card: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for key, value in card.items():
        name = key if key == prefix else f"{prefix} {key}".strip()
        if isinstance(value, Mapping) and not _is_per_split(value):
            leaves += _leaves(value, name)
        else:
            leaves.append((name, value))
    return leaves


def _is_per_split(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and set(value) <= set(SPLITS)


def _per_split(key: str, value: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    if not any(isinstance(values, Mapping) for values in value.values()):
        return {key: value}
    columns: dict[str, dict[str, Any]] = {}
    for split, values in value.items():
        for name, inner in _leaves(values):
            columns.setdefault(name, {})[split] = inner
    return dict(columns)


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
