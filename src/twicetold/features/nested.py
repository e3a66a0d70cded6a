"""Fitted featurisers inside another one, whose state is saved with it under their names."""

from typing import Any

from sklearn.base import clone

from twicetold.features.rows import Featuriser


def keep(owner: Any, name: str, fitted: Featuriser) -> None:
    """Copy the fitted attributes of a part, except its card, to its owner as `<name>__<attribute>`."""
    for attribute, value in vars(fitted).items():
        if attribute.endswith("_") and attribute != "card_":
            setattr(owner, f"{name}__{attribute}", value)


def kept(owner: Any, name: str, part: Featuriser) -> Any:
    """The fitted part, restored from the attributes of its owner."""
    fitted, prefix = clone(part), f"{name}__"
    for attribute, value in vars(owner).items():
        if attribute.startswith(prefix):
            setattr(fitted, attribute.removeprefix(prefix), value)
    return fitted
