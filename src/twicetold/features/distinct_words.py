"""Words of many texts without a loop per text: one flat array of code points, split at every non-letter.

Words are runs of letters and digits, lower-cased. Each distinct word of a chunk is stored once and referred to by
number, so that expensive operations run once per distinct word.

Shape letters: N texts of a chunk, W their words, D distinct words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CHUNK = 1 << 21  # characters that are split at once, in some 100 MB
LONG = re.compile("[\U00010000-\U0010ffff]")  # letters beyond the Basic Multilingual Plane
BEYOND = 0xFFFD  # stands for every one of them, so that a letter takes 16 bits


@dataclass(frozen=True)
class SplitWords:
    """The words of some consecutive texts."""

    offsets: NDArray[np.int64]
    """(N + 1,) text i has the words `number[offsets[i] : offsets[i + 1]]`."""
    number: NDArray[np.int32]
    """(W,) which distinct word each word is."""
    distinct: pa.BinaryArray
    """(D,) the distinct words, in UTF-16."""

    def text(self) -> NDArray[np.int64]:
        """Return (W,) which text each word belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def split(texts: Sequence[str]) -> Iterator[SplitWords]:
    """Yield words of all texts, in chunks of about `CHUNK` characters."""
    chunk = np.cumsum(_lengths(texts)) // CHUNK
    for start, end in pairwise([0, *(np.flatnonzero(np.diff(chunk)) + 1), len(texts)]):
        yield _split(texts[start:end])


def encoded(words: Sequence[str]) -> pa.BinaryArray:
    """Return words in the form of `SplitWords.distinct`."""
    return pa.array([LONG.sub(chr(BEYOND), word).encode("utf-16-le") for word in words], pa.binary())


def decoded(words: pa.BinaryArray) -> list[str]:
    """Return the same as strings."""
    return [word.decode("utf-16-le") for word in words.to_pylist()]


def _split(texts: Sequence[str]) -> SplitWords:
    joined = "\0".join(texts).encode("utf-32-le", "surrogatepass")
    letters = _folded()[np.frombuffer(joined, "<u4")]
    inside = np.zeros(len(letters) + 2, bool)
    np.not_equal(letters, 0, out=inside[1:-1])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    bounds = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(2 * (ends - starts), out=bounds[1:])
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(letters[inside[1:-1]])]
    words = pa.Array.from_buffers(pa.binary(), len(starts), buffers).dictionary_encode()
    text_ends = np.cumsum(_lengths(texts) + 1)  # one separator each
    offsets = np.concatenate([[0], np.searchsorted(starts, text_ends)])
    return SplitWords(offsets, words.indices.to_numpy(), words.dictionary)


def _lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.fromiter(map(len, texts), np.int64, len(texts))


@lru_cache(maxsize=1)
def _folded() -> NDArray[np.uint16]:
    """Return for each code point its lower-case letter, or 0 if it is neither letter nor digit."""
    every = np.arange(0x110000, dtype=np.uint32)
    letters = every[np.strings.isalnum(every.view("U1"))]
    table = np.zeros(len(every), np.uint16)
    table[letters] = [ord(chr(c).lower()[0]) if c <= 0xFFFF else BEYOND for c in letters.tolist()]
    return table
