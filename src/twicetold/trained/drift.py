"""Drift of texts from those that a model was trained on: how many of their words it does not know.

That is a sign besides the use of common words (`word_use`), for features with a vocabulary of words. Stop words and
single letters do not count. Of the test texts of their own corpus, `tfidf` and `static` of `quora_wang`, `uci_news` and
`stsb` do not know 3 to 11 % of the words; of the test texts of the other two, 8 to 28 %, in nine of twelve cases more
than 20 %.

A model folder does not hold how often words of its own validation texts are unknown; with that, the limit could be the
model's own.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from twicetold.neighbours.nearest import Matrix
from twicetold.normal_form import normal_form
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.word_use import WordUse, featurisers

UNKNOWN_WORDS = 0.15  # share from which a file is unlike training
AT_LEAST = 200  # words: fewer say nothing
SAMPLED = 500  # texts of a block that are looked at
UNKNOWN_OF_ONE = 0.5  # share of the words of a single text, above which it is
SHOWN = 5  # unknown words that are named
WORD = re.compile(r"[^\W_]{2,}")


class Drift:
    """Collects what texts are like.

    Args:
        model: a trained model.
    """

    def __init__(self, model: LoadedModel) -> None:
        self.known = _known(model)
        """The words that the model (of an ensemble: the member with most) knows."""
        self._folded = _folded(model)
        self.words = self.unknown = 0
        self.use = WordUse(model)

    def add(self, texts: Sequence[str]) -> None:
        """Look at a sample of a part of a file."""
        self.use.add(texts)
        if self.known is not None:
            sample = texts[:: max(1, len(texts) // SAMPLED)]
            content = list(chain.from_iterable(_content(text, folded=self._folded) for text in sample))
            self.words += len(content)
            self.unknown += sum(word not in self.known for word in content)

    @property
    def unknown_words(self) -> float | None:
        """Share of the words that the model does not know; None if it cannot tell, or there are few."""
        return self.unknown / self.words if self.words >= AT_LEAST else None

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each sign that is there."""
        why = "so the threshold and the probabilities may not hold. Label pairs of this file to check (twicetold label)"
        if (unknown := self.unknown_words) is not None and unknown > UNKNOWN_WORDS:
            yield f"the model does not know {unknown:.0%} of the words (of texts like its own, up to 11 %), {why}"
        yield from self.use.warnings()


def drift_of_text(model: LoadedModel, text: str) -> str | None:
    """Return the part of a single text that the model does not know, if that is most of it."""
    known, words = _known(model), _content(text, folded=_folded(model))
    unknown = [] if known is None else [word for word in words if word not in known]
    if len(unknown) > UNKNOWN_OF_ONE * len(words):
        return f"{len(unknown)} of its {len(words)} words ({', '.join(map(repr, unknown[:SHOWN]))})"
    one = model.trained.read([text])
    if one.searchable and blank(one.search_matrices(np.arange(1))[0]):
        return "any of its terms"
    return None


def blank(vectors: Matrix) -> int:
    """Count texts whose vector is zero: the model knows none of their terms, so they are like no other text."""
    there = vectors.any(axis=1) if isinstance(vectors, np.ndarray) else vectors.getnnz(axis=1) > 0
    return int(vectors.shape[0] - np.count_nonzero(there))


def _content(text: str, *, folded: bool) -> list[str]:
    """Return words of a text that are no stop words, in their normal form if `folded`, else in lower case."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # with it come rich and much more

    text = normal_form([text])[0] if folded else text.lower()
    return [word for word in WORD.findall(text) if word not in ENGLISH_STOP_WORDS]


def _folded(model: LoadedModel) -> bool:
    """Return true if the model reads texts in their normal form."""
    from twicetold.features.folded import FoldedTerms  # with it come rich and much more, from scikit-learn

    return any(isinstance(featuriser, FoldedTerms) for featuriser in featurisers(model.trained))


def _known(model: LoadedModel) -> frozenset[str] | None:
    """Return words that a model knows; None if its features have no vocabulary of words."""
    found = [words for featuriser in featurisers(model.trained) if (words := _words(featuriser))]
    return max(found, key=len, default=None)


def _words(featuriser: object) -> frozenset[str]:
    """Return the words of a featuriser, lower-cased; none if it has no vocabulary of words."""
    found = getattr(featuriser, "words_", None) or getattr(featuriser, "vocabulary_", None) or ()
    words = frozenset(str(word).lower() for word in found)
    return words if any(len(word) > 1 for word in words) else frozenset()  # else single characters
