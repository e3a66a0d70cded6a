"""Pretraining data of a model, which the report shows beside its results.

The setting `pretrained_on` of a pretrained featuriser declares it in words, and `seen` names the sources of our data
that are among it, such as `quora` for `quora_wang`. Both are saved in the model's recipe, and passed on from a teacher
to its students and from members to an ensemble.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from twicetold import layout


def pretrained_on(config: Mapping[str, Any]) -> list[str]:
    """Return pretraining data of the features and of the teacher, each once.

    Args:
        config: resolved; the files mined by a teacher must exist.
    """
    sources = list(named("pretrained_on", config["features"]))
    for card in _mined(config):
        sources += card.get("pretrained_on", [])
    return list(dict.fromkeys(sources))


def seen(config: Mapping[str, Any]) -> list[str] | None:
    """List sources of data among the pretraining data of features and teacher; None where one is not known.

    Args:
        config: as of `pretrained_on`.
    """
    parts = [part.get("seen") for part in _pretrained(config["features"])]
    return joined([*parts, *(card.get("seen") for card in _mined(config) if card.get("pretrained_on"))])


def joined(parts: Iterable[Sequence[str] | None]) -> list[str] | None:
    """Return the sources that any of several parts has seen; None where one is not known."""
    sources: dict[str, None] = {}
    for part in parts:
        if part is None:
            return None
        sources |= dict.fromkeys(part)
    return list(sources)


def may_have_seen(seen: Sequence[str] | None, data: str) -> bool:
    """Return true if texts of a dataset may be among what was seen: `quora` stands for all data of Quora.

    Args:
        seen: names of sources, or of single datasets; None where they are not known.
        data: name of the dataset.
    """
    return seen is None or any(data == name or data.startswith(f"{name}_") for name in seen)


def pretrained_on_of(model: Path) -> list[str]:
    """Return pretraining data of a saved model; for an ensemble, of all its members.

    Raises:
        ValueError: if its recipe does not say so.
    """
    sources = json.loads((model / layout.RECIPE).read_text(encoding="utf-8")).get("pretrained_on")
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise ValueError(
            f"expected 'pretrained_on' in {model / layout.RECIPE} to be a list of texts, got {sources!r:.80}"
        )
    return sources


def seen_of(model: Path) -> list[str] | None:
    """Return sources of data among the pretraining data of a saved model; None where they are not known.

    Raises:
        ValueError: if its recipe holds something else.
    """
    recipe = json.loads((model / layout.RECIPE).read_text(encoding="utf-8"))
    sources = recipe.get("seen", None if recipe.get("pretrained_on") else [])  # of a model of an earlier version
    if sources is not None and not (isinstance(sources, list) and all(isinstance(name, str) for name in sources)):
        raise ValueError(f"expected 'seen' in {model / layout.RECIPE} to be a list of names, got {sources!r:.80}")
    return sources


def pretrained_files(config: Mapping[str, Any]) -> list[str]:
    """Return pretrained vectors and models that a training reads: files, folders, and names of models at a hub."""
    return [file for name in ("vectors", "model") for file in named(name, config["features"])]


def _mined(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the cards of a teacher's files of mined examples."""
    mined = (config["examples"] or {}).get("mined")
    cards = sorted(Path(mined).glob(f"*{layout.TRIPLETS_CARD}")) if mined else []
    return [json.loads(card.read_text(encoding="utf-8")) for card in cards]


def _pretrained(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of the features that are pretrained, at any depth."""
    if settings.get("pretrained_on"):
        yield settings
    for value in settings.values():
        if isinstance(value, Mapping):
            yield from _pretrained(value)


def named(name: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield values of all settings of this name, at any depth; empty ones are left out."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from named(name, value)
        elif key == name and value:
            yield value
