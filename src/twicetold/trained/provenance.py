"""Pretraining data of a model, which the report shows beside its results.

The setting `pretrained_on` of a pretrained featuriser declares it. It is saved in the model's recipe, and passed on
from a teacher to its students and from members to an ensemble.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from twicetold import layout


def pretrained_on(config: Mapping[str, Any]) -> list[str]:
    """Pretraining data of the features and of the teacher, each once.

    Args:
        config: resolved; the files mined by a teacher must exist.
    """
    found = list(named("pretrained_on", config["features"]))
    if mined := (config["examples"] or {}).get("mined"):
        for card in sorted(Path(mined).glob(f"*{layout.TRIPLETS_CARD}")):
            found += json.loads(card.read_text(encoding="utf-8")).get("pretrained_on", [])
    return list(dict.fromkeys(found))


def pretrained_on_of(model: Path) -> list[str]:
    """Pretraining data of a saved model; for an ensemble, of all its members.

    Raises:
        ValueError: if its recipe does not say so.
    """
    found = json.loads((model / layout.RECIPE).read_text(encoding="utf-8")).get("pretrained_on")
    if not isinstance(found, list) or not all(isinstance(source, str) for source in found):
        raise ValueError(
            f"expected 'pretrained_on' in {model / layout.RECIPE} to be a list of texts, got {found!r:.80}"
        )
    return found


def pretrained_files(config: Mapping[str, Any]) -> list[str]:
    """Pretrained vectors and models that a training reads: files, folders, and names of models at a hub."""
    of_features = (found for name in ("vectors", "model") for found in named(name, config["features"]))
    return [*of_features, *synonyms_from(config)]


def synonyms_from(config: Mapping[str, Any]) -> list[str]:
    """The file of vectors from which a training takes synonyms, if it does."""
    if not alters_texts(config):
        return []
    augmentation = config["augmentation"]
    return [augmentation["vectors"]] if augmentation.get("synonym") and augmentation.get("vectors") else []


def alters_texts(config: Mapping[str, Any]) -> bool:
    """Whether a training makes altered copies of texts, for augmentation or consistency."""
    return bool(config["augmentation"].get("share", 1) or config["consistency"]["weight"])


def named(name: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Values of all settings of this name, at any depth; empty ones are left out."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from named(name, value)
        elif key == name and value:
            yield value
