"""A text as a sequence of words, each with its letters: input of networks that read pretrained vectors and spellings.

One flat row carries both levels: each word begins with its number, 0 for a word that is not in the vocabulary, and its
letters follow as columns beyond those of the words. For example, with the letters a, n: the words "a an" are
[number of a, column of a, number of an, column of a, column of n]. Letters that train lacks are left out.

Words may have pretrained vectors from a file, including words that train lacks.

Shape letters: N texts, K entries, U distinct words, V words of the vocabulary, L letters, D dimensions of pretrained
vectors.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.distinct_words import runs
from twicetold.features.kept import kept, text_places
from twicetold.features.rows import CsrRows, Declared
from twicetold.features.splitting import Tokens, words
from twicetold.features.tokens import UNKNOWN_NAME, vocabulary_of
from twicetold.features.vectors import alike, first_words, word_vectors


class SpeltWords(Declared, BaseEstimator):
    """Words of a text, in order, each followed by its letters (see `splitting` for what a word is).

    Args:
        lower_case: take `Bank` and `bank` for one word.
        min_df: words in fewer train texts than this have no number of their own.
        max_length: words of a text that are read; None for all.
        letters: letters of a word that are read, from its beginning; 0: rows hold the words' numbers alone.
        vectors: file of pretrained vectors in GloVe's text format, which the encoder gets as `vectors`; fetched if it
            is one of GloVe's own and not there yet. None for none.
        further: number of first words of that file that get a number too if they are not in train.
        centred: subtract the mean of the vectors and scale them to length 1 on average, so that the cosine of two
            unrelated words is near 0; false: take the file's numbers as they are.

    Attributes:
        vocabulary_: the words numbered 1, 2, ...; those that train lacks come last.
        letters_: the letters of the train texts' words by code point, in the order of the columns from 1 + V on.
    """

    ordered = True
    _vectors: NDArray[np.float32] | None = None

    def __init__(
        self,
        lower_case: bool = True,
        min_df: int = 1,
        max_length: int | None = None,
        letters: int = 10,
        vectors: str | None = None,
        further: int = 0,
        centred: bool = True,
    ) -> None:
        self.lower_case = lower_case
        self.min_df = min_df
        self.max_length = max_length
        self.letters = letters
        self.vectors = vectors
        self.further = further
        self.centred = centred

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the words and letters, and look the words up among the pretrained vectors.

        Raises:
            ValueError: if no word is left, or further ones are to come from no file.
        """
        if self.further and self.vectors is None:
            raise ValueError(f"further={self.further} words would be those of a file of vectors: set vectors too, or 0")
        tokens = words(texts, lower_case=self.lower_case)
        self.vocabulary_ = vocabulary_of(tokens, min_df=self.min_df, max_features=None)
        self._vectors = None  # not part of the saved state: the encoder's weights begin with them and are saved
        if self.vectors is not None:
            file = Path(self.vectors)
            self.vocabulary_ = list(dict.fromkeys([*self.vocabulary_, *first_words(file, self.further)]))
            found = word_vectors(file, self.vocabulary_)
            self._vectors = alike(found) if self.centred else found
        self.letters_: list[str] = sorted(set("".join(tokens.spellings.to_pylist()))) if self.letters else []
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """One sequence per text: each word's number, and then its letters."""
        check_is_fitted(self)
        tokens = words(texts, lower_case=self.lower_case)
        columns, offsets = self._distinct(tokens)
        codes, ends = _first(tokens, self.max_length)
        sizes = np.diff(offsets)[codes]
        entries = runs(offsets[codes], sizes)  # (K,)
        before = np.concatenate([[0], np.cumsum(sizes)])
        return CsrRows(before[ends], columns[entries].astype(np.int32), None, self.shape["width"])

    def _distinct(self, tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Entries of each distinct word, and (U + 1,) offsets: where each word's begin."""
        number = kept(self, text_places, self.vocabulary_).of(tokens.spellings) + 1 + UNKNOWN_TOKEN  # (U,)
        if not self.letters_:
            return number, np.arange(len(number) + 1)
        short = pc.utf8_slice_codeunits(tokens.spellings, 0, self.letters)
        spelt = np.frombuffer("".join(short.to_pylist()).encode("utf-32-le"), np.uint32)
        known = np.array([ord(letter) for letter in self.letters_], np.uint32)
        column = np.searchsorted(known, spelt).clip(max=len(known) - 1)
        found = known[column] == spelt
        word = np.repeat(np.arange(len(number)), pc.utf8_length(short).to_numpy())[found]
        first = np.searchsorted(word, np.arange(len(number)))  # letters of earlier words
        columns = np.insert(column[found] + 1 + len(self.vocabulary_), first, number)
        sizes = 1 + np.bincount(word, minlength=len(number))
        return columns, np.concatenate([[0], np.cumsum(sizes)])

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: number of columns, the one for unknown words included; with letters, `words`, 1 + V, of them.

        If there are pretrained vectors, and until it is saved, `vectors`, (1 + V, D); a word that has none has a row of
        zeros there.
        """
        shape: dict[str, Any] = {"width": 1 + len(self.vocabulary_) + len(self.letters_)}
        if self.letters_:
            shape["words"] = 1 + len(self.vocabulary_)
        if self._vectors is not None:
            shape["vectors"] = np.pad(self._vectors, ((1, 0), (0, 0)))
        return shape

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """(width,) words and letters in column order, as scikit-learn's transformers give them."""
        return np.array([UNKNOWN_NAME, *self.vocabulary_, *self.letters_], object)


def _first(tokens: Tokens, count: int | None) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Spellings of the first `count` words of each text, and (N + 1,) where each text's words begin."""
    lengths = np.diff(tokens.offsets)
    if count is None or lengths.max(initial=0) <= count:
        return tokens.codes, tokens.offsets
    within = np.arange(len(tokens.codes)) - np.repeat(tokens.offsets[:-1], lengths)
    return tokens.codes[within < count], np.concatenate([[0], np.cumsum(np.minimum(lengths, count))])
