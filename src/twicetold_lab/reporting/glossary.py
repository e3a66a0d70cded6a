"""Label and number of shown digits of each metric; labels are in `glossary.toml`."""

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from twicetold.neighbours.rules import RULES

_LABELS: dict[str, str] = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))
"""By stem."""
_OF_ANY_SCALE = ("threshold", "published_threshold")
_LOWER_OR_NEITHER = (*_OF_ANY_SCALE, "brier", "log_loss")


@dataclass(frozen=True)
class Metric:
    """Presentation of a metric."""

    label: str
    stem: str
    """The name without rank, group and aimed precision: `precision_at` of `precision_at_10_story`."""
    group: str
    """The label of documents, or the rule of grouping, that it is about; empty for pairs."""

    @property
    def is_quality(self) -> bool:
        """True if a higher value is better; a threshold is neither good nor bad."""
        return self.stem not in _LOWER_OR_NEITHER

    def show(self, value: float) -> str:
        """A value with three decimals; a threshold, whose scale depends on the model, with three significant digits."""
        return magnitude(value) if self.stem in _OF_ANY_SCALE else number(value)


_RANKED = re.compile(
    r"(precision_at|recall_at|retrieval_(?:recall|mrr|ndcg)_at|index_(?:recall|agreement)_at)_([0-9]+)(?:_(.+))?"
)
_AIMED = re.compile(r"(link_(?:precision|text_precision|recall|ari))_at_([0-9.]+)")
_BY_RULE = re.compile(f"(ari|b3|pair_f1)_({'|'.join(RULES)})")
_PLAIN = re.compile(f"({'|'.join(sorted(_LABELS, key=len, reverse=True))})(?:_(.+))?")


def describe(name: str) -> Metric:
    """Return the presentation of the metric `name` of `metrics.json`; an unknown name is shown as words."""
    rank = ""
    if match := _BY_RULE.fullmatch(name):
        return Metric(f"{_LABELS[match[1]]}, {match[2]}", stem=match[1], group=match[2])
    if match := _AIMED.fullmatch(name):
        return Metric(f"{_LABELS[match[1]]}, aimed at {float(match[2]) / 100:g}", stem=match[1], group="")
    if match := _RANKED.fullmatch(name):
        stem, rank, group = match.groups(default="")
    elif match := _PLAIN.fullmatch(name):
        stem, group = match.groups(default="")
    else:
        return Metric(readable(name), stem=name, group="")
    group = group.replace("_", " ")
    return Metric(f"{_LABELS[stem].format(k=rank)} {group}".rstrip(), stem=stem, group=group)


def ordered(names: set[str]) -> tuple[str, ...]:
    """Return metric names in reading order: those of `glossary.toml` in its order, then the others by name."""
    places = {stem: place for place, stem in enumerate(_LABELS)}
    return tuple(sorted(names, key=lambda name: (places.get(describe(name).stem, len(places)), name)))


def number(value: float, digits: int = 3) -> str:
    """Return a value with a fixed number of decimals, an en dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def count(value: float) -> str:
    """Return a whole number with thousands separators: 12,345."""
    return f"{round(value):,}"


def many(value: int, noun: str) -> str:
    """Return a number of things: 1 run, 1,200 runs."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def magnitude(value: float) -> str:
    """Return a number to about three significant digits: 0.0312, 4.57, 123, 45,678."""
    if value == 0 or math.isnan(value):
        return "0" if value == 0 else "–"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def size(value: int) -> str:
    """Return a file size: exact bytes below a kilobyte, else kB or MB in powers of ten."""
    if value < 1000:
        return f"{value} B"
    return f"{value / 1e3:,.0f} kB" if value < 1e6 else f"{value / 1e6:,.1f} MB"


def share(value: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * value:.1f} %"


def readable(name: str) -> str:
    """Return a key as words: `share_of_duplicates` as "Share of duplicates"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
