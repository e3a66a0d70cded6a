"""TF-IDF rows of unit length: word counts weighted by inverse document frequency in the train texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from twicetold.features.bag_of_words import BagOfWords, counter, vocabulary_of
from twicetold.features.cached import cached, diagonal
from twicetold.features.rows import CsrRows, weighted


@dataclass(eq=False)
class TfIdf(BagOfWords):
    """scikit-learn's TF-IDF (smooth idf, L2-normalised rows) over the words of the train texts.

    Args and attributes are those of `BagOfWords`, with other defaults, and `idf_`.

    Attributes:
        idf_: (words,) float32, ln((1 + n) / (1 + df)) + 1.
    """

    max_features: int | None = None
    stop_words: str | None = None

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn vocabulary and idf.

        Raises:
            ValueError: if no word is left.
        """
        vectorizer = TfidfVectorizer(**self.get_params())
        self.vocabulary_ = vocabulary_of(vectorizer, texts)
        self.idf_ = vectorizer.idf_.astype(np.float32)
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one row of unit length per text; a text without a known word has an empty row."""
        self.require_fitted()
        return weighted(cached(self, counter, self.vocabulary_).transform(texts), cached(self, diagonal, self.idf_))
