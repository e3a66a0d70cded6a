"""A text as a sequence of words, each as its letter trigrams: input of CDSSM and LSTM-DSSM.

Shen et al., A Latent Semantic Model with Convolutional-Pooling Structure for Information Retrieval, CIKM 2014.

One flat row holds both levels: each word begins with a 0, followed by its trigrams as columns counted from 1. For
example, the words #a#, #an# are [0, #a#, 0, #an, an#].

Shape letters: N texts, W words of a chunk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from twicetold.features.cached import cached
from twicetold.features.distinct_words import split
from twicetold.features.rows import CsrRows, Declared, runs
from twicetold.features.word_hashing import WordHashing, as_numbers, known_grams

TRIGRAM = 3
ENTRIES = np.int32


@dataclass(eq=False)
class WordTrigrams(Declared):
    """Letter trigrams of each word, words in order; a word without a known trigram is left out.

    Args:
        max_length: maximum number of words of a text, from its beginning; None for all.

    Attributes:
        letter_grams_: the trigrams, in the order of columns 1, 2, …
        card_: the word hashing report, see `WordHashing`.
    """

    max_length: int | None = None
    ordered = True

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the trigrams.

        Raises:
            ValueError: if the texts have no word.
        """
        hashing = WordHashing(letters=TRIGRAM).fit(texts)
        self.letter_grams_: list[str] = hashing.letter_grams_
        self.card_: dict[str, Any] | None = hashing.card_
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence per text."""
        self.require_fitted()
        grams = cached(self, as_numbers, self.letter_grams_, TRIGRAM)
        lengths, entries = [np.empty(0, np.int64)], [np.empty(0, ENTRIES)]
        for chunk in split(texts):
            column, offsets = known_grams(chunk.distinct, grams, TRIGRAM)
            # One row per distinct word, mark first; then one gather per word of the texts.
            sizes = np.diff(offsets)
            table = np.insert(column + 1, offsets[:-1], 0).astype(ENTRIES)
            text, number = chunk.text(), chunk.number
            known = sizes[number] > 0
            text, number = text[known], number[known]
            if self.max_length is not None:
                first = np.searchsorted(text, text)
                early = np.arange(len(text)) - first < self.max_length
                text, number = text[early], number[early]
            size = sizes[number] + 1
            entries.append(table[runs(offsets[number] + number, size)])
            lengths.append(np.bincount(text, weights=size, minlength=len(chunk.offsets) - 1).astype(np.int64))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return CsrRows(indptr, np.concatenate(entries), None, self.shape["width"])

    @property
    def shape(self) -> Mapping[str, int]:
        """`width`: number of columns, the mark included."""
        return {"width": len(self.letter_grams_) + 1}
