"""Altered copies of texts: words dropped, swapped, misspelt or replaced by similar ones, in all texts at once.

Each word, independently of the others:

    synonym   is replaced by a near word               Wei and Zou, EDA, EMNLP 2019; neighbours instead of WordNet
    typo      has two letters exchanged, or one left   Pruthi, Dhingra and Lipton, Combating Adversarial Misspellings
              out, or one put in                       with Robust Word Recognition, ACL 2019, section 3
    swap      changes places with its neighbour        EDA, whose two words may stand anywhere
    drop      is left out                              Iyyer et al., Deep Unordered Composition, ACL 2015, section 3.1

in this order; a word that was replaced is not misspelt. A typo leaves the first and the last letter alone, and words
of less than four letters or with a digit altogether, as readers forgive no other (Pruthi et al.). For exchanges the
words of a text are paired off, from its first word on or from its second. At least one word of a text always stays.

Words are separated by white space. A text without an alteration is unchanged, byte for byte; in other texts a run of
white space becomes one blank.

Synonyms are nearest neighbours among pretrained vectors. Wei and Zou replace words that are no stop words by synonyms
of WordNet. Neighbours by cosine need no dictionary; they are words of similar use, so antonyms and co-hyponyms (`buy`,
`sell`; `May`, `June`) are among them. Punctuation at the ends of words is ignored. Only words of the given texts are
synonyms, so that a featuriser fitted on these texts knows the more frequent ones; none has a digit.

Shape letters: N texts, K words, U distinct words, M words to be misspelt, L letters, W words that are compared, k
neighbours.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.features.vectors import word_vectors

LETTERS = np.frombuffer("abcdefghijklmnopqrstuvwxyz".encode("utf-32-le"), "<u4")
MISSPELT = r"^\PN{4,}$"  # what may have a typo: four letters or more, and no digit
BETWEEN = "\n"  # words that are taken apart into letters; no word holds white space
FREQUENT = 20_000  # words that are compared, each with each
ENDS = r"(?s)^(?P<before>[^\pL]*)(?P<core>.*?)(?P<after>[^\pL]*)$"
LETTERS_ONLY = r"^\pL[\pL'’-]*$"


@dataclass(frozen=True)
class Synonyms:
    """The near words of each distinct word."""

    there: NDArray[np.bool_]
    """(U,) whether it has any."""
    row: NDArray[np.int64]
    """(U,) which of the compared words it is; -1 for none."""
    parts: pa.StructArray
    """(U,) `before` and `after`, its punctuation, and `core`, what stands between."""
    words: pa.LargeStringArray
    """(W,) the compared words, in lower case."""
    neighbours: NDArray[np.int64]
    """(W, k) numbers of each one's near words, the nearest first; -1 where there are fewer."""

    def drawn(self, code: NDArray[np.int32], rng: np.random.Generator) -> pa.LargeStringArray:
        """(M,) one of the near words for each of the given words, all with the same chance.

        Punctuation and a capital at the beginning stay.

        Args:
            code: (M,) which distinct words; each has a near word.
            rng: chooses.
        """
        neighbours = self.neighbours[self.row[code]]
        which = (rng.random(len(code)) * (neighbours >= 0).sum(1)).astype(np.int64)
        word = self.words.take(pa.array(neighbours[np.arange(len(code)), which]))
        parts = self.parts.take(pa.array(code))
        word = pc.if_else(pc.utf8_is_title(parts.field("core")), pc.utf8_capitalize(word), word)
        return pc.binary_join_element_wise(parts.field("before"), word, parts.field("after"), pa.scalar("", word.type))


