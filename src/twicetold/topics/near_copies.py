"""Near-copies: texts that share most of their words, whatever a model says of them.

Shape letters: M texts, V words, P pairs.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.ranking import Floats
from twicetold.features.splitting import words
from twicetold.neighbours.nearest import row_dots

COPY = 0.7
"""Share of their words (Jaccard) from which on two texts are near-copies."""
Ints = NDArray[np.int64]


def word_sets(texts: Sequence[str]) -> sparse.csr_matrix:
    """(M, V) which words each text has, 0 or 1; case and marks do not count."""
    found = words(texts, lower_case=True)
    usable = np.asarray(pc.match_substring_regex(found.spellings, r"[\p{L}\p{N}]")).astype(bool)
    row = np.repeat(np.arange(len(texts)), np.diff(found.offsets))
    kept = usable[found.codes]
    vocabulary = max(len(found.spellings), 1)
    pair = np.unique(row[kept] * vocabulary + found.codes[kept])
    place = np.divmod(pair, vocabulary)
    return sparse.csr_matrix((np.ones(len(pair), np.float32), place), (len(texts), vocabulary))


def jaccard(sets: sparse.csr_matrix, left: Ints, right: Ints) -> Floats:
    """(P,) share of the words of two texts that both have; 0 of texts without words."""
    size = np.diff(sets.indptr)
    shared = row_dots(sets, left, sets, right)
    either = size[left] + size[right] - shared
    return np.asarray(np.divide(shared, either, out=np.zeros_like(shared), where=either > 0))
