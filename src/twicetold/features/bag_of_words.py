"""Binary bag of words: the words of the vocabulary that a text contains.

It is the input of the denoising autoencoder (Okura et al. 2016) and of the `binary_count` baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from twicetold.features.cached import cached
from twicetold.features.rows import CsrRows, Declared


@dataclass(eq=False)
class BagOfWords(Declared):
    """Binary rows over the most frequent words of the train texts.

    Args:
        max_features: maximum vocabulary size, most frequent words first; None for all words.
        stop_words: `"english"` for scikit-learn's list, or None.
        min_df: ignore words in fewer texts than this (an int is a count, a float a share).
        max_df: ignore words in more texts than this (an int is a count, a float a share).

    Attributes:
        vocabulary_: the words, in column order.
    """

    max_features: int | None = 10_000
    stop_words: str | None = "english"
    min_df: float = 1
    max_df: float = 1.0

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the vocabulary.

        Raises:
            ValueError: if no word is left.
        """
        self.vocabulary_ = vocabulary_of(CountVectorizer(**self.get_params()), texts)
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one binary row per text."""
        self.require_fitted()
        return CsrRows.from_scipy(cached(self, counter, self.vocabulary_, True).transform(texts), binary=True)

    @property
    def shape(self) -> dict[str, int]:
        """`width`: number of columns."""
        return {"width": len(self.vocabulary_)}

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) the words in column order."""
        return np.array(self.vocabulary_, object)


def vocabulary_of(vectorizer: CountVectorizer, texts: Sequence[str]) -> list[str]:
    """Fit `vectorizer` and return its words in column order.

    Raises:
        ValueError: if no word is left, with the settings that left none.
    """
    try:
        vectorizer.fit(texts)
    except ValueError as error:
        settings = {name: getattr(vectorizer, name) for name in ("stop_words", "min_df", "max_df")}
        raise ValueError(
            f"no word of the {len(texts)} train texts is left for the vocabulary with {settings}: {error}"
        ) from error
    return [str(word) for word in vectorizer.get_feature_names_out()]


def counter(vocabulary: list[str], binary: bool = False) -> CountVectorizer:
    """Return a vectorizer of (texts, words) counts over a fixed vocabulary (binary: 1 for any), a float32 CSR matrix.

    Raises:
        ValueError: if it is no list, which a stored one may be; `transform` does if a word occurs twice in it.
    """
    if not isinstance(vocabulary, list):
        raise ValueError(f"expected a list of words as vocabulary_, got {type(vocabulary).__name__}")
    return CountVectorizer(vocabulary=vocabulary, binary=binary, dtype=np.float32)
