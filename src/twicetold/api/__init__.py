"""Trained models in use, in the manner of scikit-learn and sentence-transformers."""

from twicetold.api.dedupe import Groups
from twicetold.api.encoder import TextEncoder
from twicetold.api.index import TextIndex, changing, open_index
from twicetold.api.model import Model, load

__all__ = ["Groups", "Model", "TextEncoder", "TextIndex", "changing", "load", "open_index"]