@dataclass(frozen=True)
class Alterations:
    """Probabilities of each kind of alteration of a word.

    Args:
        drop: probability of dropping a word.
        swap: probability of swapping a pair of neighbours.
        typo: probability of misspelling a word of four letters or more.
        synonym: probability of replacing a word that has synonyms by one of them.
        vectors: file in GloVe's text format, whose nearest neighbours are the synonyms; None for no synonyms.
        nearest: maximum number of synonyms of a word.
        least_cosine: minimum cosine of a synonym.

    Raises:
        ValueError: if a probability is out of range, or `synonym` is above 0 without `vectors`.
    """

    drop: float
    swap: float
    typo: float
    synonym: float
    vectors: str | None
    nearest: int
    least_cosine: float

    def __post_init__(self) -> None:
        for name in ("drop", "swap", "typo", "synonym"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"augmentation.{name} is a chance from 0 to 1; got {getattr(self, name)}")
        if self.nearest < 1:
            raise ValueError(f"augmentation.nearest must be at least 1; got {self.nearest}")
        if self.synonym and self.vectors is None:
            raise ValueError(
                f"augmentation.synonym={self.synonym} takes synonyms from pretrained vectors and there are none: name "
                "a file (augmentation.vectors=data/pretrained/glove/glove.6B.50d.txt), or set it to 0"
            )

    def copies(self, texts: Sequence[str], count: int, *, seed: int) -> list[str]:
        """Altered copies, the first of all texts, then the second of all texts.

        Args:
            texts: N of them; their own words are what a word may be replaced by.
            count: copies of each.
            seed: of all draws.
        """
        source = pa.array(texts, pa.large_string())
        split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(source))
        offsets, spelt = split.offsets.to_numpy().astype(np.int64), split.flatten().dictionary_encode()
        synonyms = None
        if self.synonym and self.vectors is not None:
            synonyms = synonyms_of(spelt, Path(self.vectors), nearest=self.nearest, least=self.least_cosine)
        made: list[str] = []
        for number in range(count):
            made += self._copy(source, offsets, spelt, synonyms, np.random.default_rng([seed, number])).to_pylist()
        return made

    def _copy(
        self,
        source: pa.LargeStringArray,
        offsets: NDArray[np.int64],
        spelt: pa.DictionaryArray,
        synonyms: Synonyms | None,
        rng: np.random.Generator,
    ) -> pa.LargeStringArray:
        code, words = spelt.indices.to_numpy(), spelt.dictionary.take(spelt.indices)
        draw = rng.random((4, len(code)))
        replaced = np.zeros(len(code), bool)
        if synonyms is not None:
            replaced = synonyms.there[code] & (draw[0] < self.synonym)
            words = pc.replace_with_mask(words, replaced, synonyms.drawn(code[replaced], rng))
        misspelt = pc.match_substring_regex(spelt.dictionary, MISSPELT).to_numpy(zero_copy_only=False)[code]
        misspelt &= ~replaced & (draw[1] < self.typo)
        words = pc.replace_with_mask(words, misspelt, with_typo(words.filter(pa.array(misspelt)), rng))
        order = exchanged(offsets, draw[2] < self.swap, rng)
        kept = leaving_one(offsets, draw[3] >= self.drop, rng)
        altered = replaced | misspelt | (order != np.arange(len(order))) | ~kept
        ends = np.concatenate([[0], np.cumsum(kept)])[offsets]
        lists = pa.LargeListArray.from_arrays(pa.array(ends), words.take(pa.array(order[kept])))
        joined = pc.binary_join(lists, pa.scalar(" ", pa.large_string()))
        return pc.if_else(pa.array(_any(altered, offsets)), joined, source)


def with_typo(words: pa.LargeStringArray, rng: np.random.Generator) -> pa.LargeStringArray:
    """(M,) the words, each of at least four letters, with two inner letters exchanged, one left out, or one put in."""
    if not len(words):
        return words
    letters = np.frombuffer(BETWEEN.join(words.to_pylist()).encode("utf-32-le"), "<u4").copy()  # (L,)
    length = pc.utf8_length(words).to_numpy()
    starts = np.cumsum(length + 1) - length - 1
    kind = rng.integers(3, size=len(words))  # 0 exchanges two letters, 1 leaves one out, 2 puts one in
    place = starts + 1 + (rng.random(len(words)) * (length - 3 + kind)).astype(np.int64)
    first = place[kind == 0]
    letters[first], letters[first + 1] = letters[first + 1], letters[first]
    times = np.ones(len(letters), np.int64)
    times[place[kind == 1]] = 0
    times[place[kind == 2]] = 2
    written = np.repeat(letters, times)
    new = np.cumsum(times)[place[kind == 2]] - 2
    written[new] = rng.choice(LETTERS, len(new))
    return pa.array(written.tobytes().decode("utf-32-le").split(BETWEEN), pa.large_string())


