"""Trained models in use, in the manner of scikit-learn and sentence-transformers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twicetold.dedupe.link import link as link
    from twicetold.dedupe.linked_rows import LinkedRows as LinkedRows
    from twicetold.dedupe.results import TextGroups as TextGroups
    from twicetold.tables.texts import TextsLike as TextsLike
    from twicetold.use.encoder import TextEncoder as TextEncoder
    from twicetold.use.model import Model as Model
    from twicetold.use.model import fit as fit
    from twicetold.use.model import load as load

__all__ = ["LinkedRows", "Model", "TextEncoder", "TextGroups", "TextsLike", "fit", "link", "load"]
ELSEWHERE = {"LinkedRows": "dedupe.linked_rows", "TextEncoder": "use.encoder", "link": "dedupe.link"}
"""Modules of what `use.model` does not import itself."""


def __getattr__(name: str) -> Any:
    """Import a name when it is used: a dedupe needs neither `TextEncoder` nor `link`."""
    if name in __all__:
        return getattr(import_module(f"twicetold.{ELSEWHERE.get(name, 'use.model')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
