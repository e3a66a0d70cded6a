"""Generated questions: the same one asked in other words, and others asked in the same words.

Questions come in families, which never meet: a question with its paraphrases (other rules and names, so few shared
words), its twins (the same words with one thing changed: a name, a number, the direction, the attitude) and a
stranger that asks about something else. Duplicates pair paraphrases; negatives pair a question with the twin that
shares most of its words, with the twin's paraphrase, and with the stranger.

The labels have the form of the first Quora release
(https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import numbered, pair_corpus
from twicetold_lab.data.sources.toy_grammar import Lexicon, Meaning, Scheme, another, fill, read_words, tell
from twicetold_lab.data.splits import by_group

FRACTIONS = (0.6, 0.2, 0.2)  # of question families
DUPLICATE = "duplicate"

_WORDS = read_words(Path(__file__).with_name("toy_questions.toml"))
LEXICON: Lexicon = _WORDS["lexicon"]
INTENTS: list[Scheme] = _WORDS["schemes"]

NUMBERS = ("number", "age")
ATTITUDES = ("weight", "attitude", "side", "trade", "switch", "level", "change")  # the one against the other


def read(raw: Path, *, name: str, seed: int = 0, limit: int | None = None, families: int = 420) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many pairs, of both labels and every split; all when None.
        families: how many question families to make, with about 7.7 pairs each.

    Returns:
        Labelled pairs, split 60/20/20 by family, so that no question stands on both sides. The group `cluster` is
        the transitive closure of train's duplicates, unknown outside train.

    Raises:
        ValueError: if there are fewer families than splits or more than the grammar can fill, or `limit` is not
            positive.
    """
    rng = np.random.default_rng(seed)
    asker = _Asker(rng)
    pairs = [pair for family in range(families) for pair in _family(family, asker, rng)]
    texts, ends = numbered(pa.array([text for pair in pairs for text in (pair.left, pair.right)]))
    left, right = ends.reshape(-1, 2).T
    family = np.array([pair.family for pair in pairs], dtype=np.int64)
    kinds = Counter(pair.kind for pair in pairs)
    return pair_corpus(
        name=name,
        ids=pa.array([f"q{1 + i}" for i in range(len(texts))]),
        texts=texts,
        left=left,
        right=right,
        label=np.array([pair.kind == DUPLICATE for pair in pairs], dtype=np.float32),
        side=by_group(family, splits=FRACTIONS, seed=seed),
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "family", "rows": len(pairs), "kinds": dict(sorted(kinds.items()))},
    )


class _Pair(NamedTuple):
    family: int
    left: str
    right: str
    kind: str
    """`DUPLICATE`, or how the right question differs from the left one."""


class _Asker:
    """Puts meanings into words; never asks for the same meaning in two families, nor says two things in one text."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._meanings: set[tuple[str, ...]] = set()
        self._owner: dict[str, tuple[str, ...]] = {}

    def meaning(self, *, other_than: Scheme | None = None) -> tuple[Scheme, Meaning]:
        """Return an intent, and a meaning of it that nobody asked for yet.

        Raises:
            ValueError: if the grammar seems to be used up.
        """
        for _ in range(200):
            scheme = INTENTS[self.rng.integers(len(INTENTS))]
            meaning = self._fresh(scheme, fill(scheme, LEXICON, self.rng))
            if meaning is not None and scheme is not other_than:
                return scheme, meaning
        raise ValueError("the grammar of toy_questions has no more questions to ask: use fewer `families`")

    def twin(self, scheme: Scheme, meaning: Meaning, change: tuple[str, str]) -> Meaning | None:
        """Return the meaning with one thing changed, unless somebody asked for that already."""
        kind, slot = change
        changed = dict(meaning)
        if kind == "direction":
            changed["a"], changed["b"] = meaning["b"], meaning["a"]
        else:
            changed[slot] = another(LEXICON[scheme.slots[slot]], set(meaning.values()), self.rng)
        return self._fresh(scheme, changed)

    def ask(self, scheme: Scheme, meaning: Meaning, rule: int, draws: int) -> str | None:
        """Return the question by one rule with given draws, unless the same text stands for something else already."""
        text = tell(scheme.rules[rule], meaning, np.random.default_rng(draws))
        key = (scheme.name, *meaning.values())
        return text if self._owner.setdefault(text.casefold(), key) == key else None

    def _fresh(self, scheme: Scheme, meaning: Meaning) -> Meaning | None:
        key = (scheme.name, *meaning.values())
        if key in self._meanings:
            return None
        self._meanings.add(key)
        return meaning


def _family(family: int, asker: _Asker, rng: np.random.Generator) -> Iterator[_Pair]:
    scheme, meaning = asker.meaning()
    rules = rng.permutation(len(scheme.rules)).tolist()
    draws = rng.integers(2**32, size=len(rules)).tolist()
    asked = [asker.ask(scheme, meaning, rule, draw) for rule, draw in zip(rules, draws, strict=True)]
    asked = asked[: 2 + int(rng.integers(2))]

    def pair(left: str | None, right: str | None, kind: str) -> Iterator[_Pair]:
        if left and right and left != right:
            yield _Pair(family, *((left, right) if rng.random() < 0.5 else (right, left)), kind)

    for earlier, later in pairwise(asked):
        yield from pair(earlier, later, DUPLICATE)
    yield from pair(asked[0], asker.ask(scheme, meaning, rules[0], int(rng.integers(2**32))), DUPLICATE)

    changes = _changes(scheme)
    for which in rng.permutation(len(changes))[:2].tolist():
        twin = asker.twin(scheme, meaning, changes[which])
        if twin is not None:
            place = int(rng.integers(2))
            same_words = asker.ask(scheme, twin, rules[place], draws[place])
            other_words = asker.ask(scheme, twin, rules[1 - place], int(rng.integers(2**32)))
            yield from pair(asked[place], same_words, changes[which][0])
            yield from pair(same_words, other_words, DUPLICATE)
            yield from pair(asked[place], other_words, f"{changes[which][0]}, other words")
    for _ in range(2):
        other, strange = asker.meaning(other_than=scheme)
        stranger = asker.ask(other, strange, int(rng.integers(len(other.rules))), int(rng.integers(2**32)))
        yield from pair(asked[int(rng.integers(2))], stranger, "stranger")


def _changes(scheme: Scheme) -> list[tuple[str, str]]:
    """Return (kind of change, slot) for everything that turns a question of this scheme into another one."""
    changes = []
    for slot, kind in scheme.slots.items():
        change = "number" if kind in NUMBERS else "attitude" if kind in ATTITUDES else "name"
        changes.append((change, slot))
    if len(set(scheme.slots.values())) < len(scheme.slots):
        changes.append(("direction", ""))
    return changes
