"""A text as a sequence of words with their letter n-grams: input of fastText.

Bojanowski, Grave, Joulin and Mikolov, Enriching Word Vectors with Subword Information, TACL 2017, section 3.2. One flat
row carries both levels: each word begins with its number, 0 for a word that is not in the vocabulary, and its n-grams
follow as columns beyond those of the words. The values of a word's entries sum to its weight, so that its vector is the
mean of those of its parts, as in the authors' program (their paper takes the sum).

Two things differ from the paper: n is 3 and 4 instead of 3 to 6, and each n-gram of train has a column, whereas the
paper hashes all n-grams into two million columns.

Words may also have pretrained vectors from a file (`vectors`), including words that train lacks. The vectors are
centred and scaled to length 1 on average.

Shape letters: N texts, K entries, U distinct words, V words of the vocabulary, D dimensions of pretrained vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.cached import cached, text_positions
from twicetold.features.distinct_words import encoded
from twicetold.features.rows import CsrRows, Declared, runs
from twicetold.features.splitting import words
from twicetold.features.token_weights import UNKNOWN_NAME, smooth_weights
from twicetold.features.tokens import occurrences, require_counts, vocabulary_of
from twicetold.features.vectors import extended
from twicetold.features.word_hashing import as_numbers, as_strings, known_grams, letter_grams

SIZES = (3, 4)  # n


@dataclass(eq=False)
class WordGrams(Declared):
    """Words and their letter n-grams; a word that is unknown and has no known n-gram is left out.

    Args:
        min_df: words in fewer train texts than this have no column of their own.
        sif_a: a of `token_weights.smooth_weights`, by which words are weighed; None: every word has weight 1.
        vectors: file of pretrained vectors in GloVe's text format, which the encoder gets as `vectors`; fetched if it
            is one of GloVe's own and not there yet. None for none.
        further: number of first words of that file that get a number too if they are not in train. Nothing is learnt
            for such words, so they do not enter the mean of a word's parts.

    Attributes:
        vocabulary_: the words numbered 1, 2, ...; those that train lacks come last.
        counts_: (1 + V,) int64, how often each number occurs in the train texts; 0 for unknown words.
        given_: D; 0 without pretrained vectors.
        grams_: the n-grams, in the order of the columns from 1 + V on, the shorter ones first.
    """

    min_df: int = 1
    sif_a: float | None = None
    vectors: str | None = None
    further: int = 0
    _vectors: NDArray[np.float32] | None = field(default=None, init=False)
    ordered = True

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the words and their n-grams, and look the words up among the pretrained vectors.

        Raises:
            ValueError: if no word is left, or further ones are to come from no file.
        """
        tokens = words(texts, lower_case=True)
        learnt = vocabulary_of(tokens, min_df=self.min_df, max_features=None)
        # The vectors are no part of the saved state: the encoder's weights begin with them and are saved.
        self.vocabulary_, self._vectors = extended(learnt, self.vectors, further=self.further)
        self.given_ = 0 if self._vectors is None else self._vectors.shape[1]
        self.counts_ = occurrences(tokens, self.vocabulary_)
        self.counts_[1 + len(learnt) :] = 0  # too rare to have learnt vectors
        spelt = encoded(learnt)
        self.grams_: list[str] = [
            g for size in SIZES for g in as_strings(np.unique(letter_grams(spelt, size)[0]), size)
        ]
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence per text: each word's number, and then its n-grams."""
        self.require_fitted()
        require_counts(self.counts_, 1 + len(self.vocabulary_))
        tokens = words(texts, lower_case=True)
        number = cached(self, text_positions, self.vocabulary_).of(tokens.spellings) + 1 + UNKNOWN_TOKEN  # (U,)
        columns, offsets = self._distinct(number, encoded(tokens.spellings.to_pylist()))
        sizes = np.diff(offsets)
        parts = sizes - (self.counts_[number] == 0)  # a number that is not learnt has no vector, no part in the mean
        weights = np.ones(len(self.counts_)) if self.sif_a is None else smooth_weights(self.counts_, self.sif_a)
        values = np.repeat(weights[number] / np.maximum(parts, 1), sizes).astype(np.float32)
        values[offsets[:-1][self.counts_[number] == 0]] = 0  # it stays for what is not learnt, the pretrained vector
        length = np.where((parts > 0) | (number != UNKNOWN_TOKEN), sizes, 0)[tokens.codes]
        entries = runs(offsets[tokens.codes], length)  # (K,)
        ends = np.concatenate([[0], np.cumsum(length)])
        return CsrRows(ends[tokens.offsets], columns[entries].astype(np.int32), values[entries], self.shape["width"])

    def _distinct(
        self, number: NDArray[np.int64], spelt: pa.BinaryArray
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return entries of each distinct word, and (U + 1,) offsets: where each word's begin."""
        word, column = [np.arange(len(number))], [number]
        first = 1 + len(self.vocabulary_)
        for size, known in cached(self, by_size, self.grams_).items():
            columns, offsets = known_grams(spelt, known, size)
            word.append(np.repeat(np.arange(len(number)), np.diff(offsets)))
            column.append(first + columns)
            first += len(known)
        words_of = np.concatenate(word)
        order = np.argsort(words_of, kind="stable")
        return np.concatenate(column)[order], np.searchsorted(words_of[order], np.arange(len(number) + 1))

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: number of columns, the one for unknown words included; `counts`, (1 + V,), of the words.

        If there are pretrained vectors, `given`, D, and until it is saved `vectors`, (1 + V, D); a word that has none
        has a row of zeros there.
        """
        shape = {"width": 1 + len(self.vocabulary_) + len(self.grams_), "counts": self.counts_}
        if self.given_:
            shape["given"] = self.given_
        if self._vectors is not None:
            shape["vectors"] = np.pad(self._vectors, ((1, 0), (0, 0)))
        return shape

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) words and n-grams in column order, as scikit-learn's transformers give them."""
        return np.array([UNKNOWN_NAME, *self.vocabulary_, *self.grams_], object)


def by_size(grams: list[str]) -> dict[int, NDArray[np.uint64]]:
    """Return the n-grams of each size as numbers."""
    return {size: as_numbers([gram for gram in grams if len(gram) == size], size) for size in SIZES}
