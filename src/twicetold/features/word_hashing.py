"""Word hashing: a text as counts of the letter n-grams of its words, and of frequent words and word pairs if wished.

Huang et al., Learning Deep Structured Semantic Models for Web Search using Clickthrough Data, CIKM 2013, section 3.2:
letter trigrams keep the input small for any vocabulary, and most trigrams of an unseen word have been seen.

A word is its letter n-grams, `#good#` those of #go, goo, ood and od#. With n = 1 a word is its letters, without the
marks at its ends: for writing whose single characters mean something, as Chinese, where a run of letters between two
punctuation marks is one word.


Shape letters: N texts, W words, D distinct words, K stored entries, L letter n-grams, F frequent words, P word pairs, G
distinct n-grams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.features.cached import Positions, cached
from twicetold.features.distinct_words import SplitWords, decoded, encoded, split
from twicetold.features.rows import CsrRows, Declared, runs

MARK = ord("#")  # both ends of a word
SIZES = (1, 2, 3, 4)  # letters of 16 bits that fit into one number
PUBLISHED = {"words": 500_000, "letter_grams": 30_000, "collisions": 22, "collisions_percent": 0.0044}
"""Letter trigrams of the paper's vocabulary, table 1."""


def letter_grams(words: pa.BinaryArray, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the letter n-grams of each word, in order and with repetitions.

    Args:
        words: (D,) words in UTF-16, none empty.
        size: n, one of `SIZES`. A word of fewer than n − 2 letters has none.

    Returns:
        (K,) n-grams, their letters packed into one number each, and (D + 1,) offsets: the n-grams of word i are
        those from `offsets[i]` to `offsets[i + 1]`.

    Raises:
        ValueError: if `size` is another one.
    """
    if size not in SIZES:
        raise ValueError(f"letter n-grams have n of {SIZES}, got {size}")
    _, bounds, letters = words.buffers()
    bounds = np.frombuffer(bounds, np.int32)[words.offset : words.offset + len(words) + 1] // 2
    marks = bounds - bounds[0] + np.arange(len(bounds))  # #one#two#: neighbours share a mark
    flat = np.full(marks[-1] + 1, MARK, np.uint64)
    is_letter = np.ones(len(flat), bool)
    is_letter[marks] = False
    if len(words):
        flat[is_letter] = np.frombuffer(letters, np.uint16)[bounds[0] : bounds[-1]]
    windows = max(len(flat) - size + 1, 0)
    grams = np.zeros(windows, np.uint64)
    within = np.ones(windows, bool)
    for step in range(size):
        grams = grams << np.uint64(16) | flat[step : step + windows]
        if 0 < step < size - 1 or size == 1:  # a mark is allowed at either end only, and never alone
            within &= is_letter[step : step + windows]
    before = np.concatenate([[0], np.cumsum(within)])
    return grams[within], before[np.minimum(marks, windows)]


def as_strings(grams: NDArray[np.uint64], size: int) -> list[str]:
    """Return n-grams as strings."""
    shifts = np.arange(16 * (size - 1), -1, -16, dtype=np.uint64)
    letters = (grams[:, None] >> shifts & np.uint64(0xFFFF)).astype("<u2").tobytes().decode("utf-16-le")
    return [letters[start : start + size] for start in range(0, len(letters), size)]


def as_numbers(grams: Sequence[str], size: int) -> NDArray[np.uint64]:
    """Invert `as_strings`."""
    letters = np.frombuffer("".join(grams).encode("utf-16-le"), "<u2").reshape(len(grams), size)
    shifts = np.arange(16 * (size - 1), -1, -16, dtype=np.uint64)
    numbers: NDArray[np.uint64] = np.bitwise_or.reduce(letters.astype(np.uint64) << shifts, axis=1)
    return numbers


def find(
    sorted_values: NDArray[np.generic], values: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of each value in a sorted array, and whether it is present."""
    if not len(sorted_values):
        return np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return place, sorted_values[place] == values


def card(columns: NDArray[np.int64], offsets: NDArray[np.int64], letter_grams: int) -> dict[str, Any]:
    """Return numbers of words, of their n-grams, and of words whose n-grams, with counts, are those of another word.

    Args:
        columns: of the words' n-grams, in the order of `letter_grams`.
        offsets: where each word's begin.
        letter_grams: number of distinct ones.
    """
    word = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ordered = np.sort(word << 32 | columns) & 0xFFFFFFFF  # several times faster than np.lexsort
    buffers = [None, pa.py_buffer((8 * offsets).astype(np.int64)), pa.py_buffer(ordered)]
    number = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers).dictionary_encode().indices.to_numpy()
    words, collisions = len(number), int((np.bincount(number)[number] > 1).sum()) if len(number) else 0
    shares = {"collisions": collisions, "collisions_percent": 100 * collisions / words}
    return {"words": words, "letter_grams": letter_grams, **shares, "published": PUBLISHED}


