"""Edits of texts whose answer is known: does a model notice the ones that matter and overlook those that do not?

    number    another number                          not the same
    negation  a "not" put in or taken out             not the same
    entity    another name                            not the same
    order     two names exchanged around from, to …   not the same
    unit      another unit of a number                not the same
    typo      a misspelt word                         the same
    case      all letters in upper or in lower case   the same

A flip is a wrong verdict about a text and its edited copy, by the model's own threshold. (Kinds of edits: Ribeiro et
al., Beyond Accuracy: Behavioral Testing of NLP Models with CheckList, ACL 2020.) Not every edit is beyond doubt: a
name may be another word for the same thing. Flips compare models, they are no error rate of any data.

Shape letters: N texts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twicetold.evaluation.intervals import Share
from twicetold.trained.loaded import LoadedModel
from twicetold_lab.augmentation.alterations import with_typo
from twicetold_lab.evaluation.figures import COLOURS, INK, save_figure

DIRECTED = {"from", "to", "into", "onto", "than", "before", "after", "over", "beats", "buys", "sues"}
"""Words around which exchanged names mean something else."""
UNITS = (
    ("km", "miles"),
    ("kg", "pounds"),
    ("metres", "feet"),
    ("meters", "feet"),
    ("minutes", "hours"),
    ("days", "weeks"),
    ("months", "years"),
    ("million", "billion"),
    ("percent", "points"),
    ("dollars", "euros"),
)
AFTER = r"is|are|was|were|can|could|should|would|will|does|do|did|has|have|must"
"""Verbs that a "not" follows."""
TYPO = re.compile(r"(?<!\w)[^\W\d_]{4,}(?!\w)")
NUMBER = re.compile(r"(?<![\w.,])\d+(?![\w.,]*\d)(?!-)")
NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*(?!\w)")
"""Words with capitals that do not begin a sentence; titles have many that are no names."""
TITLE_CASE = 0.6
"""Share of words with a capital from which a text is a title, in which capitals say nothing."""
_UNIT = {one: other for pair in UNITS for one, other in (pair, pair[::-1])}
_MEASURED = re.compile(rf"(\d\s*)({'|'.join(map(re.escape, _UNIT))})\b")
_SUBJECT = re.compile(r" (?:I|you|we|they|he|she|it)\b")
_VERB = re.compile(rf"\b({AFTER})\b(?! not\b)", re.IGNORECASE)

Random = np.random.Generator
Edit = Callable[[str, Random, Sequence[str]], str | None]


@dataclass(frozen=True)
class Probe:
    """A text and its edited copy."""

    family: str
    text: str
    edited: str

    @property
    def same(self) -> bool:
        """Whether both say the same."""
        return self.family in SAME


def probes(texts: Sequence[str], *, each: int = 200, seed: int = 0) -> list[Probe]:
    """Edited copies of texts, of each family at most so many; a text that an edit does not fit is passed over.

    Args:
        texts: N, in the order of which they are tried after a shuffle.
        each: probes of a family at most.
        seed: of the shuffle and of all edits.

    Raises:
        ValueError: if `each` is not positive.
    """
    if each < 1:
        raise ValueError(f"expected at least one probe of each family, got each={each}")
    names = sorted({name for text in texts for name in _names(text)})
    found: list[Probe] = []
    for place, (family, edit) in enumerate(FAMILIES.items()):
        rng = np.random.default_rng([seed, place])
        of_family: dict[str, Probe] = {}
        for row in rng.permutation(len(texts)):
            edited = edit(texts[row], rng, names)
            if edited is not None and edited != texts[row]:
                of_family.setdefault(texts[row], Probe(family, texts[row], edited))
            if len(of_family) == each:
                break
        found += of_family.values()
    return found


def flips(model: LoadedModel, asked: Sequence[Probe]) -> dict[str, Share]:
    """How often a model is wrong about probes, by family of `FAMILIES`.

    Args:
        model: a trained model.
        asked: the probes.

    Raises:
        NoVerdict: a `ValueError`, if the model gives no verdict.
    """
    wrong: list[tuple[str, bool]] = []
    if asked:
        said = model.predict([probe.text for probe in asked], [probe.edited for probe in asked])
        wrong = [(probe.family, bool(same) != probe.same) for probe, same in zip(asked, said, strict=True)]
    of_family = {family: [flip for of, flip in wrong if of == family] for family in FAMILIES}
    return {family: Share(sum(found), len(found)) for family, found in of_family.items()}


def save_flips_figure(path: Path, found: Mapping[str, Mapping[str, Share]]) -> None:
    """Write a heat map of flips to `path`: a row for each model, a column for each family, counts in the squares."""
    save_figure(path, lambda: _figure(found))


def _figure(found: Mapping[str, Mapping[str, Share]]) -> Any:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure  # not pyplot: no display, no global state

    shares = np.array([[each.value for each in row.values()] for row in found.values()])
    figure = Figure(figsize=(2.2 + 0.95 * shares.shape[1], 1.1 + 0.42 * len(shares)), layout="constrained")
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("flips", ["#ffffff", COLOURS[1]])
    axes.pcolormesh(np.ma.masked_invalid(shares), cmap=colours, vmin=0, vmax=1, edgecolors="#e6e6e6", linewidth=0.6)
    for row, of_model in enumerate(found.values()):
        for column, each in enumerate(of_model.values()):
            text = f"{each.count} of {each.total}" if each.total else "none"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=INK, fontsize=8)
    heads = [f"{family}\n({'same' if family in SAME else 'not the same'})" for family in FAMILIES]
    axes.set_xticks(np.arange(len(heads)) + 0.5, heads, fontsize=8)
    axes.set_yticks(np.arange(len(found)) + 0.5, [name.replace("$", r"\$") for name in found])
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.tick_params(length=0, colors=INK)
    axes.spines[:].set_visible(False)
    return figure


def _number(text: str, rng: Random, names: Sequence[str]) -> str | None:
    def other(found: re.Match[str]) -> str:
        value = int(found[0])
        return str(value + int(rng.integers(1, max(2, min(value, 1000) + 1))))

    return _at_random(NUMBER, other, text, rng)


def _negation(text: str, rng: Random, names: Sequence[str]) -> str | None:
    if re.search(r"\bnot\b", text):
        return re.sub(r"\bnot ", "", text, count=1)
    if re.search(r"n['’]t\b|\b(?:no|never|without|none)\b", text, re.IGNORECASE):
        return None  # a second negation
    for found in _VERB.finditer(text):
        subject = _SUBJECT.match(text, found.end())
        if found.start() and (subject or not text.endswith("?")):  # "is it not?" may well ask whether it is
            at = subject.end() if subject else found.end()
            return f"{text[:at]} not{text[at:]}"
    return None


def _entity(text: str, rng: Random, names: Sequence[str]) -> str | None:
    others = [name for name in names if name not in text]
    return _at_random(NAME, lambda found: str(rng.choice(others)), text, rng) if others and _names(text) else None


def _order(text: str, rng: Random, names: Sequence[str]) -> str | None:
    found = list(NAME.finditer(text)) if _names(text) else []
    for one, other in pairwise(found):
        between = set(re.findall(r"[a-z]+", text[one.end() : other.start()].lower()))
        if one[0] != other[0] and between & DIRECTED and "and" not in between:
            return f"{text[: one.start()]}{other[0]}{text[one.end() : other.start()]}{one[0]}{text[other.end() :]}"
    return None


def _unit(text: str, rng: Random, names: Sequence[str]) -> str | None:
    return _at_random(_MEASURED, lambda found: found[1] + _UNIT[found[2]], text, rng)


def _typo(text: str, rng: Random, names: Sequence[str]) -> str | None:
    return _at_random(
        TYPO, lambda found: str(with_typo(pa.array([found[0]], pa.large_string()), rng)[0].as_py()), text, rng
    )


def _case(text: str, rng: Random, names: Sequence[str]) -> str | None:
    return text.lower() if text.isupper() or (text != text.lower() and rng.integers(2)) else text.upper()


def _names(text: str) -> list[str]:
    """Names in a text; none in a title."""
    words = re.findall(r"[^\W\d_]+", text)
    capital = sum(word[0].isupper() for word in words)
    return NAME.findall(text) if len(words) and capital < TITLE_CASE * len(words) else []


def _at_random(pattern: re.Pattern[str], other: Callable[[re.Match[str]], str], text: str, rng: Random) -> str | None:
    """The text with one of the places of a pattern replaced; None if there is none."""
    found = list(pattern.finditer(text))
    if not found:
        return None
    match = found[int(rng.integers(len(found)))]
    return f"{text[: match.start()]}{other(match)}{text[match.end() :]}"


FAMILIES: dict[str, Edit] = {
    "number": _number,
    "negation": _negation,
    "entity": _entity,
    "order": _order,
    "unit": _unit,
    "typo": _typo,
    "case": _case,
}
SAME = ("typo", "case")
"""Families whose edits change nothing that is said."""
