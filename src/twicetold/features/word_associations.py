"""Words in order, and how strongly each word is associated with each neighbour in the train texts: input of LexVec.

Positive pointwise mutual information of a word w and a neighbour c at most `window` places away, with M_wc the number
of times that they are neighbours, M_w the sum over c and M_c the sum over w:

    PPMI_wc = max(0, log (M_wc Σ_c' M_c'^α / (M_w M_c^α)))

α < 1 raises the counts of rare neighbours, which have the highest values otherwise (Levy, Goldberg and Dagan, Improving
Distributional Similarity with Lessons Learned from Word Embeddings, TACL 2015, section 3.2). Unknown words are left out
before neighbours are counted, as the objective leaves them out.

Shape letters: K tokens, P pairs of words that are neighbours in train and have a positive value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.tokens import Words, numbered


@dataclass(eq=False)
class WordAssociations(Words):
    """Words of a text, in order, as numbers; the associations go to the encoder.

    Args:
        lower_case: take `Bank` and `bank` for one word.
        min_df: words in fewer train texts than this are unknown.
        max_features: size of the vocabulary at most, most widespread words first; None for all.
        max_length: words of a text that are read; None for all.
        sif_a: a of `smooth_weights`, by which words are weighed; None: every word has weight 1.
        window: largest distance of two neighbours.
        smoothing: α.

    Attributes:
        vocabulary_: the words numbered 1, 2, ...
        counts_: (width,) int64, how often each number occurs in the train texts; 0 for unknown words.
    """

    vectors: str | None = field(default=None, init=False)
    counted: bool = field(default=True, init=False)
    window: int = 2
    smoothing: float = 0.75
    _associations: tuple[NDArray[np.int64], NDArray[np.float32]] | None = field(default=None, init=False)

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the vocabulary, and count neighbours.

        Raises:
            ValueError: if no word is left.
        """
        super().fit(texts)
        rows = numbered(self._split(texts), self.vocabulary_, max_length=self.max_length)
        known = rows.indices != UNKNOWN_TOKEN
        text = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))[known]
        # Not part of the saved state: only training reads them.
        self._associations = associations(
            text, rows.indices[known], width=rows.width, window=self.window, smoothing=self.smoothing
        )
        return self

    @property
    def shape(self) -> dict[str, Any]:
        """`width` and `counts`, as `Words`; until it is saved `pairs` and `values`, see `associations`."""
        shape = super().shape
        if self._associations is not None:
            shape["pairs"], shape["values"] = self._associations
        return shape


def associations(
    text: NDArray[np.int64], number: NDArray[np.int32], *, width: int, window: int, smoothing: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return positive pointwise mutual information of neighbours.

    Args:
        text: (K,) which text each token is of, ascending.
        number: (K,) of each token.
        width: how many numbers there are.
        window: largest distance of two neighbours.
        smoothing: α.

    Returns:
        (P,) w · width + c for each pair, ascending, and (P,) its value, above 0.
    """
    one, other = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for distance in range(1, min(window, len(text) - 1) + 1):
        same_text = text[distance:] == text[:-distance]
        before, after = number[:-distance][same_text].astype(np.int64), number[distance:][same_text].astype(np.int64)
        one += [before, after]
        other += [after, before]
    pair, count = np.unique(np.concatenate(one) * width + np.concatenate(other), return_counts=True)
    word, neighbour = np.divmod(pair, width)
    of_word = np.bincount(word, count, minlength=width)
    of_neighbour = np.bincount(neighbour, count, minlength=width) ** smoothing
    value = np.log(count * of_neighbour.sum() / (of_word[word] * of_neighbour[neighbour]))
    return pair[value > 0], value[value > 0].astype(np.float32)
