"""Tokenization into words or characters, by array operations on the UTF-8 bytes of a chunk of texts.

Words mostly follow the Penn Treebank's tokeniser (used by `nltk.word_tokenize` and GloVe): every punctuation mark is a
token, and clitics are split off, so that `don't` and the tokenized `do n't` give the same words. Words are runs of
letters, digits and underscores, joined by a hyphen or an apostrophe between two of them (`well-known`, `o'clock`) and
by a point or comma between two digits (`3.5`, `10,000`). `'s 'm 'd 't 're 've 'll` and `n't` are separate tokens, and
so is every other visible character. Curved quotes and long dashes are treated as plain ones.

Shape letters: N texts, K tokens, U distinct tokens, L bytes of a chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

CHUNK = 20_000  # texts at a time: some MB of bytes, which stay in cache
MARGIN = 4  # blanks around a chunk, so that neighbours are always inside it
BETWEEN = "\n"  # texts of a chunk
PLAIN = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2013": "-",
    "\u2014": " - ",
    "\u2026": "...",
    "\u00a0": " ",
    "\u3000": " ",
    "\u200b": "",
}
QUOTES = {"``": '"', "''": '"'}  # as in the Penn Treebank's tokeniser

Bytes: TypeAlias = NDArray[np.uint8]
Mask: TypeAlias = NDArray[np.bool_]
Marks: TypeAlias = Callable[[Bytes], tuple[Mask, Mask]]
"""From the bytes of a chunk to those that begin a token, and those that belong to one; a token has no gap."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of N texts, one text after another."""

    offsets: NDArray[np.int64]
    """(N + 1,); text i has tokens `offsets[i]` to `offsets[i + 1]`."""
    codes: NDArray[np.int32]
    """(K,) which of the spellings each token is."""
    spellings: pa.LargeStringArray
    """(U,) distinct tokens, in the order of their first occurrence."""

    def __len__(self) -> int:
        return len(self.offsets) - 1


def words(texts: Sequence[str], *, lower_case: bool) -> Tokens:
    """Split texts into words."""
    return _cut(texts, _word_marks, lower_case=lower_case, quotes=True)


def characters(texts: Sequence[str], *, lower_case: bool) -> Tokens:
    """Split texts into characters, including the spaces between words."""
    return _cut(texts, _character_marks, lower_case=lower_case, quotes=False)


def _cut(texts: Sequence[str], marks: Marks, *, lower_case: bool, quotes: bool) -> Tokens:
    pieces: list[pa.LargeStringArray] = []
    counts = [np.zeros(1, np.int64)]
    for start in range(0, len(texts), CHUNK):
        chunk = pa.array(texts[start : start + CHUNK], pa.large_string())
        tokens, per_text = _cut_chunk(_plain(chunk, lower_case=lower_case, quotes=quotes), marks)
        pieces.append(tokens)
        counts.append(per_text)
    if not pieces:
        return Tokens(np.zeros(1, np.int64), np.zeros(0, np.int32), pa.array([], pa.large_string()))
    encoded = pa.concat_arrays(pieces).dictionary_encode()
    return Tokens(np.cumsum(np.concatenate(counts)), np.asarray(encoded.indices), encoded.dictionary)


def _plain(texts: pa.LargeStringArray, *, lower_case: bool, quotes: bool) -> pa.LargeStringArray:
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        for curved, straight in PLAIN.items():
            texts = pc.replace_substring(texts, curved, straight)
    for double, straight in QUOTES.items() if quotes else ():
        texts = pc.replace_substring(texts, double, straight)
    texts = pc.utf8_trim_whitespace(texts)
    return pc.utf8_lower(texts) if lower_case else texts


def _cut_chunk(texts: pa.LargeStringArray, marks: Marks) -> tuple[pa.LargeStringArray, NDArray[np.int64]]:
    """Return the tokens of a chunk, and how many each text has."""
    column = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    joined = np.frombuffer(pc.binary_join(column, pa.scalar(BETWEEN, texts.type))[0].as_buffer(), np.uint8)
    padded = np.full(len(joined) + 2 * MARGIN, ord(" "), np.uint8)
    padded[MARGIN : MARGIN + len(joined)] = joined
    lengths = pc.binary_length(texts).to_numpy()
    ends = MARGIN + np.cumsum(lengths + len(BETWEEN)) - len(BETWEEN)
    begins, belongs = marks(padded)
    separators = ends[:-1]
    begins[separators] = belongs[separators] = False
    data = padded[belongs]
    offsets = np.append(np.flatnonzero(begins[belongs]), len(data)).astype(np.int64)
    tokens = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
    before = np.searchsorted(np.flatnonzero(begins), ends)  # tokens that begin before each text ends
    return tokens, np.diff(before, prepend=0)


def _table(characters: bytes) -> Mask:
    table = np.zeros(256, np.bool_)
    table[np.frombuffer(characters, np.uint8)] = True
    return table


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_IS_DIGIT = _table(_DIGITS)
_IS_WORD = _table(_LETTERS + _DIGITS + b"_" + bytes(range(128, 256)))  # every letter beyond ASCII is a word's
_IS_VISIBLE = _table(bytes(range(33, 127)) + bytes(range(128, 256)))
_IS_HYPHEN, _IS_POINT, _IS_APOSTROPHE = _table(b"-"), _table(b".,"), _table(b"'")
_CLITICS = (b"s", b"m", b"d", b"t", b"re", b"ve", b"ll")


def _word_marks(data: Bytes) -> tuple[Mask, Mask]:
    word, digit = _IS_WORD[data], _IS_DIGIT[data]
    clitic, negation = _clitics(data, word)
    inner = _between(word) & (_IS_HYPHEN[data] | _IS_APOSTROPHE[data])
    inner |= _between(digit) & _IS_POINT[data]
    whole = word | inner | clitic
    begins = whole & ~_shifted(whole, 1)
    begins |= clitic
    begins[negation] = False  # n't begins at its n
    begins[negation - 1] = True
    belongs = _IS_VISIBLE[data]
    begins |= belongs & ~whole
    return begins, belongs


def _clitics(data: Bytes, word: Mask) -> tuple[Mask, NDArray[np.int64]]:
    """Return a mask of apostrophes that begin a clitic, and places of those whose clitic is the 't of n't."""
    places = np.flatnonzero(_IS_APOSTROPHE[data])
    places = places[(places >= MARGIN) & (places < len(data) - MARGIN)]
    clitic = np.zeros(len(data), np.bool_)
    negation = places[:0]
    for letters in _CLITICS:
        here = ~word[places + len(letters) + 1]
        for distance, letter in enumerate(letters, 1):
            here &= data[places + distance] | 0x20 == letter  # either case
        clitic[places[here]] = True
        if letters == b"t":
            negation = places[here & (data[places - 1] | 0x20 == ord("n"))]
    return clitic, negation


def _between(mask: Mask) -> Mask:
    return _shifted(mask, 1) & _shifted(mask, -1)


def _shifted(mask: Mask, by: int) -> Mask:
    """Return the value `by` positions before; the margin is blank, so nothing wraps around."""
    return np.roll(mask, by)


def _character_marks(data: Bytes) -> tuple[Mask, Mask]:
    belongs = np.ones(len(data), np.bool_)
    belongs[:MARGIN] = belongs[-MARGIN:] = False
    return belongs & (data & 0xC0 != 0x80), belongs  # the further bytes of a character are 10xxxxxx
