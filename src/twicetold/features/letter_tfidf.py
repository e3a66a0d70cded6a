"""TF-IDF over the letter n-grams of words.

Two spellings or forms of a word share most of their letter n-grams, so texts can be similar without a common word. The
n-grams are those of word hashing, `#good#` as #go, goo, ood, od# (Huang et al., CIKM 2013, section 3.2). The weights
are those of `tfidf`.

Shape letters: N texts, K stored entries.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from twicetold.features.cached import cached, diagonal
from twicetold.features.rows import CsrRows, weighted
from twicetold.features.word_hashing import WordHashing

COUNTED = 1 << 16  # texts whose terms are counted at a time


class LetterTfIdf(WordHashing):
    """Smooth idf and rows of unit length, as `TfIdf`, over the columns of `WordHashing`.

    Args:
        letters: n of the letter n-grams.
        words: 0 for letters alone, 1 for words as well, 2 for words and pairs of neighbours.
        max_features: how many columns words and pairs get together, most frequent first; None for all.

    Attributes:
        idf_: (width,) float32, ln((1 + N) / (1 + df)) + 1.
    """

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the columns, and their idf.

        Raises:
            ValueError: if the texts have no word, or a setting is wrong.
        """
        super().fit(texts)
        blocks = (self._counts(texts[start : start + COUNTED]) for start in range(0, len(texts), COUNTED))
        found_in = sum(np.bincount(counts.indices, minlength=counts.shape[1]) for counts in blocks)
        self.idf_ = (np.log((1 + len(texts)) / (1 + found_in)) + 1).astype(np.float32)
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one row of unit length per text; a text without a known column has an empty row."""
        return weighted(self._counts(texts), cached(self, diagonal, self.idf_))

    def _counts(self, texts: Sequence[str]) -> csr_array:
        """Return (N, width) float32."""
        counts = csr_array(super().transform(texts).to_scipy(), dtype=np.float32)
        counts.sum_duplicates()
        return counts
