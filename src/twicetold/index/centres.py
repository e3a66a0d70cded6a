"""The centres of an index's cells, from a sample of its texts by their hashes; and which are nearest.

The sample depends on the texts alone, not on their order or on how they are divided into parts. It has each text once.

Vectors and centres are compared as whole numbers, the sums of which are exact whatever the order: so the cell of a text
does not depend on the texts that are encoded with it.

Shape letters: N vectors, D columns, C cells, p probes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.cells import PER_CENTRE, cells_for, centres_of, nearest_centres
from twicetold.neighbours.grouping import Ints

SPARE = 2  # times as many texts as the sample will have are kept while more may come
HASH = 8  # bytes
LARGEST = 127  # of the whole numbers of a row in 8 bits
EXACT = 1 << 24  # whole numbers up to it are 32-bit floating-point numbers
Dense = NDArray[np.float32]


@dataclass(frozen=True)
class Centres:
    """Centres of cells.

    Args:
        vectors: (C, D).
    """

    vectors: Dense

    @classmethod
    def of(cls, sample: Dense, count: int) -> "Centres":
        """Those of the cells of so many texts, by k-means of the vectors of a sample."""
        return cls(centres_of(sample, cells_for(count)))

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def _whole(self) -> Dense:
        dimensions = self.vectors.shape[1]
        longest = np.linalg.norm(self.vectors.astype(np.float64), axis=1).max()
        length = (LARGEST - 1) * math.sqrt(dimensions)
        whole: Dense = np.rint(self.vectors * (length / max(longest, 1e-30))).astype(np.float32)
        return whole

    def nearest(self, vectors: Dense, probes: int) -> NDArray[np.int32]:
        """(N, p) cells with the most similar centres, the most similar first, equal ones by their number."""
        return nearest_centres(whole_numbers(vectors), self._whole, probes)


def whole_numbers(vectors: Dense) -> Dense:
    """(N, D) vectors times a number each, rounded, so that sums of products with rows of 8 bits stay below 2²⁴.

    By Cauchy and Schwarz no sum of some of the products is above the product of the lengths; a row's is at most 127 √D.
    """
    dimensions = vectors.shape[1]
    length = EXACT / (LARGEST * math.sqrt(dimensions)) - math.sqrt(dimensions)
    long = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.rint(vectors * (length / np.where(long > 0, long, 1))).astype(np.float32)


class TextSample:
    """The texts with the lowest hashes, while texts come.

    Examples:
        >>> sample = TextSample()
        >>> sample.add(["a", "b", "a"])
        >>> sorted(sample.lowest()[1]), sample.count
        (['a', 'b'], 3)
    """

    def __init__(self) -> None:
        self.count = 0
        self._texts: list[str] = []
        self._rows, self._hashes = np.empty(0, np.int64), np.empty(0, np.uint64)

    def add(self, texts: Sequence[str]) -> None:
        """Further texts."""
        digests = b"".join(blake2b(text.encode(), digest_size=HASH).digest() for text in texts)
        self._hashes = np.append(self._hashes, np.frombuffer(digests, np.uint64))
        self._rows = np.append(self._rows, self.count + np.arange(len(texts)))
        self._texts += texts
        self.count += len(texts)
        self._keep(SPARE * self._size)

    def lowest(self) -> tuple[Ints, list[str]]:
        """Numbers of the texts of the sample among all, and the texts, in the order of their hashes."""
        self._keep(self._size)
        return self._rows, self._texts

    @property
    def _size(self) -> int:
        return PER_CENTRE * cells_for(self.count)

    def _keep(self, size: int) -> None:
        """Keep some of the lowest, each text once."""
        order = np.argsort(self._hashes, kind="stable")
        kept, seen = list[int](), set[str]()
        for number in order.tolist():
            if len(kept) == size:
                break
            if self._texts[number] not in seen:
                seen.add(self._texts[number])
                kept.append(number)
        self._rows, self._hashes = self._rows[kept], self._hashes[kept]
        self._texts = [self._texts[number] for number in kept]
