"""A trained model as a transformer of scikit-learn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from twicetold.neighbours.nearest import Matrix
from twicetold.trained.loaded import LoadedModel
from twicetold.use.model import load


class TextEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to vectors, for a `Pipeline`: `make_pipeline(TextEncoder("runs/..."), LogisticRegression())`.

    Args:
        model: what `load` takes, or what it gives; clones share a loaded model.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> encoder = twicetold.TextEncoder(twicetold.fit(texts, lexical=True))
        >>> encoder.fit_transform(texts).shape[0]
        2
    """

    def __init__(self, model: str | Path | LoadedModel) -> None:
        self.model = model

    def fit(self, X: Sequence[str], y: Any = None) -> "TextEncoder":
        """Load the model; texts and labels are not used, as it is trained already."""
        self.model_ = self.model if isinstance(self.model, LoadedModel) else load(self.model)
        self._of = self.model
        return self

    def transform(self, X: Sequence[str]) -> Matrix:
        """(n, D) vectors of n texts; CSR for lexical families. `fit` is not needed before.

        Raises:
            TypeError: if the family scores pairs only.
        """
        if not hasattr(self, "model_") or self._of is not self.model:  # `set_params` has named another one
            self.fit(X)
        return self.model_.encode(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True
