"""Texts as sequences of numbered words or characters, for sequence encoders.

Tokens are numbered by falling document frequency in train, from 1; 0 is any token outside the vocabulary.

Shape letters: N texts, K tokens, V size of the vocabulary, D dimensions of pretrained vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.rows import CsrRows, Declared
from twicetold.features.splitting import Tokens, characters, words
from twicetold.features.token_weights import UNKNOWN_NAME, smooth_weights
from twicetold.features.vectors import word_vectors


@dataclass(eq=False)
class Words(Declared):
    """Words of a text, in order (see `splitting`).

    Args:
        lower_case: take `Bank` and `bank` for one word.
        min_df: words in fewer train texts than this are unknown.
        max_features: size of the vocabulary at most, most widespread words first; None for all.
        max_length: words of a text that are read; None for all.
        vectors: file of pretrained vectors in GloVe's text format, which the encoder gets as `vectors`; fetched if it
            is one of GloVe's own and not there yet. None for none.
        counted: pass the number of occurrences of each word in the train texts to the encoder, as `counts`.
        sif_a: a of `smooth_weights`, by which words are weighed; None: every word has weight 1.

    Attributes:
        vocabulary_: the words numbered 1, 2, ...
        counts_: (width,) int64, how often each number occurs in the train texts; 0 for unknown words. Present
            with `counted` or `sif_a`.
    """

    lower_case: bool = False
    min_df: int = 1
    max_features: int | None = None
    max_length: int | None = None
    vectors: str | None = None
    counted: bool = False
    sif_a: float | None = None
    _vectors: NDArray[np.float32] | None = field(default=None, init=False)
    ordered = True

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the vocabulary, and look its words up among the pretrained vectors.

        Raises:
            ValueError: if no word is left.
        """
        tokens = self._split(texts)
        self.vocabulary_ = vocabulary_of(tokens, min_df=self.min_df, max_features=self.max_features)
        # Not part of the saved state: the encoder's weights begin with them and are saved.
        self._vectors = None if self.vectors is None else word_vectors(Path(self.vectors), self.vocabulary_)
        if self.counted or self.sif_a is not None:
            self.counts_ = occurrences(tokens, self.vocabulary_)
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence of numbers per text, with weights if they are smoothed."""
        self.require_fitted()
        rows = numbered(self._split(texts), self.vocabulary_, max_length=self.max_length)
        if self.sif_a is None:
            return rows
        require_counts(self.counts_, rows.width)
        return replace(rows, values=smooth_weights(self.counts_, self.sif_a)[rows.indices])

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: how many numbers there are, the one for unknown words included; `vectors`, (width, D), if any.

        A word without a pretrained vector has a row of zeros there. `counts`, (width,), if `counted`.
        """
        shape: dict[str, Any] = {"width": len(self.vocabulary_) + 1}
        if self._vectors is not None:
            shape["vectors"] = np.pad(self._vectors, ((1, 0), (0, 0)))
        if self.counted:
            require_counts(self.counts_, shape["width"])
            shape["counts"] = self.counts_
        return shape

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) the tokens in column order."""
        return np.array([UNKNOWN_NAME, *self.vocabulary_], object)

    def _split(self, texts: Sequence[str]) -> Tokens:
        return words(texts, lower_case=self.lower_case)


@dataclass(eq=False)
class Characters(Words):
    """Characters of a text, in order, blanks included.

    Args:
        lower_case: take `B` and `b` for one character.
        min_df: characters in fewer train texts than this are unknown.
        max_features: maximum vocabulary size, most widespread characters first; None for all.
        max_length: characters of a text that are read; None for all.

    Attributes:
        vocabulary_: the characters numbered 1, 2, ...
    """

    vectors: str | None = field(default=None, init=False)
    counted: bool = field(default=False, init=False)
    sif_a: float | None = field(default=None, init=False)

    def _split(self, texts: Sequence[str]) -> Tokens:
        return characters(texts, lower_case=self.lower_case)


def vocabulary_of(tokens: Tokens, *, min_df: int, max_features: int | None) -> list[str]:
    """Return distinct tokens by the number of texts that they occur in, the most widespread first; ties by spelling.

    Raises:
        ValueError: if no token is left.
    """
    shape = len(tokens), len(tokens.spellings)
    ones = np.ones(len(tokens.codes), np.int8)
    contains = sp.csr_matrix((ones, tokens.codes, tokens.offsets), shape, copy=True)  # the codes are read-only
    contains.sum_duplicates()
    texts_with = np.bincount(contains.indices, minlength=len(tokens.spellings))
    table = pa.table({"token": tokens.spellings, "texts": texts_with})
    widespread = table.filter(pc.greater_equal(table["texts"], min_df))
    vocabulary: list[str] = widespread.sort_by([("texts", "descending"), ("token", "ascending")])["token"].to_pylist()
    if not vocabulary:
        raise ValueError(
            f"no token of the {len(tokens)} train texts is left for the vocabulary with min_df={min_df}: "
            f"lower it, or use more texts"
        )
    return vocabulary[:max_features]


def occurrences(tokens: Tokens, vocabulary: Sequence[str]) -> NDArray[np.int64]:
    """Return (width,) how often each number occurs; 0 for unknown tokens."""
    counts = np.bincount(_numbers(tokens, vocabulary)[tokens.codes], minlength=len(vocabulary) + 1).astype(np.int64)
    counts[UNKNOWN_TOKEN] = 0
    return counts


def require_counts(counts: NDArray[np.int64], width: int) -> None:
    """Check that there is a count for each number; stored ones may come from anywhere.

    Raises:
        ValueError: if there is not.
    """
    if counts.shape != (width,) or counts.dtype != np.int64 or counts.min(initial=0) < 0:
        raise ValueError(f"expected {width} numbers of 0 or more as counts_, got {counts.shape} of {counts.dtype}")


def numbered(tokens: Tokens, vocabulary: Sequence[str], *, max_length: int | None) -> CsrRows:
    """Return the tokens by their place in the vocabulary, from 1; 0 for the rest."""
    number = _numbers(tokens, vocabulary)[tokens.codes]
    return cut_off(tokens.offsets, number, width=len(vocabulary) + 1, max_length=max_length)


def _numbers(tokens: Tokens, vocabulary: Sequence[str]) -> NDArray[np.int32]:
    """Return (U,) number of each distinct token."""
    place = pc.index_in(tokens.spellings, pa.array(vocabulary, pa.large_string()))
    return np.asarray(pc.fill_null(place, -1)) + 1 + UNKNOWN_TOKEN


def cut_off(offsets: NDArray[np.int64], numbers: NDArray[np.int32], *, width: int, max_length: int | None) -> CsrRows:
    """Return sequences of at most `max_length` numbers, from the beginning of each text.

    Args:
        offsets: (N + 1,) where each text's tokens begin.
        numbers: (K,) of the tokens.
        width: how many numbers there are.
        max_length: None to keep all.
    """
    lengths = np.diff(offsets)
    if max_length is not None and lengths.max(initial=0) > max_length:
        within = np.arange(len(numbers)) - np.repeat(offsets[:-1], lengths)
        numbers = numbers[within < max_length]
        offsets = np.concatenate([offsets[:1], np.cumsum(np.minimum(lengths, max_length))])
    return CsrRows(offsets, numbers.astype(np.int32), None, width)
