"""A text as a sequence of words, each with its letters: input of networks that read pretrained vectors and spellings.

One flat row carries both levels: each word begins with its number, 0 for a word that is not in the vocabulary, and its
letters follow as columns beyond those of the words. For example, with the letters a, n: the words "a an" are
[number of a, column of a, number of an, column of a, column of n]. Letters that train lacks are left out.

Words may have pretrained vectors from a file, including words that train lacks.

Shape letters: N texts, K entries, U distinct words, V words of the vocabulary, L letters, D dimensions of pretrained
vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.cached import cached, text_positions
from twicetold.features.rows import CsrRows, Declared, runs
from twicetold.features.splitting import Tokens, words
from twicetold.features.token_weights import UNKNOWN_NAME
from twicetold.features.tokens import cut_off, vocabulary_of
from twicetold.features.vectors import extended


@dataclass(eq=False)
class SpeltWords(Declared):
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

    lower_case: bool = True
    min_df: int = 1
    max_length: int | None = None
    letters: int = 10
    vectors: str | None = None
    further: int = 0
    centred: bool = True
    _vectors: NDArray[np.float32] | None = field(default=None, init=False)
    ordered = True

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the words and letters, and look the words up among the pretrained vectors.

        Raises:
            ValueError: if no word is left, or further ones are to come from no file.
        """
        tokens = words(texts, lower_case=self.lower_case)
        learnt = vocabulary_of(tokens, min_df=self.min_df, max_features=None)
        # The vectors are no part of the saved state: the encoder's weights begin with them and are saved.
        self.vocabulary_, self._vectors = extended(learnt, self.vectors, further=self.further, centred=self.centred)
        self.letters_: list[str] = sorted(set("".join(tokens.spellings.to_pylist()))) if self.letters else []
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence per text: each word's number, and then its letters."""
        self.require_fitted()
        tokens = words(texts, lower_case=self.lower_case)
        columns, offsets = self._distinct(tokens)
        first = cut_off(tokens.offsets, tokens.codes, width=len(offsets), max_length=self.max_length)
        sizes = np.diff(offsets)[first.indices]
        entries = runs(offsets[first.indices], sizes)  # (K,)
        before = np.concatenate([[0], np.cumsum(sizes)])
        return CsrRows(before[first.indptr], columns[entries].astype(np.int32), None, self.shape["width"])

    def _distinct(self, tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return entries of each distinct word, and (U + 1,) offsets: where each word's begin."""
        number = cached(self, text_positions, self.vocabulary_).of(tokens.spellings) + 1 + UNKNOWN_TOKEN  # (U,)
        if not self.letters_:
            return number, np.arange(len(number) + 1)
        short = pc.utf8_slice_codeunits(tokens.spellings, 0, self.letters)
        spelt = np.frombuffer("".join(short.to_pylist()).encode("utf-32-le"), np.uint32)
        known = np.array([ord(letter) for letter in self.letters_], np.uint32)
        column = np.searchsorted(known, spelt).clip(max=len(known) - 1)
        is_known = known[column] == spelt
        word = np.repeat(np.arange(len(number)), pc.utf8_length(short).to_numpy())[is_known]
        first = np.searchsorted(word, np.arange(len(number)))  # letters of earlier words
        columns = np.insert(column[is_known] + 1 + len(self.vocabulary_), first, number)
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
        """Return (width,) words and letters in column order, as scikit-learn's transformers give them."""
        return np.array([UNKNOWN_NAME, *self.vocabulary_, *self.letters_], object)
