"""The numbers of the generic matcher, sets of them as JSON in the package.

They are apart from `Matcher`, so that what only keeps or reads a matcher does not depend on them.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from twicetold.matching.matcher import Matcher
from twicetold.matching.senses import SENSES, Sense

GENERIC = "generic.json"
LEARNT: tuple[Sense, ...] = ("copies", "same")  # senses that have numbers of their own
CHECKSUM = "sha256"  # of the other entries of a file of sets of numbers
LEARNT_FROM = "learnt_from"  # hashes of the code and the files that the sets were learnt from


def generic_matcher(sense: Sense = "same", *, vectors: bool) -> Matcher:
    """Return the generic matcher.

    Args:
        sense: what "the same" means.
        vectors: whether pairs have a cosine of vectors.

    Raises:
        ValueError: if the sense is unknown.
    """
    if sense not in SENSES:
        raise ValueError(f"expected one of {', '.join(SENSES)}, got {sense!r}")
    learnt = sense if sense in LEARNT else "same"  # topics are found by similarity, around what is the same
    return Matcher.from_json(_stored()[set_name(learnt, vectors=vectors)])


def set_name(sense: Sense, *, vectors: bool) -> str:
    """Name a set of numbers in the package."""
    return sense + ("-vectors" if vectors else "")


def checksum(sets: Mapping[str, Any]) -> str:
    """Return SHA-256 of sets of numbers by name, whatever their order and the white space of the file."""
    return hashlib.sha256(json.dumps(sets, sort_keys=True).encode()).hexdigest()


def read_sets(text: str) -> dict[str, Any]:
    """Read sets of numbers by name, from the JSON that `pipelines/learn_matcher.py` writes.

    Raises:
        ValueError: if it is not what was written.
    """
    sets: dict[str, Any] = json.loads(text)
    if sets.pop(CHECKSUM, None) != checksum(sets):
        raise ValueError("the numbers of the matcher are damaged, as their checksum differs: install twicetold again")
    return sets


@lru_cache(maxsize=1)
def _stored() -> dict[str, Any]:
    return read_sets((files(__package__) / GENERIC).read_text(encoding="utf-8"))
