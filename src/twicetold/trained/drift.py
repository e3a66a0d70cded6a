"""Drift of texts and scores from those that a model was trained and validated on.

Two signs besides the use of common words (`word_use`), where a model has what they need:

- **Unknown words**, for features with a vocabulary of words. Stop words and single letters do not count. Of the test
  texts of their own corpus, `tfidf` and `static` of `quora_wang`, `uci_news` and `stsb` do not know 3 to 11 % of the
  words; of the test texts of the other two, 8 to 28 %, in nine of twelve cases more than 20 %.
- **Scores**, for a run folder, which has the scores of validation. In a file with another share of duplicates, but else
  alike, scores are distributed as a mixture π F₁ + (1 − π) F₀ of those of validation's duplicates and other pairs. The
  sign is the largest distance of the file's distribution from the nearest such mixture, as in Kolmogorov and Smirnov's
  test. Test pairs of their own corpus are at 0.006 to 0.022 (28 models of Quora); for five models of `quora_wang`,
  pairs of `stsb` are at 0.04 to 0.07, pairs of headlines at 0.40 to 0.60. (π by a distance between distributions:
  Forman, Quantifying counts and costs via classification, DMKD 2008.)

A model folder alone does not hold how often words of its own validation texts are unknown, how long they are, and the
scores of validation; with these, limits could be the model's own.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold import layout
from twicetold.neighbours.nearest import Matrix
from twicetold.normal_form import normal_form
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.word_use import WordUse, featurisers

UNKNOWN_WORDS = 0.15  # share from which a file is unlike training
DISTANCE = 0.1  # of distributions, from which scores are unlike validation's
AT_LEAST = 200  # words or scores: fewer say nothing
SAMPLED = 500  # texts of a block that are looked at
BINS = 50  # of validation's scores
BLANK = 0.01  # share of texts without a known term, from which a file is unlike training
UNKNOWN_OF_ONE = 0.5  # share of the words of a single text, above which it is
SHOWN = 5  # unknown words that are named
WORD = re.compile(r"[^\W_]{2,}")


class Drift:
    """Collects what texts and scores are like.

    Args:
        model: a trained model.
    """

    def __init__(self, model: LoadedModel) -> None:
        self.known = _known(model)
        """The words that the model (of an ensemble: the member with most) knows."""
        self._folded = _folded(model)
        self.words = self.unknown = 0
        self.edges, self.validation = _validation(model)
        self.counts = np.zeros(len(self.edges) + 1, np.int64)
        self.use = WordUse(model)

    def add(self, texts: Sequence[str], scores: NDArray[np.float32] | None = None) -> None:
        """Look at a part of a file: a sample of its texts, and all scores."""
        self.use.add(texts)
        if scores is not None and len(self.edges):
            self.counts += np.bincount(np.searchsorted(self.edges, scores), minlength=len(self.counts))
        if self.known is not None:
            sample = texts[:: max(1, len(texts) // SAMPLED)]
            content = list(chain.from_iterable(_content(text, folded=self._folded) for text in sample))
            self.words += len(content)
            self.unknown += sum(word not in self.known for word in content)

    @property
    def unknown_words(self) -> float | None:
        """Share of the words that the model does not know; None if it cannot tell, or there are few."""
        return self.unknown / self.words if self.words >= AT_LEAST else None

    @property
    def distance(self) -> float | None:
        """Distance of the scores from the nearest mixture; None without validation scores, or with few scores."""
        total = int(self.counts.sum())
        if not len(self.edges) or total < AT_LEAST:
            return None
        found = np.cumsum(self.counts)[:-1] / total
        share = np.linspace(0, 1, 101)[:, None]
        mixtures = share * self.validation[1] + (1 - share) * self.validation[0]
        return float(np.abs(mixtures - found).max(axis=1).min())

    def warnings(self) -> Iterator[str]:
        """A sentence for each sign that is there."""
        why = "so the threshold and the probabilities may not hold. Label pairs of this file to check (twicetold label)"
        if (unknown := self.unknown_words) is not None and unknown > UNKNOWN_WORDS:
            yield f"the model does not know {unknown:.0%} of the words (of texts like its own, up to 11 %), {why}"
        if (distance := self.distance) is not None and distance > DISTANCE:
            yield (
                f"the scores are distributed unlike those of validation, whatever the share of duplicates (distance "
                f"{distance:.2f}), {why}"
            )
        yield from self.use.warnings()


def drift_of_text(model: LoadedModel, text: str) -> str | None:
    """The part of a single text that the model does not know, if that is most of it."""
    known, words = _known(model), _content(text, folded=_folded(model))
    unknown = [] if known is None else [word for word in words if word not in known]
    if len(unknown) > UNKNOWN_OF_ONE * len(words):
        return f"{len(unknown)} of its {len(words)} words ({', '.join(map(repr, unknown[:SHOWN]))})"
    one = model.trained.read([text])
    if one.searchable and blank(one.search_matrices(np.arange(1))[0]):
        return "any of its terms"
    return None


def blank(vectors: Matrix) -> int:
    """Number of texts whose vector is zero: the model knows none of their terms, so they are like no other text."""
    there = vectors.any(axis=1) if isinstance(vectors, np.ndarray) else vectors.getnnz(axis=1) > 0
    return int(vectors.shape[0] - np.count_nonzero(there))


def _content(text: str, *, folded: bool) -> list[str]:
    """Words of a text that are no stop words, in their normal form if `folded`, else in lower case."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # with it come rich and much more

    text = normal_form([text])[0] if folded else text.lower()
    return [word for word in WORD.findall(text) if word not in ENGLISH_STOP_WORDS]


def _folded(model: LoadedModel) -> bool:
    """True if the model reads texts in their normal form."""
    from twicetold.features.folded import FoldedTerms  # with it come rich and much more, from scikit-learn

    return any(isinstance(featuriser, FoldedTerms) for featuriser in featurisers(model.trained))


def _known(model: LoadedModel) -> frozenset[str] | None:
    """Words that a model knows; None if its features have no vocabulary of words."""
    found = [words for featuriser in featurisers(model.trained) if (words := _words(featuriser))]
    return max(found, key=len, default=None)


def _words(featuriser: object) -> frozenset[str]:
    """The words of a featuriser, lower-cased; none if it has no vocabulary of words."""
    found = getattr(featuriser, "words_", None) or getattr(featuriser, "vocabulary_", None) or ()
    words = frozenset(str(word).lower() for word in found)
    return words if any(len(word) > 1 for word in words) else frozenset()  # else single characters


def _validation(model: LoadedModel) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Edges of bins, and for other pairs and duplicates of validation, the share of the scores below each edge."""
    nothing = np.empty(0, np.float32), np.empty((2, 0))
    file = model.folder.parent / layout.SCORES
    if model.folder.name != layout.MODEL or not file.is_file():
        return nothing
    table = pq.read_table(file, columns=["split", "label", "score"], filters=[("split", "==", "val")])
    score, label = (np.asarray(table[name]) for name in ("score", "label"))
    sides = [np.sort(score[label == value]) for value in (0, 1)]
    if min(map(len, sides)) < AT_LEAST:
        return nothing
    edges = np.unique(np.quantile(score, np.linspace(0, 1, BINS + 1)[1:-1]).astype(np.float32))
    return edges, np.stack([np.searchsorted(side, edges, side="right") / len(side) for side in sides])
