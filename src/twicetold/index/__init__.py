"""Indexes of texts that grow: search, and the groups of all texts seen so far."""

from twicetold.index.opening import changing, open_index
from twicetold.index.text_index import TextIndex

__all__ = ["TextIndex", "changing", "open_index"]
