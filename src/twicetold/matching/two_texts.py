"""Features of one pair of texts that are in no file, in about a millisecond.

The features of two texts alone are those of `pair_features`, on dense rows, where SciPy would take ten times as long.
What a file says is not there. How rare a word is needs a file, so all words and letters weigh the same. Each text
counts as the nearest of the other (`lexical_rank`, `lexical_mutual`), and how far they stand out from others
(`lexical_gap` and so on) is what it is on average in the files that the matcher was learnt on, so that it moves no
probability. On pairs of ten labelled files a probability of 0.5 divided 84 % correctly, against 85 % within the file.

Shape letters: W words, T terms of a kind.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.features.folded import symbols
from twicetold.matching import terms as reading
from twicetold.matching.candidates import LETTERS
from twicetold.matching.matcher import Matcher
from twicetold.matching.pair_features import Column, features_of_texts
from twicetold.matching.terms import Terms
from twicetold.normal_form import normal_form

FIRST, SECOND = np.array([0]), np.array([1])
RAREST = np.log(3 / 2) + 1  # idf of a word of one of two texts
LONG = 4_000  # characters of both texts, beyond which rows are sparse


class _Dense(np.ndarray[Any, np.dtype[np.float32]]):
    """Rows with the methods of SciPy's that features call."""

    multiply = np.ndarray.__mul__

    def tocsr(self) -> "_Dense":
        return self

    def sign(self) -> Any:
        return np.sign(self)

    def eliminate_zeros(self) -> None:
        pass


def two_texts(
    one: str, other: str, *, matcher: Matcher, vectors: NDArray[np.float32] | None = None
) -> Mapping[str, Column]:
    """Columns of one pair, of all features of a matcher.

    Args:
        one: a text.
        other: another one; equal texts are a pair like any other.
        matcher: whose features, and whose means of those that only a file has.
        vectors: (2, D) of the texts, of length 1; None for a matcher without vectors.

    Raises:
        ValueError: if the matcher was learnt with vectors and there are none.

    Examples:
        >>> from twicetold.matching.matcher import Matcher
        >>> from twicetold.matching.two_texts import two_texts
        >>> matcher = Matcher.generic(vectors=False)
        >>> columns = two_texts("Canon EOS-70D, black", "canon eos70d black", matcher=matcher)
        >>> columns["codes_agree"].tolist(), bool(matcher.probability(columns)[0] > 0.5)
        ([1.0], True)
    """
    if vectors is None and "cosine" in matcher.names:
        raise ValueError("expected vectors of the two texts, which this matcher reads; or take one without vectors")
    folded = normal_form([one, other])
    terms = _terms(folded) if sum(map(len, folded)) <= LONG else _even(Terms.of_folded(folded))
    columns = features_of_texts(terms, FIRST, SECOND)
    columns["lexical"] = np.float32(LETTERS) * columns["letters"] + np.float32(1 - LETTERS) * columns["words"]
    if vectors is not None:
        columns["cosine"] = np.einsum("pd,pd->p", vectors[:1], vectors[1:2])
    known = {name: np.asarray(column, np.float32) for name, column in columns.items()}
    means = zip(matcher.names, matcher.mean.tolist(), strict=True)
    return {name: np.full(1, _nearest(name, mean), np.float32) for name, mean in means if name not in known} | known


def _nearest(name: str, mean: float) -> float:
    """A feature that only a file has, of two texts that are the nearest of each other."""
    if name.endswith("_mutual"):
        return 1.0
    return 0.0 if "_rank_" in name else mean


def _terms(folded: Sequence[str]) -> Terms:
    """Terms as `Terms.of_folded` gives them, dense."""
    words = list(map(reading.WORD.findall, folded))
    squeezed = ["".join(some) for some in words]
    parts = [reading.PART.findall(text) for text in folded]
    measures = list(map(reading.measures_of, parts))
    present, vocabulary = _rows(words)
    codes, spellings = _rows([reading.codes_of(text) for text in folded])
    letters, grams = _counts([[gram for word in some for gram in _grams(word)] for some in words])
    return Terms(
        letters=letters,
        grams=grams,
        words=_unit(present),
        present=present,
        idf=np.full(len(vocabulary), RAREST, np.float32),
        vocabulary=vocabulary,
        spelt=_spelt(vocabulary),
        order=_rows([list(pairwise(some)) for some in words])[0],
        numbers=_rows([reading.numbers_of(some) for some in parts])[0],
        units=_rows([[unit for unit, _ in some] for some in measures])[0],
        measures=_rows(measures)[0],
        codes=codes,
        contained=np.array([[code in text for code in spellings] for text in squeezed], np.float32).view(_Dense),
        symbols=_rows([symbols(text) for text in folded])[0],
        prefix=reading.prefixes_of(squeezed),
        length=np.array(list(map(len, squeezed)), np.float32),
    )


def _rows(terms: Sequence[Sequence[Any]]) -> tuple[_Dense, list[Any]]:
    """(2, T) 1 where a text has a term, and the terms."""
    sets = list(map(set, terms))
    vocabulary = sorted(sets[0] | sets[1])
    return np.array([[term in some for term in vocabulary] for some in sets], np.float32).view(_Dense), vocabulary


def _even(terms: Terms) -> Terms:
    """Terms whose weights do not say how rare they are."""
    even = (np.ones(len(terms.grams), np.float32), np.full(len(terms.vocabulary), RAREST, np.float32))
    return reading.reweighed(terms, letters=even[0], words=even[1])


def _counts(terms: Sequence[Sequence[str]]) -> tuple[_Dense, list[str]]:
    """(2, T) how often a text has a term, of unit length, and the terms."""
    counts = list(map(Counter, terms))
    vocabulary = sorted(counts[0] | counts[1])
    return _unit(np.array([[some[term] for term in vocabulary] for some in counts], np.float32)), vocabulary


def _unit(rows: NDArray[Any]) -> _Dense:
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(length > 0, length, 1), np.float32).view(_Dense)


def _grams(word: str) -> list[str]:
    marked = f"#{word}#"
    return [marked[at : at + 3] for at in range(len(word))]


def _spelt(vocabulary: Sequence[str]) -> _Dense:
    keys = [set(reading.spellings_of(word)) for word in vocabulary]
    near = np.array([[not one.isdisjoint(other) and one is not other for other in keys] for one in keys], np.float32)
    return near.reshape(len(keys), len(keys)).view(_Dense)
