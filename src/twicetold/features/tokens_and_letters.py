"""Tokens of pretrained static vectors, and beside them the letters, words and word pairs of the same texts.

A pretrained vector knows that two words mean alike, but not that a rare name is the same one. A TF-IDF row over letter
n-grams, words and pairs of neighbours knows that alone. In one table of vectors both are one search vector:

    x = [ 1/n Σ_t weight(t) of the n tokens | λ · TF-IDF row of unit length ]

Shape letters: N texts, T tokens of the vocabulary, L columns of letters and words, D dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.rows import CsrRows, keep_state, with_state
from twicetold.features.static_tokens import StaticTokens

PREFIX = "letters__"


@dataclass(eq=False)
class TokensAndLetters(StaticTokens):
    """Columns of `StaticTokens`, whose mean is taken, then those of `LetterTfIdf`.

    Args:
        model: as in `StaticTokens`.
        pretrained_on: as in `StaticTokens`.
        letters: n of the letter n-grams, 2 to 4.
        words: 0 for letters alone, 1 for words as well, 2 for words and pairs of neighbours.
        max_features: how many columns words and pairs get together, most frequent first; None for all.
        share: λ, the length of the part of letters and words; that of tokens has the mean of their vectors.
        max_length: as in `StaticTokens`.
        weighting: of tokens, as in `StaticTokens`.
        sif_a: as in `StaticTokens`.
        seen: as in `StaticTokens`.

    Attributes:
        (tokens): fitted state as of `StaticTokens`.
        (letters): fitted state of `LetterTfIdf`, `letters__<attribute>`.
    """

    letters: int = field(kw_only=True)
    words: int = field(kw_only=True)
    max_features: int | None = field(kw_only=True)
    share: float = field(kw_only=True)
    ordered = False

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Read the folder; learn the columns of letters and words and their idf from the train texts."""
        super().fit(texts)
        fitted = LetterTfIdf(self.letters, self.words, self.max_features).fit(texts)
        keep_state(self, fitted, PREFIX)
        self.card_ = fitted.card_
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one row per text: its tokens, then its letters and words."""
        self.require_fitted()
        tokens, letters = super().transform(texts), self._lexical().transform(texts)
        lengths = np.diff(tokens.indptr)
        weights = np.ones(len(tokens.indices), np.float32) if tokens.values is None else tokens.values
        mean = np.asarray(weights / np.repeat(lengths, lengths).astype(np.float32), np.float32)
        beside = CsrRows.from_scipy(np.float32(self.share) * letters.to_scipy())
        rows = CsrRows(tokens.indptr, tokens.indices, mean, tokens.width).beside(beside).to_scipy()
        rows.sum_duplicates()  # a token that a text repeats is one entry; columns are in order
        return CsrRows.from_scipy(rows)

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: T + 1 + L; `vectors`, (T + 1, D), where they have just been read."""
        tokens = super().shape
        return tokens | {"width": tokens["width"] + self._lexical().shape["width"]}

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) tokens, as the tokenizer writes them; n-grams, words and pairs of words."""
        return np.concatenate([super().get_feature_names_out(), self._lexical().get_feature_names_out()])

    def _lexical(self) -> LetterTfIdf:
        """Return the fitted featuriser of letters and words."""
        return cast("LetterTfIdf", with_state(self, LetterTfIdf(self.letters, self.words, self.max_features), PREFIX))