@dataclass(eq=False)
class WordHashing(Declared):
    """Counts over letter n-grams, then frequent words, then frequent pairs of neighbouring words, of the train texts.

    Args:
        letters: n of the letter n-grams, 1 to 4; 0 for none. Letters alone (1) are for Chinese and the like.
        words: 0 for letters alone, 1 to count words as well, 2 to count words and pairs of neighbours.
        max_features: how many columns words and pairs get together, most frequent first; None for all.

    Attributes:
        letter_grams_: the n-grams, in column order.
        words_: the frequent words, in column order.
        pairs_: (P,) int64, sorted: first word · F + second word of each frequent pair, in column order.
        card_: words of the train texts, their distinct letter n-grams, and how many words collide, that is share all
            their n-grams with another word; `published` has the paper's figures. None without letters.
    """

    letters: int = 3
    words: int = 0
    max_features: int | None = None

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the columns.

        Raises:
            ValueError: if the texts have no word, or a setting is wrong.
        """
        if self.words not in (0, 1, 2) or (self.letters == 0 and self.words == 0):
            raise ValueError(f"expected words 0, 1 or 2, and above 0 without letters; got {self.words}")
        chunks = list(split(texts))
        whole = pa.concat_arrays([chunk.distinct for chunk in chunks]).dictionary_encode()
        if not len(whole):
            raise ValueError(f"no word in the {len(texts)} train texts: expected letters or digits")
        self.letter_grams_: list[str] = []
        self.card_: dict[str, Any] | None = None
        if self.letters:
            grams, offsets = letter_grams(whole.dictionary, self.letters)
            distinct, columns = np.unique(grams, return_inverse=True)
            self.letter_grams_ = as_strings(distinct, self.letters)
            self.card_ = card(columns, offsets, len(distinct))
        ends = np.cumsum([len(chunk.distinct) for chunk in chunks])
        number = whole.indices.to_numpy()
        numbers = [number[end - len(c.distinct) : end][c.number] for c, end in zip(chunks, ends, strict=True)]
        self._choose(whole.dictionary, numbers, [chunk.offsets for chunk in chunks])
        return self

    def _choose(
        self, distinct: pa.BinaryArray, numbers: list[NDArray[np.int32]], offsets: list[NDArray[np.int64]]
    ) -> None:
        """Choose the frequent words and pairs, from the words of each chunk and where its texts begin.

        A pair is never more frequent than its words, and ties go to words, so the words of a chosen pair are chosen.
        """
        count = np.bincount(np.concatenate(numbers), minlength=len(distinct))
        alphabetical = pc.array_sort_indices(distinct).to_numpy()
        pairs, pair_counts = np.empty(0, np.int64), np.empty(0, np.int64)
        if self.words == 2:
            first, second = (np.concatenate(side) for side in zip(*map(neighbours, numbers, offsets), strict=True))
            place = np.argsort(alphabetical)  # so that the order of pairs does not depend on that of texts
            pairs, pair_counts = np.unique(place[first] * len(distinct) + place[second], return_counts=True)
        both = np.concatenate([count[alphabetical] * bool(self.words), pair_counts])
        chosen = np.argsort(-both, kind="stable")[: self.max_features if self.words else 0]
        words = np.sort(chosen[chosen < len(distinct)])
        pairs = pairs[np.sort(chosen[chosen >= len(distinct)]) - len(distinct)]
        self.words_ = decoded(distinct.take(pa.array(alphabetical[words])))
        first, second = np.searchsorted(words, np.stack([pairs // len(distinct), pairs % len(distinct)]))
        self.pairs_ = first * len(words) + second

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one row of counts per text; a text without a known word has an empty row."""
        self.require_fitted()
        grams = cached(self, as_numbers, self.letter_grams_, self.letters)
        width = self.shape["width"]
        parts = [counted(self._columns(chunk, grams), len(chunk.offsets) - 1, width) for chunk in split(texts)]
        lengths, columns, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        return CsrRows(np.concatenate([[0], np.cumsum(lengths)]), columns, counts, width)

    def _columns(
        self, chunk: SplitWords, grams: NDArray[np.uint64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return text and column of each entry, with repetitions, by kind."""
        text, entries = chunk.text(), []
        if self.letters:
            column, offsets = known_grams(chunk.distinct, grams, self.letters)
            lengths = np.diff(offsets)[chunk.number]
            entries.append((np.repeat(text, lengths), column[runs(offsets[chunk.number], lengths)]))
        if self.words:
            known = cached(self, word_places, self.words_).of(chunk.distinct)[chunk.number]
            entries.append((text[known >= 0], len(grams) + known[known >= 0]))
        if self.words == 2:
            inner = np.flatnonzero((text[1:] == text[:-1]) & (known[1:] >= 0) & (known[:-1] >= 0))
            place, known_pair = find(self.pairs_, known[inner] * len(self.words_) + known[inner + 1])
            entries.append((text[inner[known_pair]], len(grams) + len(self.words_) + place[known_pair]))
        return entries

    @property
    def shape(self) -> Mapping[str, int]:
        """`width`: number of columns."""
        return {"width": len(self.letter_grams_) + len(self.words_) + len(self.pairs_)}

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) n-grams, words and pairs of words in column order, as scikit-learn's transformers do."""
        words = np.array(self.words_, object)
        first, second = np.divmod(self.pairs_, max(len(words), 1))
        return np.concatenate([np.array(self.letter_grams_, object), words, words[first] + " " + words[second]])


def word_places(words: list[str]) -> Positions:
    """Return positions of words in the form of `SplitWords.distinct`."""
    return Positions(encoded(words))


def known_grams(
    words: pa.BinaryArray, grams: NDArray[np.uint64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return columns of each word's known letter n-grams, and (D + 1,) offsets: where each word's begin."""
    all_grams, offsets = letter_grams(words, size)
    column, is_known = find(grams, all_grams)
    return column[is_known], np.concatenate([[0], np.cumsum(is_known)])[offsets]


def neighbours(number: NDArray[np.int32], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and second word of each pair of neighbours within a text."""
    inner = np.ones(max(len(number) - 1, 0), bool)
    inner[offsets[(offsets > 0) & (offsets < len(number))] - 1] = False
    return number[:-1][inner].astype(np.int64), number[1:][inner].astype(np.int64)


def counted(
    entries: list[tuple[NDArray[np.int64], NDArray[np.int64]]], texts: int, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return row lengths, columns and counts of (text, column) entries: cells are sorted, equal ones fall together."""
    fits: Any = np.uint32 if texts * width < 2**32 else np.int64  # 32 bits sort twice as fast
    cells = np.concatenate([text.astype(fits) * fits(width) + column.astype(fits) for text, column in entries])
    cells.sort()
    new = np.ones(len(cells) + 1, bool)
    np.not_equal(cells[1:], cells[:-1], out=new[1:-1])
    firsts = np.flatnonzero(new)
    text, column = np.divmod(cells[firsts[:-1]], fits(width))
    return (
        np.bincount(text.astype(np.int64), minlength=texts),
        column.astype(np.int32),
        np.diff(firsts).astype(np.float32),
    )
