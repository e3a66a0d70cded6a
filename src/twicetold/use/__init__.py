"""Trained models in use, in the manner of scikit-learn and sentence-transformers."""

from twicetold.dedupe.results import Deduped
from twicetold.use.encoder import TextEncoder
from twicetold.use.model import Model, load

__all__ = ["Deduped", "Model", "TextEncoder", "load"]
