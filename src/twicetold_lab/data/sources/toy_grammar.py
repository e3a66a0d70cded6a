"""A grammar small enough to read: rules with choices in brackets and slots in braces, and what fills the slots.

`[buys|to acquire]` is a choice (choices nest; an empty one drops the detail) and `{company}` a slot. A slot holds an
entry such as `"Halden Motors|Halden|carmaker"`: the ways in which one and the same thing can be named. Telling the
same entries by other rules, choices and names gives duplicates in other words; telling other entries
with the same draws gives texts that share nearly every word and say something else.

The words and rules themselves are in a TOML file beside each source.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_CHOICE = re.compile(r"\[([^\[\]]*)\]")  # innermost: no bracket inside
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
_SLOT = re.compile(r"\{(\w+)\}")

Lexicon = Mapping[str, tuple[str, ...]]
"""kind of slot -> its entries, each a list of surface forms joined by `|`."""
Meaning = Mapping[str, str]
"""slot -> the entry that fills it."""


@dataclass(frozen=True)
class Scheme:
    """A kind of event or of question: its slots, and the rules that put them into words."""

    name: str
    slots: Mapping[str, str]
    """slot -> kind of entry, a key of the lexicon."""
    rules: tuple[str, ...]
    category: str = ""
    """Its topic; empty for questions."""


def read_words(file: Path) -> dict[str, Any]:
    """Return the content of a file of words and rules, with its lexicon and its schemes as these are used."""
    words = tomllib.loads(file.read_text(encoding="utf-8"))
    words["lexicon"] = {kind: tuple(entries) for kind, entries in words.get("lexicon", {}).items()}
    words["schemes"] = [Scheme(**scheme | {"rules": tuple(scheme["rules"])}) for scheme in words.get("schemes", [])]
    return words


def fill(scheme: Scheme, lexicon: Lexicon, rng: np.random.Generator) -> dict[str, str]:
    """Draw an entry for every slot; slots of one kind get different entries."""
    taken: set[str] = set()
    meaning: dict[str, str] = {}
    for slot, kind in scheme.slots.items():
        meaning[slot] = another(lexicon[kind], taken, rng)
        taken.add(meaning[slot])
    return meaning


def another(entries: tuple[str, ...], taken: set[str], rng: np.random.Generator) -> str:
    """Draw an entry that is not yet taken."""
    free = [entry for entry in entries if entry not in taken]
    return free[rng.integers(len(free))]


def tell(rule: str, meaning: Meaning, rng: np.random.Generator) -> str:
    """Put a meaning into words: settle the choices from the inside out, then name what fills the slots.

    The number of draws depends on the rule and not on the meaning, so that two generators in the same state tell
    two meanings in the same words.
    """
    while choice := _CHOICE.search(rule):
        rule = rule[: choice.start()] + _pick(choice[1], rng) + rule[choice.end() :]
    text = " ".join(_SLOT.sub(lambda slot: _pick(meaning[slot[1]], rng, skew=1.5), rule).split())
    text = _ARTICLE.sub(r"\1n ", text)
    return text[:1].upper() + text[1:]


def _pick(options: str, rng: np.random.Generator, skew: float = 1.0) -> str:
    """Draw one of the options joined by `|`; with a skew above 1, an earlier one more often than a later one."""
    forms = options.split("|")
    # A fraction and not an index: how many bits an index takes from the generator depends on how many forms there are.
    return forms[int(rng.random() ** skew * len(forms))]
