"""Trained models in use, in the manner of scikit-learn and sentence-transformers."""

from twicetold.use.dedupe import Groups
from twicetold.use.encoder import TextEncoder
from twicetold.use.model import Model, load

__all__ = ["Groups", "Model", "TextEncoder", "load"]
