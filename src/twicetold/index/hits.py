"""Texts that a search finds: their numbers and similarities, and what a person sees of them.

Shape letters: H hits, k neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.errors import require


@dataclass(frozen=True)
class Match:
    """A text that a search found.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> twicetold.fit(texts, lexical=True).index(texts).search(["tents to buy"], k=1)
        [[Match(id='1', text='Where can I buy a tent?', ...)]]
    """

    id: str
    text: str
    similarity: float
    """The model's score of query and text; higher means more alike."""
    probability: float | None
    """That both say the same, by the calibration of a dedupe when the index was built: over all pairs of validation
    texts where the model folder holds one, which says less than `Model.predict_proba`, else on labelled pairs, among
    which duplicates are more frequent. None by a model that was fitted to texts without labels."""
    group: int


@dataclass(frozen=True)
class Hits:
    """Texts that were found for queries, one row for each pair of query and text."""

    query: NDArray[np.int64]
    """(H,) number of the query."""
    row: NDArray[np.int64]
    """(H,) number of the text."""
    similarity: NDArray[np.float32]
    """(H,)."""

    def nearest(self, k: int, *, with_ties: bool = False) -> "Hits":
        """The `k` most similar of each query, nearest first, of equal ones the lower row; sorted by query.

        Args:
            k: at least 1.
            with_ties: and all that are as similar as the last of them.
        """
        order = np.lexsort((self.row, -self.similarity, self.query))
        query = self.query[order]
        first = np.searchsorted(query, query)
        kept = np.arange(len(order)) - first < k
        if with_ties:
            similarity = self.similarity[order]
            kept |= similarity == similarity[np.minimum(first + k - 1, len(order) - 1)]
        return self.at(order[kept])

    def at(self, kept: NDArray[Any] | slice) -> "Hits":
        """The hits of these numbers, of this mask or of this slice."""
        return Hits(self.query[kept], self.row[kept], self.similarity[kept])

    def moved(self, *, query: int = 0, row: int = 0) -> "Hits":
        """The same with numbers of queries and texts from others on."""
        return Hits(self.query + query, self.row + row, self.similarity)

    @classmethod
    def joined(cls, parts: Sequence["Hits"]) -> "Hits":
        """All hits of several parts."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.query for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.row for part in parts)]),
            np.concatenate([np.empty(0, np.float32), *(part.similarity for part in parts)]),
        )


def numbers(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores, none of which may be NaN."""
    require(not np.isnan(scores.max(initial=0)), "a similarity is not a number")
    return scores
