"""Altered copies of the texts of training examples, as texts beyond the corpus.

Shape letters: T texts that are copied, X examples.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.augmentation.alterations import Alterations
from twicetold.data.corpus import Corpus
from twicetold.examples.batches import ExampleIndex


@dataclass(frozen=True)
class Copies:
    """Which numbers the copies of a text have."""

    source: NDArray[np.int64]
    """(T,) numbers of the texts that are copied, sorted."""
    start: int
    """Number of the first text's first copy; then come those of the other texts, then all second copies."""
    count: int
    """Copies of each text."""
    rng: np.random.Generator
    """For draws among them: none of those that made them."""

    def drawn(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(X,) for each of these texts the number of one of its copies."""
        which = self.rng.integers(self.count, size=len(texts))
        return self.start + which * len(self.source) + np.searchsorted(self.source, texts)


def with_copies(
    index: ExampleIndex, corpus: Corpus, alterations: Alterations, *, sides: tuple[str, ...], count: int, seed: int
) -> tuple[ExampleIndex, Copies]:
    """The same examples, with copies of their texts added as extra texts, none of which is used yet.

    Args:
        index: the examples.
        corpus: what they are made of.
        alterations: what happens to a copy.
        sides: whose texts are copied, of `anchor`, `positive` and `negative`.
        count: copies of each text.
        seed: of the alterations, and of draws among the copies.
    """
    own = [] if index.extra_texts is None else list(index.extra_texts)
    source = np.unique(np.concatenate([texts for side in sides if (texts := getattr(index, side)) is not None]))
    texts = pa.chunked_array([corpus.texts.cast(pa.large_string()), pa.array(own, pa.large_string())])
    made = alterations.copies(texts.take(pa.array(source)).to_pylist(), count, seed=seed)
    like = np.full(len(own), -1) if index.extra_sources is None else index.extra_sources
    of_extra = np.append(like, -1)[np.maximum(source - len(corpus), -1)]  # -1, the last, for the corpus's own texts
    fields = np.where(source < len(corpus), source, of_extra)
    extended = replace(index, extra_texts=[*own, *made], extra_sources=np.concatenate([like, np.tile(fields, count)]))
    rng = np.random.default_rng([seed, count])  # the copies have drawn from 0 to count - 1
    return extended, Copies(source, len(corpus) + len(own), count, rng)
