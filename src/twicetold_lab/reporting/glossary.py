"""Name, meaning and number of shown digits of each metric; names and meanings are in `glossary.toml`."""

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from twicetold.neighbours.rules import RULES


@dataclass(frozen=True)
class Metric:
    """Presentation of a metric."""

    name: str
    label: str
    meaning: str
    stem: str
    """The name without rank, group and aimed precision: `precision_at` of `precision_at_10_story`."""
    group: str
    """The label of documents, or the rule of grouping, that it is about; empty for pairs."""

    @property
    def is_quality(self) -> bool:
        """True if a higher value is better; a threshold is neither good nor bad."""
        return self.stem not in _LOWER_OR_NEITHER

    @property
    def entry(self) -> str:
        """The metric whose line of the glossary explains it: one for all rules of grouping and aimed precisions."""
        return self.stem if self.stem in _OF_DEDUPE else self.name

    def show(self, value: float, digits: int = 3) -> str:
        """A value as text.

        It has `digits` decimals; a threshold, whose scale depends on the model, has three significant digits.
        """
        if self.stem == "pairwise_knn_k":
            return f"{value:g}"
        return magnitude(value) if self.stem in _OF_ANY_SCALE else number(value, digits)


def _read(file: Path) -> dict[str, tuple[str, str]]:
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {stem: (metric["label"], metric["meaning"]) for stem, metric in tables.items()}


_MEANINGS = _read(Path(__file__).with_name("glossary.toml"))
"""Stem -> label and meaning."""

_LOWER_OR_NEITHER = (
    "threshold",
    "published_threshold",
    "brier",
    "log_loss",
    "pairwise_knn_k",
    "pairwise_knn_log_loss",
)

_OF_ANY_SCALE = ("threshold", "published_threshold")

_LEADING = (
    "pearson",
    "spearman",
    "auroc",
    "average_precision",
    "ari",
    "accuracy",
    "f1",
    "mcc",
    "precision_at",
    "knn_accuracy",
    "threshold",
    "accuracy_at_published_threshold",
    "f1_at_published_threshold",
    "published_threshold",
)
"""Stems of the metrics that the leaderboard shows, in this order."""

_RANKED = re.compile(
    r"(precision_at|recall_at|retrieval_(?:recall|mrr|ndcg)_at|index_(?:recall|agreement)_at)_([0-9]+)(?:_(.+))?"
)
_OF_DEDUPE = ("link_precision", "link_text_precision", "link_recall", "link_ari", "ari", "b3", "pair_f1")
_AIMED = re.compile(r"(link_(?:precision|text_precision|recall|ari))_at_([0-9.]+)")
_BY_RULE = re.compile(f"(ari|b3|pair_f1)_({'|'.join(RULES)})")
_OVER_ALL_PAIRS = ("auroc", "average_precision")
_CLUSTER = "cluster"  # of labelled duplicates: the group of texts that came in pairs
_PLAIN = re.compile(f"({'|'.join(sorted(_MEANINGS, key=len, reverse=True))})(?:_(.+))?")


def describe(name: str) -> Metric:
    """Presentation of the metric `name` of `metrics.json`; an unknown name is shown as words."""
    rank = ""
    if match := _BY_RULE.fullmatch(name):
        label, meaning = _MEANINGS[match[1]]
        return Metric(name, f"{label}, {match[2]}", meaning, stem=match[1], group=match[2])
    if match := _AIMED.fullmatch(name):
        label, meaning = _MEANINGS[match[1]]
        return Metric(name, f"{label}, aimed at {float(match[2]) / 100:g}", meaning, stem=match[1], group="")
    if match := _RANKED.fullmatch(name):
        stem, rank, group = match.groups(default="")
    elif match := _PLAIN.fullmatch(name):
        stem, group = match.groups(default="")
    else:
        return Metric(name, readable(name), meaning="", stem=name, group="")
    label, meaning = (text.format(k=rank) for text in _MEANINGS[stem])
    if group:
        group = group.replace("_", " ")
        label = f"{label} {group}"
        meaning = f"{meaning} {_together(stem, group)}"
    return Metric(name, label, meaning, stem=stem, group=group)


def _together(stem: str, group: str) -> str:
    """When two texts belong together, and of which pairs this is asked."""
    if group == _CLUSTER:
        shared = "two texts belong together when labelled duplicates connect them"
        return f"Here all pairs of texts count, and {shared}; pairs without a label count as different."
    pairs = "all pairs of documents count, and " if stem in _OVER_ALL_PAIRS else ""
    return f"Here {pairs}two documents belong together when they share the {group}."


def ordered(names: set[str]) -> tuple[str, ...]:
    """Metric names in reading order: the leading ones first, the others by name."""

    def place(name: str) -> tuple[int, str]:
        metric = describe(name)
        leads = metric.stem in _LEADING and not (metric.stem in ("f1", "ari") and metric.group)
        return (_LEADING.index(metric.stem) if leads else len(_LEADING), name)

    return tuple(sorted(names, key=place))


def number(value: float, digits: int = 3) -> str:
    """A value with a fixed number of decimals, an en dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def count(value: float) -> str:
    """A whole number with thousands separators: 12,345."""
    return f"{round(value):,}"


def many(value: int, noun: str) -> str:
    """A number of things: 1 run, 1,200 runs."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def magnitude(value: float) -> str:
    """A number to about three significant digits: 0.0312, 4.57, 123, 45,678."""
    if value == 0 or math.isnan(value):
        return "0" if value == 0 else "–"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def size(value: int) -> str:
    """A file size: exact bytes below a kilobyte, else kB or MB in powers of ten."""
    if value < 1000:
        return f"{value} B"
    return f"{value / 1e3:,.0f} kB" if value < 1e6 else f"{value / 1e6:,.1f} MB"


def share(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f} %"


def readable(name: str) -> str:
    """A key as words: `share_of_duplicates` as "Share of duplicates"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
