"""What a featuriser makes of its fitted state for every call of `transform`, such as a table of its vocabulary.

Made anew for each call, it costs more than reading a text. It is no fitted attribute: it is neither saved nor copied.
"""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

T = TypeVar("T")
_KEPT: WeakKeyDictionary[object, dict[Callable[..., Any], tuple[tuple[object, ...], Any]]] = WeakKeyDictionary()


def kept(owner: object, make: Callable[..., T], *sources: object) -> T:
    """What a function makes of fitted attributes: made once, and again when one of them is another object.

    Args:
        owner: the featuriser; what is kept goes when it does.
        make: a function of a module, not one that is defined anew at each call.
        sources: its arguments, which are not changed in place.
    """
    made = _KEPT.setdefault(owner, {})
    before = made.get(make)
    if before is None or any(one is not other for one, other in zip(before[0], sources, strict=True)):
        before = made[make] = sources, make(*sources)
    result: T = before[1]
    return result


def diagonal(weights: NDArray[np.float32]) -> sp.csr_matrix:
    """(V, V) matrix by which rows are multiplied to weigh their columns, from (V,) weights."""
    return sp.diags(weights, format="csr")


class Places:
    """Where each of some strings is in a vocabulary.

    Args:
        vocabulary: (V,) of a string or binary type.
    """

    def __init__(self, vocabulary: pa.Array) -> None:
        entries = vocabulary.to_pylist()
        self._place = dict(
            zip(reversed(entries), range(len(entries) - 1, -1, -1), strict=True)
        )  # the first, if several

    def of(self, strings: pa.Array) -> NDArray[np.int64]:
        """(U,) place of each of U strings; −1 where it is not there."""
        place = self._place.get
        return np.fromiter((place(string, -1) for string in strings.to_pylist()), np.int64, len(strings))


def text_places(vocabulary: list[str]) -> Places:
    """Of a vocabulary of texts.

    Raises:
        TypeError: if it holds anything else, which a stored one may.
    """
    return Places(pa.array(vocabulary, pa.large_string()))
