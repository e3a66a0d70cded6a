"""A sample of numbers that depends on nothing but the numbers: those whose hash is lowest."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import Ints

STEP = 1 << 22  # numbers that are hashed at a time
SPARE = 6.0  # standard deviations: more are looked at, so that there are enough


def mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix as SplitMix64 does (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators")."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


def hashed(numbers: Ints, salt: int) -> NDArray[np.uint64]:
    """Hash each number by SplitMix64."""
    return mixed((numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt))


def sample(count: int, size: int, *, salt: int) -> Ints:
    """Return `size` of the numbers 0 .. count - 1, ascending; all of them if there are no more.

    Args:
        count: of the numbers.
        size: of the sample.
        salt: another one gives another sample.
    """
    share = (size + SPARE * math.sqrt(size) + SPARE**2) / max(1, count)
    if count <= size or share >= 1:
        low = np.arange(count)
    else:
        low = np.concatenate(list(_below(count, np.uint64(share * 2.0**64), salt)))
    return np.sort(low[np.argsort(hashed(low, salt), kind="stable")[:size]])


def _below(count: int, bound: np.uint64, salt: int) -> Iterator[Ints]:
    """Yield the numbers with a hash below a bound."""
    for start in range(0, count, STEP):
        numbers = np.arange(start, min(start + STEP, count))
        yield numbers[hashed(numbers, salt) < bound]
