"""Trained models in use, in the manner of scikit-learn and sentence-transformers."""

from twicetold.dedupe.link import link
from twicetold.dedupe.linked_rows import LinkedRows
from twicetold.dedupe.results import TextGroups
from twicetold.tables.texts import TextsLike
from twicetold.use.encoder import TextEncoder
from twicetold.use.model import Model, fit, load

__all__ = ["LinkedRows", "Model", "TextEncoder", "TextGroups", "TextsLike", "fit", "link", "load"]