def exchanged(offsets: NDArray[np.int64], change: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """(K,) order of the words in which pairs of neighbours have changed places.

    Args:
        offsets: (N + 1,) text i has the words `offsets[i]` to `offsets[i + 1]`.
        change: (K,) for each word, whether it changes places with the next one, if the two are a pair.
        rng: says whether a text's words are paired off from its first or from its second.
    """
    length = np.diff(offsets)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], length)
    odd = np.repeat(rng.integers(2, size=len(length)), length)
    first = np.flatnonzero(change & (place % 2 == odd) & (place + 1 < np.repeat(length, length)))
    order = np.arange(offsets[-1])
    order[first], order[first + 1] = first + 1, first
    return order


def leaving_one(offsets: NDArray[np.int64], kept: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """(K,) the words that are kept, and of a text that would keep none, one of its words.

    Args:
        offsets: (N + 1,) text i has the words `offsets[i]` to `offsets[i + 1]`, one at least.
        kept: (K,) words to keep.
        rng: chooses the one.
    """
    one = offsets[:-1] + (rng.random(len(offsets) - 1) * np.diff(offsets)).astype(np.int64)
    kept = kept.copy()
    kept[one[~_any(kept, offsets)]] = True
    return kept


def _any(words: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(N,) whether a text has such a word."""
    return np.diff(np.concatenate([[0], np.cumsum(words)])[offsets]) > 0


logging.getLogger("faiss").setLevel(logging.WARNING)  # it logs which processors it was not built for


def synonyms_of(spelt: pa.DictionaryArray, vectors: Path, *, nearest: int, least: float) -> Synonyms:
    """Near words of the distinct words of some texts, for the `FREQUENT` most frequent ones with a vector.

    Args:
        spelt: every word of the texts, as dictionary of U words.
        vectors: file in GloVe's text format.
        nearest: k.
        least: least cosine of near words.

    Raises:
        FileNotFoundError: if the file is not there and is none that can be fetched.
    """
    import faiss  # takes a moment, and so does scikit-learn
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    parts = pc.extract_regex(spelt.dictionary, ENDS)
    core = pc.utf8_lower(parts.field("core"))
    fit = pc.and_(
        pc.match_substring_regex(core, LETTERS_ONLY), pc.invert(pc.is_in(core, pa.array(ENGLISH_STOP_WORDS, core.type)))
    )
    occurs = np.bincount(spelt.indices.to_numpy(), minlength=len(core))
    distinct = (
        pa.table({"core": core, "occurs": occurs})
        .filter(fit)
        .group_by("core", use_threads=False)
        .aggregate([("occurs", "sum")])
    )
    frequent = distinct.sort_by([("occurs_sum", "descending"), ("core", "ascending")])["core"][
        :FREQUENT
    ].combine_chunks()
    vectors_of_words = word_vectors(vectors, frequent.to_pylist())
    length = np.linalg.norm(vectors_of_words, axis=1)
    words, unit = frequent.filter(pa.array(length > 0)), vectors_of_words[length > 0] / length[length > 0, None]
    row = np.asarray(pc.fill_null(pc.index_in(core, words), -1)).astype(np.int64)
    cosine, near = faiss.knn(unit, unit, min(nearest + 1, len(unit)), metric=faiss.METRIC_INNER_PRODUCT)
    keep = (cosine >= least) & (near != np.arange(len(unit))[:, None])
    near = np.take_along_axis(np.where(keep, near, -1), np.argsort(~keep, axis=1, kind="stable"), axis=1)[:, :nearest]
    has = np.append((near >= 0).any(1), False)  # the last is for row -1
    return Synonyms(has[row], row, parts, words, near)
