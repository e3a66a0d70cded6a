"""What a model had seen before its training: who reads its results must know, whatever way it came in.

It is declared where a pretrained part is chosen, `pretrained_on` among the settings of the features; it cannot be found
out. It is saved in the model's recipe, and passed on from a teacher to its students and from members to an ensemble.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from twicetold import layout


def pretrained_on(config: Mapping[str, Any]) -> list[str]:
    """What a training begins with had seen, each thing once.

    Its features may have been pretrained, or its teacher.

    Args:
        config: resolved; what a teacher mined must be there already.
    """
    found = list(named("pretrained_on", config["features"]))
    if mined := (config["examples"] or {}).get("mined"):
        for card in sorted(Path(mined).glob(f"*{layout.TRIPLETS_CARD}")):
            found += json.loads(card.read_text(encoding="utf-8")).get("pretrained_on", [])
    return list(dict.fromkeys(found))


def pretrained_on_of(model: Path) -> list[str]:
    """The same of a saved model; of an ensemble, that of all its members."""
    found: list[str] = json.loads((model / layout.RECIPE).read_text(encoding="utf-8"))["pretrained_on"]
    return found


def named(name: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """The values of this name, if they say anything, wherever they are."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from named(name, value)
        elif key == name and value:
            yield value
