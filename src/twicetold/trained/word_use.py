"""Comparison of a file's use of common words with that of the texts that a model was trained on.

Texts of another kind have their own common words: questions have `what` and `how`, captions have `a`, `man` and `is`.
So where a model knows how often each word occurs in its train texts, the sign is half the sum of the differences of
shares, over the words that are most frequent in these texts, and all others together: the total variation distance, 0
if all shares are equal and 1 if no word is common to both. It says that the texts are of another kind also where every
word of them is known. docs/guides/using-a-model.md says how often it is right.

How often words occur is

- in the features of families that weigh words by their counts, such as `word2vec`;
- in the inverse document frequencies of `tfidf` and `bm25`, from which the number of texts with a word follows;
- to be guessed where only the frequent words and the frequent pairs of neighbours are held, as by `static` and its
  kin: the more frequent a word, the more such pairs it is in. The shares are taken to grow with a power of that number,
  chosen so that texts of one kind come close. They come less close, so the limit is higher.

Families that read letters, subwords or the tokens of a pretrained model hold nothing of the kind: the sign is not
known.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.trained.ensemble import Ensemble
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import Scorer, TrainedModel

COMMON = 200  # most frequent words of the train texts
DISTANCE = 0.2  # from which on texts are of another kind
GUESSED = 0.25  # the same where shares are guessed from pairs of neighbours
POWER = 1.2  # of the number of pairs that a word is in
AT_LEAST = 500  # known words: with fewer, texts of one kind can be as far apart
SAMPLED = 500  # texts of a block that are looked at
SHOWN = 3  # words that are named
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Expected:
    """Common words of the train texts.

    Args:
        known: every known word, lower-cased -> its place, which for all that are not common is the last one.
        share: (COMMON + 1,) of the known words of the train texts, at each place.
        once: whether a word counts once in a text, as in document frequencies.
        limit: distance from which on texts are of another kind.
    """

    known: dict[str, int]
    share: NDArray[np.float64]
    once: bool
    limit: float


class WordUse:
    """Counts words of a file.

    Args:
        model: a trained model.
    """

    def __init__(self, model: LoadedModel) -> None:
        self.expected = expected(model.trained)
        """None if the model does not hold how often words occur in its train texts."""
        self._found: Counter[int] = Counter()

    def add(self, texts: Sequence[str]) -> None:
        """Look at a sample of a part of the file."""
        if self.expected is None:
            return
        known, once = self.expected.known, self.expected.once
        for text in texts[:: max(1, len(texts) // SAMPLED)]:
            words = WORD.findall(text.lower())
            self._found.update(known[word] for word in (set(words) if once else words) if word in known)

    @property
    def distance(self) -> float | None:
        """From the train texts, 0 to 1; None if it is not known, or there are few known words."""
        difference = self._difference()
        return None if difference is None else float(np.abs(difference).sum() / 2)

    def warnings(self) -> Iterator[str]:
        """Yield a sentence if the sign is there."""
        distance, difference = self.distance, self._difference()
        if distance is None or difference is None or self.expected is None or distance <= self.expected.limit:
            return
        words = {place: word for word, place in self.expected.known.items()}
        most = np.argsort(-np.abs(difference[:-1]), kind="stable")[:SHOWN]
        shown = ", ".join(
            f"{words[place]!r} {self.expected.share[place] + difference[place]:.1%} of the known words, not "
            f"{self.expected.share[place]:.1%}"
            for place in most.tolist()
        )
        yield (
            f"common words are used as in texts of another kind than the model's (distance {distance:.2f}; of texts "
            f"like its own, up to {self.expected.limit:g}): {shown}. So the threshold and the probabilities may not "
            "hold. Label pairs of this file to check (twicetold label)"
        )

    def _difference(self) -> NDArray[np.float64] | None:
        """Return (COMMON + 1,) share of each place less that in the train texts."""
        total = self._found.total()
        if self.expected is None or total < AT_LEAST:
            return None
        counts = np.zeros(len(self.expected.share))
        counts[list(self._found)] = list(self._found.values())
        return counts / total - self.expected.share


def expected(trained: TrainedModel) -> Expected | None:
    """Return common words of a model's train texts; of an ensemble, as the member with most words holds them."""
    found = [each for featuriser in featurisers(trained) if (each := _of(featuriser)) is not None]
    return max(found, key=lambda each: len(each.known), default=None)


def featurisers(trained: TrainedModel) -> Iterator[object]:
    """Yield the featurisers of a model, or of all members of an ensemble."""
    if isinstance(trained, Scorer):
        yield trained.featuriser
    elif isinstance(trained, Ensemble):
        for member in trained.members.values():
            yield from featurisers(member)


def _of(featuriser: object) -> Expected | None:
    """Return the common words that a featuriser holds."""
    from twicetold.features.bm25 import Bm25Weights  # with these come scikit-learn, rich and much more
    from twicetold.features.tfidf import TfIdf
    from twicetold.features.word_hashing import WordHashing

    counts = _counts(featuriser)
    if counts is None:
        return None
    words: dict[str, float] = {}  # spellings that differ in case alone are one word
    for word, count in counts:
        if WORD.fullmatch(word):
            words[word.lower()] = words.get(word.lower(), 0.0) + count
    common = sorted(words, key=lambda word: -words[word])[:COMMON]
    if sum(len(word) > 1 for word in common) < COMMON / 2:  # characters, or too few words to tell kinds apart
        return None
    place = {word: number for number, word in enumerate(common)}
    known = {word: place.get(word, len(common)) for word in words}
    share = np.array([words[word] for word in common] + [sum(words.values()) - sum(words[word] for word in common)])
    once, guessed = isinstance(featuriser, TfIdf | Bm25Weights), isinstance(featuriser, WordHashing)
    return Expected(known, share / share.sum(), once, GUESSED if guessed else DISTANCE)


def _counts(featuriser: object) -> list[tuple[str, float]] | None:
    """Return word frequencies in the train texts, up to a factor; None if unknown."""
    from twicetold.features.word_hashing import WordHashing

    if isinstance(featuriser, WordHashing):
        if not len(featuriser.pairs_):
            return None
        both = np.concatenate(np.divmod(featuriser.pairs_, len(featuriser.words_)))
        pairs = np.bincount(both, minlength=len(featuriser.words_))
        return list(zip(featuriser.words_, ((1.0 + pairs) ** POWER).tolist(), strict=True))
    vocabulary, counts = getattr(featuriser, "vocabulary_", None), _of_vocabulary(featuriser)
    return None if vocabulary is None or counts is None else list(zip(vocabulary, counts.tolist(), strict=True))


def _of_vocabulary(featuriser: object) -> NDArray[np.float64] | None:
    """Return (words,) counts of the words of a vocabulary."""
    from twicetold.features.bm25 import Bm25Weights
    from twicetold.features.tfidf import TfIdf

    if isinstance(featuriser, TfIdf | Bm25Weights):
        # The rarest word is taken to be in one text. If rarer ones were left out, counts are too small by a factor.
        idf = featuriser.idf_.astype(np.float64)
        added = 1.0 if isinstance(featuriser, TfIdf) else 0.5
        return np.asarray(((1 + added) * np.exp(idf.max() - idf) - added).clip(0))
    counts = getattr(featuriser, "counts_", None)
    return None if counts is None else np.asarray(counts[1:], np.float64)  # the first one is of unknown words
