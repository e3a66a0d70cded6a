"""Five fixed slices of labelled pairs that a person can read off two texts, and how often a model is right in each.

Limits are the same for all data, so that a slice means the same everywhere. Slices overlap.

Beside them, the terms behind a mistake: what a model whose score is a sum over pairs of terms took for alike.

Shape letters: P pairs.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.intervals import Interval
from twicetold.interpretation.contributions import explain, linear_families
from twicetold.trained.folder_files import read_recipe
from twicetold.trained.model_folder import load_model
from twicetold.trained.scoring import TrainedModel
from twicetold_lab.evaluation.pair_intervals import share_interval
from twicetold_lab.reporting.leaderboard import Row

TITLE = "Slices"
LONG = 12
FEW_SHARED = 1 / 3
EXPLANATION = (
    "How often each model’s verdict is right, at its own threshold, in five slices of the test pairs and outside of "
    "them, with Wilson’s 95 % intervals, in which pairs that share texts count as one where they are alike. Slices "
    "overlap, and were fixed before anything was measured."
)
MOST = 3
"""Pairs of terms that are named."""
BLANK = "▁"
"""Before a sub-word that begins a word."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|nor|neither|without|cannot|cant|dont|isnt|wont|\w+n['’]t)\b"
)


@dataclass(frozen=True)
class Rightness:
    """How often a model is right in some pairs."""

    count: int
    total: int
    interval: Interval | None
    """95 %; None without pairs."""

    @property
    def value(self) -> float:
        """The share; NaN without pairs."""
        return self.count / self.total if self.total else math.nan


@dataclass(frozen=True)
class Signs:
    """What is read off pairs of texts, each (P,) booleans."""

    long: NDArray[np.bool_]
    few_shared: NDArray[np.bool_]
    digits: NDArray[np.bool_]
    negation: NDArray[np.bool_]
    unknown: NDArray[np.bool_]

    def names(self, pair: int) -> list[str]:
        """The slices that a pair is in."""
        return [name for name in SLICES if getattr(self, name)[pair]]


SLICES = {
    "long": (f"more than {LONG} words", f"the longer text has more than {LONG} words"),
    "few_shared": ("few shared words", "less than a third of the different words of both texts are in both"),
    "digits": ("other numbers", "the numbers in digits are not the same in both texts"),
    "negation": ("negation in one", "one text has a negation (not, never, n’t …) and the other has none"),
    "unknown": ("unknown words", "a word of either text is in no text of train"),
}
"""Name -> label and definition."""
assert tuple(SLICES) == tuple(each.name for each in fields(Signs))


def signs(left: Sequence[str], right: Sequence[str], known: frozenset[str]) -> Signs:
    """The slices that pairs are in.

    Args:
        left: P texts.
        right: P texts.
        known: words of train, as `words` gives them.
    """
    found = np.array([_of_pair(*pair, known) for pair in zip(left, right, strict=True)], bool)
    return Signs(*found.reshape(-1, len(SLICES)).T)


def words(text: str) -> list[str]:
    """The words of a text in lower case, numbers among them."""
    return _WORD.findall(text.lower())


def in_slices(
    signs: Signs, right: NDArray[np.bool_], units: NDArray[np.int64]
) -> dict[str, tuple[Rightness, Rightness]]:
    """How often a model is right in each slice and outside of it.

    Args:
        signs: of P pairs.
        right: (P,) whether the model is right.
        units: (P,) unit of sampling of each pair, see `evaluation.pairwise_knn.units_of`.
    """
    sides: dict[str, NDArray[np.bool_]] = {name: getattr(signs, name) for name in SLICES}
    return {name: (_among(inside, right, units), _among(~inside, right, units)) for name, inside in sides.items()}


def explainers(rows: Mapping[str, Row]) -> dict[str, TrainedModel]:
    """The models of one encoder whose score is a sum over terms, of those whose folder is there."""
    folders = {name: row.first.folder / layout.MODEL for name, row in rows.items()}
    targets = {
        name: str(read_recipe(folder).get("encoder", {}).get("_target_", ""))
        for name, folder in folders.items()
        if (folder / layout.RECIPE).is_file()
    }
    families = {f"twicetold.models.{family}" for family in linear_families()} if targets else set()
    return {name: load_model(folders[name]) for name, at in targets.items() if at.rpartition(".")[0] in families}


def terms_of(model: TrainedModel, left: str, right: str) -> tuple[str, ...]:
    """The pairs of terms with the largest contributions, largest first; a term with itself is written once.

    Those that lower the score have a minus. Empty where the model knows no term of a text.
    """
    try:
        largest = explain(model, left, right).largest(MOST)
    except ValueError:
        return ()
    pairs = [(one.removeprefix(BLANK), other.removeprefix(BLANK), value < 0) for one, other, value in largest]
    said = (f"{'−' * lowers}{one if one == other else f'{one} · {other}'}" for one, other, lowers in pairs)
    return tuple(dict.fromkeys(said))


def _among(some: NDArray[np.bool_], right: NDArray[np.bool_], units: NDArray[np.int64]) -> Rightness:
    count, total = int(right[some].sum()), int(some.sum())
    return Rightness(count, total, share_interval(right[some], units[some]) if total else None)


def _of_pair(left: str, right: str, known: frozenset[str]) -> tuple[bool, ...]:
    one, other = words(left), words(right)
    both, either = len({*one} & {*other}), len({*one} | {*other})
    return (
        max(len(one), len(other)) > LONG,
        both < FEW_SHARED * either,
        {*_NUMBER.findall(left)} != {*_NUMBER.findall(right)},
        bool(_NEGATION.search(left.lower())) != bool(_NEGATION.search(right.lower())),
        not {*one, *other} <= known,
    )
