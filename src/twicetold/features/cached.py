"""Values derived from a featuriser's fitted state that every call of `transform` needs, such as a table of its words.

Deriving them anew in each call would take longer than reading a text. They are neither saved nor copied.
"""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

T = TypeVar("T")
_CACHE: WeakKeyDictionary[object, dict[Callable[..., Any], tuple[tuple[object, ...], Any]]] = WeakKeyDictionary()


def cached(owner: object, derive: Callable[..., T], *sources: object) -> T:
    """Return a value derived from fitted attributes, computed again when one of them is another object.

    Args:
        owner: the featuriser; its values are dropped with it.
        derive: a function of a module, not one that is defined anew at each call.
        sources: its arguments, which are not changed in place.
    """
    values = _CACHE.setdefault(owner, {})
    entry = values.get(derive)
    if entry is None or any(one is not other for one, other in zip(entry[0], sources, strict=True)):
        entry = values[derive] = sources, derive(*sources)
    result: T = entry[1]
    return result


def diagonal(weights: NDArray[np.float32]) -> sp.csr_matrix:
    """Return (V, V) matrix by which rows are multiplied to weigh their columns, from (V,) weights."""
    return sp.diags(weights, format="csr")


class Positions:
    """Positions of strings in a vocabulary.

    Args:
        vocabulary: (V,) of a string or binary type; of equal entries, the first counts.
    """

    def __init__(self, vocabulary: pa.Array) -> None:
        entries = vocabulary.to_pylist()
        self._position = dict(zip(reversed(entries), range(len(entries) - 1, -1, -1), strict=True))

    def of(self, strings: pa.Array) -> NDArray[np.int64]:
        """Return (U,) position of each of U strings; −1 for those that are not in the vocabulary."""
        position = self._position.get
        return np.fromiter((position(string, -1) for string in strings.to_pylist()), np.int64, len(strings))


def text_positions(vocabulary: list[str]) -> Positions:
    """Return positions in a vocabulary of texts.

    Raises:
        TypeError: if it holds anything else, which a stored one may.
    """
    return Positions(pa.array(vocabulary, pa.large_string()))
