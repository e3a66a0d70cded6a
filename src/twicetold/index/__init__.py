"""Indexes of texts that grow: search, and the groups of all texts seen so far."""

from twicetold.index.text_index import TextIndex, changing, open_index

__all__ = ["TextIndex", "changing", "open_index"]
