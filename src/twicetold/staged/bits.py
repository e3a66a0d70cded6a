"""Some of the numbers 0 .. n - 1, as bits: how many come before a number, and which is the k-th.

Shape letters: n numbers, W words of 64 bits, K numbers that are asked for.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays, write_arrays

WORD = 64
STEP = 1 << 16  # words that are spread out at a time


class Bits:
    """A set of numbers.

    Args:
        words: (W,) of bits, the lowest first; those from n on are 0.
        count: n.
    """

    def __init__(self, words: NDArray[np.uint64], count: int) -> None:
        self.words, self.count = words, count
        self.before = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.bitwise_count(words), out=self.before[1:])

    @classmethod
    def all_but(cls, count: int, left_out: Ints) -> "Bits":
        """All numbers below n but these."""
        words = np.full(-(-count // WORD), ~np.uint64(0))
        if count % WORD:
            words[-1] = (np.uint64(1) << np.uint64(count % WORD)) - np.uint64(1)
        np.bitwise_and.at(words, left_out // WORD, ~_bit(left_out))
        return cls(words, count)

    @classmethod
    def read(cls, path: Path) -> "Bits":
        """From a file that `write` made."""
        found = Arrays(path)
        return cls(found.read("words"), int(found.read("count")[0]))

    def write(self, path: Path) -> None:
        """To a file."""
        write_arrays(path, {"words": self.words, "count": np.array([self.count])})

    def __len__(self) -> int:
        return int(self.before[-1])

    def has(self, numbers: Ints) -> NDArray[np.bool_]:
        """(K,) whether each number is in the set."""
        return np.asarray(self.words[numbers // WORD] & _bit(numbers) != 0)

    def ranks(self, numbers: Ints) -> Ints:
        """(K,) how many of the set are below each number."""
        word = numbers // WORD
        inside = np.zeros(len(numbers), np.int64)
        there = word < len(self.words)  # a number may be n
        below = _bit(numbers[there]) - np.uint64(1)
        inside[there] = np.bitwise_count(self.words[word[there]] & below)
        return np.asarray(self.before[word] + inside)

    def numbers(self, ranks: Ints) -> Ints:
        """(K,) the number of each rank."""
        found = np.empty(len(ranks), np.int64)
        for start in range(0, len(ranks), STEP):
            rank = ranks[start : start + STEP]
            word = np.searchsorted(self.before, rank, side="right") - 1
            ones = self.words[word, None] >> np.arange(WORD, dtype=np.uint64) & np.uint64(1)
            place = (np.cumsum(ones, axis=1) == (rank - self.before[word] + 1)[:, None]).argmax(axis=1)
            found[start : start + STEP] = word * WORD + place
        return found


def _bit(numbers: Ints) -> NDArray[np.uint64]:
    return np.uint64(1) << (numbers % WORD).astype(np.uint64)
