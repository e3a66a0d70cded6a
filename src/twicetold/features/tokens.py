"""Texts as sequences of numbered words or characters, for encoders that read in order.

Numbers go by how many train texts a token occurs in; 0 is any token that the vocabulary lacks.

Shape letters: N texts, K tokens, V size of the vocabulary, D dimensions of pretrained vectors.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from twicetold.encoding import UNKNOWN_TOKEN
from twicetold.features.rows import CsrRows
from twicetold.features.splitting import Tokens, characters, words
from twicetold.features.vectors import word_vectors


class Words(BaseEstimator):
    """Words of a text, in order (see `splitting`).

    Args:
        lower_case: take `Bank` and `bank` for one word.
        min_df: words in fewer train texts than this are unknown.
        max_size: size of the vocabulary at most, most widespread words first; None for all.
        max_length: words of a text that are read; None for all.
        vectors: file of pretrained vectors in GloVe's text format, which the encoder gets as `vectors`; fetched if it
            is one of GloVe's own and not there yet. None for none.

    Attributes:
        vocabulary_: the words numbered 1, 2, ...
    """

    ordered = True

    def __init__(
        self,
        lower_case: bool = False,
        min_df: int = 1,
        max_size: int | None = None,
        max_length: int | None = None,
        vectors: str | None = None,
    ) -> None:
        self.lower_case = lower_case
        self.min_df = min_df
        self.max_size = max_size
        self.max_length = max_length
        self.vectors = vectors

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the vocabulary, and look its words up among the pretrained vectors.

        Raises:
            ValueError: if no word is left.
        """
        tokens = words(texts, lower_case=self.lower_case)
        self.vocabulary_ = vocabulary_of(tokens, min_df=self.min_df, max_size=self.max_size)
        # Not part of the saved state: the encoder's weights begin with them and are saved.
        self._vectors = None if self.vectors is None else word_vectors(Path(self.vectors), self.vocabulary_)
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """One sequence of numbers per text."""
        check_is_fitted(self)
        return numbered(words(texts, lower_case=self.lower_case), self.vocabulary_, max_length=self.max_length)

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: how many numbers there are, the one for unknown words included; `vectors`, (width, D), if any.

        A word without a pretrained vector has a row of zeros there.
        """
        found = getattr(self, "_vectors", None)
        width = {"width": len(self.vocabulary_) + 1}
        return width if found is None else {**width, "vectors": np.pad(found, ((1, 0), (0, 0)))}


class Characters(BaseEstimator):
    """Characters of a text, in order, blanks included.

    Args:
        lower_case: take `B` and `b` for one character.
        min_df: characters in fewer train texts than this are unknown.
        max_size: size of the vocabulary at most, most widespread characters first; None for all.
        max_length: characters of a text that are read; None for all.

    Attributes:
        vocabulary_: the characters numbered 1, 2, ...
    """

    ordered = True

    def __init__(
        self, lower_case: bool = False, min_df: int = 1, max_size: int | None = None, max_length: int | None = None
    ) -> None:
        self.lower_case = lower_case
        self.min_df = min_df
        self.max_size = max_size
        self.max_length = max_length

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the vocabulary.

        Raises:
            ValueError: if no character is left.
        """
        tokens = characters(texts, lower_case=self.lower_case)
        self.vocabulary_ = vocabulary_of(tokens, min_df=self.min_df, max_size=self.max_size)
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """One sequence of numbers per text."""
        check_is_fitted(self)
        return numbered(characters(texts, lower_case=self.lower_case), self.vocabulary_, max_length=self.max_length)

    @property
    def shape(self) -> dict[str, int]:
        """`width`: how many numbers there are, the one for unknown characters included."""
        return {"width": len(self.vocabulary_) + 1}


def vocabulary_of(tokens: Tokens, *, min_df: int, max_size: int | None) -> list[str]:
    """Distinct tokens by the number of texts that they occur in, the most widespread first; ties by spelling.

    Raises:
        ValueError: if no token is left.
    """
    shape = len(tokens), len(tokens.spellings)
    ones = np.ones(len(tokens.codes), np.int8)
    contains = sp.csr_matrix((ones, tokens.codes, tokens.offsets), shape, copy=True)  # the codes are read-only
    contains.sum_duplicates()
    texts_with = np.bincount(contains.indices, minlength=len(tokens.spellings))
    table = pa.table({"token": tokens.spellings, "texts": texts_with})
    kept = table.filter(pc.greater_equal(table["texts"], min_df))
    vocabulary: list[str] = kept.sort_by([("texts", "descending"), ("token", "ascending")])["token"].to_pylist()
    if not vocabulary:
        raise ValueError(
            f"no token of the {len(tokens)} train texts is left for the vocabulary with min_df={min_df}: "
            f"lower it, or use more texts"
        )
    return vocabulary[:max_size]


def numbered(tokens: Tokens, vocabulary: Sequence[str], *, max_length: int | None) -> CsrRows:
    """The tokens by their place in the vocabulary, from 1; 0 for the rest."""
    place = pc.index_in(tokens.spellings, pa.array(vocabulary, pa.large_string()))
    number = np.asarray(pc.fill_null(place, -1)) + 1 + UNKNOWN_TOKEN
    return cut_off(tokens.offsets, number[tokens.codes], width=len(vocabulary) + 1, max_length=max_length)


def cut_off(offsets: NDArray[np.int64], numbers: NDArray[np.int32], *, width: int, max_length: int | None) -> CsrRows:
    """Sequences of at most `max_length` numbers, from the beginning of each text.

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
