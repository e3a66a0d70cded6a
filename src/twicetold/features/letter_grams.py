"""Word hashing: a word as its letter n-grams, `#good#` as #go, goo, ood and od#.

With n = 1 a word is its letters, without the marks at its ends: for writing whose single characters mean something, as
Chinese, where a run of letters between two punctuation marks is one word.

Huang et al., Learning Deep Structured Semantic Models for Web Search using Clickthrough Data, CIKM 2013, section 3.2.

Shape letters: D words, K letter n-grams of all of them, G distinct n-grams.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MARK = ord("#")  # both ends of a word
SIZES = (1, 2, 3, 4)  # letters of 16 bits that fit into one number


def letter_grams(words: pa.BinaryArray, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The letter n-grams of each word, in order and with repetitions.

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
    """n-grams as strings."""
    shifts = np.arange(16 * (size - 1), -1, -16, dtype=np.uint64)
    letters = (grams[:, None] >> shifts & np.uint64(0xFFFF)).astype("<u2").tobytes().decode("utf-16-le")
    return [letters[start : start + size] for start in range(0, len(letters), size)]


def as_numbers(grams: Sequence[str], size: int) -> NDArray[np.uint64]:
    """The inverse of `as_strings`."""
    letters = np.frombuffer("".join(grams).encode("utf-16-le"), "<u2").reshape(len(grams), size)
    shifts = np.arange(16 * (size - 1), -1, -16, dtype=np.uint64)
    numbers: NDArray[np.uint64] = np.bitwise_or.reduce(letters.astype(np.uint64) << shifts, axis=1)
    return numbers


def find(
    sorted_values: NDArray[np.generic], values: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Position of each value in a sorted array, and whether it is present."""
    if not len(sorted_values):
        return np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return place, sorted_values[place] == values


def colliding(grams: NDArray[np.uint64], offsets: NDArray[np.int64]) -> int:
    """Number of words whose n-grams, with counts, are those of another word as well."""
    word = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ordered = grams[np.lexsort((grams, word))]
    buffers = [None, pa.py_buffer((8 * offsets).astype(np.int64)), pa.py_buffer(ordered)]
    number = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers).dictionary_encode().indices.to_numpy()
    return int((np.bincount(number)[number] > 1).sum()) if len(number) else 0
