"""BM25 weights: each text as a query (word counts) and as a document (BM25 impacts).

The BM25 score of a query q and a document d is a dot product, Σ_t tf(t, q) · impact(t, d), so both halves are
sparse rows over one vocabulary, held side by side: columns [0, V) are the query's, [V, 2V) the document's.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the idf is Lucene's, which is
never negative (Kamphuis et al., Which BM25 Do You Mean?, 2020).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from twicetold.features.bag_of_words import counter, vocabulary_of
from twicetold.features.cached import cached, diagonal
from twicetold.features.rows import CsrRows, Declared


@dataclass(eq=False)
class Bm25Weights(Declared):
    """Query counts and document impacts, with idf and mean length learnt from the train texts.

    Args:
        k1: saturation of the term frequency.
        b: degree of length normalisation, 0 to 1.
        stop_words: `"english"` for scikit-learn's list, or None.

    Attributes:
        vocabulary_: the words, in column order.
        idf_: (words,) float32, ln(1 + (n − df + ½) / (df + ½)).
        mean_length_: mean number of known words in a train text.
    """

    k1: float = 1.2
    b: float = 0.75
    stop_words: str | None = None

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn vocabulary, idf and mean length.

        Raises:
            ValueError: if no word is left.
        """
        self.vocabulary_ = vocabulary_of(CountVectorizer(stop_words=self.stop_words), texts)
        counts = cached(self, counter, self.vocabulary_).transform(texts)
        df = counts.getnnz(axis=0)
        self.idf_ = np.log1p((counts.shape[0] - df + 0.5) / (df + 0.5)).astype(np.float32)
        self.mean_length_ = float(counts.sum() / counts.shape[0])
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one row of query counts followed by document impacts per text."""
        self.require_fitted()
        counts = cached(self, counter, self.vocabulary_).transform(texts)
        lengths = np.asarray(counts.sum(axis=1), np.float32).ravel()
        saturation = self.k1 * (1 - self.b + self.b * lengths / self.mean_length_)
        impacts = counts.copy()
        impacts.data = impacts.data / (impacts.data + np.repeat(saturation, np.diff(counts.indptr)))
        return CsrRows.from_scipy(sp.hstack([counts, impacts @ cached(self, diagonal, self.idf_)], format="csr"))

    @property
    def shape(self) -> dict[str, int]:
        """`width`: number of columns, twice the number of words."""
        return {"width": 2 * len(self.vocabulary_)}

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) the words in column order, counts and then impacts, as scikit-learn's transformers do."""
        return np.array([*self.vocabulary_, *self.vocabulary_], object)
