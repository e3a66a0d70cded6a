"""A trained model as a transformer of scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import TextsLike
from twicetold.trained.loaded import LoadedModel
from twicetold.use.model import load


class TextEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to vectors, for a `Pipeline`: `make_pipeline(TextEncoder("runs/..."), LogisticRegression())`.

    In a `ColumnTransformer` name the column of the texts itself, `"text"`, or in a list of one. Frames come out by
    `set_output(transform="pandas")`, of lexical families together with `sparse_output=False`.

    Args:
        model: what `load` takes, or what it gives; clones share a loaded model.
        sparse_output: give vectors of lexical families as CSR; False: all vectors as arrays.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> encoder = twicetold.TextEncoder(twicetold.fit(texts, lexical=True))
        >>> encoder.fit_transform(texts).shape[0]
        2
        >>> encoder.get_feature_names_out()[0]
        'textencoder0'
    """

    def __init__(self, model: str | Path | LoadedModel, *, sparse_output: bool = True) -> None:
        self.model = model
        self.sparse_output = sparse_output

    def fit(self, X: TextsLike, y: Any = None) -> "TextEncoder":
        """Load the model; texts and labels are not used, as it is trained already."""
        self.model_ = self.model if isinstance(self.model, LoadedModel) else load(self.model)
        self._of = self.model
        self._width: int | None = None
        self.n_features_in_ = 1  # by scikit-learn's convention: a column of texts
        return self

    def transform(self, X: TextsLike) -> Matrix:
        """Return (n, D) vectors of n texts; CSR for lexical families. `fit` is not needed before.

        Raises:
            TypeError: if the family scores pairs only.
        """
        vectors = self._loaded(X).encode(X)
        self._width = vectors.shape[1]
        return vectors.toarray() if sp.issparse(vectors) and not self.sparse_output else vectors

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return (D,) names of the columns of the vectors, `textencoder0` and so on.

        Args:
            input_features: not used, as one column of texts has D vectors' columns.
        """
        if getattr(self, "_width", None) is None or self._of is not self.model:
            self._width = self._loaded(["text"]).encode(["text"]).shape[1]
        return np.array([f"textencoder{column}" for column in range(self._width or 0)], object)

    def _loaded(self, X: TextsLike) -> LoadedModel:
        if not hasattr(self, "model_") or self._of is not self.model:  # `set_params` has named another one
            self.fit(X)
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.requires_fit = True, False, False
        return tags
