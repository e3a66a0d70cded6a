"""Synonyms for augmentation: nearest neighbours among pretrained vectors.

Wei and Zou (EDA, EMNLP 2019) replace words that are no stop words by synonyms of WordNet. Neighbours by cosine need no
dictionary; they are words of similar use, so antonyms and co-hyponyms (`buy`, `sell`; `May`, `June`) are among them.

Words are separated by white space, and punctuation at their ends is ignored. Only words of the given texts are
synonyms, so that a featuriser fitted on these texts knows the more frequent ones; none has a digit.

Shape letters: U distinct words, W words that are compared, k neighbours, M draws.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.features.vectors import word_vectors

logging.getLogger("faiss").setLevel(logging.WARNING)  # it logs which processors it was not built for

FREQUENT = 20_000  # words that are compared, each with each
ENDS = r"(?s)^(?P<before>[^\pL]*)(?P<core>.*?)(?P<after>[^\pL]*)$"
LETTERS_ONLY = r"^\pL[\pL'’-]*$"


@dataclass(frozen=True)
class Synonyms:
    """The near words of each distinct word."""

    there: NDArray[np.bool_]
    """(U,) whether it has any."""
    row: NDArray[np.int64]
    """(U,) which of the compared words it is; -1 for none."""
    parts: pa.StructArray
    """(U,) `before` and `after`, its punctuation, and `core`, what stands between."""
    words: pa.LargeStringArray
    """(W,) the compared words, in lower case."""
    near: NDArray[np.int64]
    """(W, k) numbers of each one's near words, the nearest first; -1 where there are fewer."""

    def drawn(self, code: NDArray[np.int32], rng: np.random.Generator) -> pa.LargeStringArray:
        """(M,) one of the near words for each of the given words, all with the same chance.

        Punctuation and a capital at the beginning stay.

        Args:
            code: (M,) which distinct words; each has a near word.
            rng: chooses.
        """
        near = self.near[self.row[code]]
        which = (rng.random(len(code)) * (near >= 0).sum(1)).astype(np.int64)
        word = self.words.take(pa.array(near[np.arange(len(code)), which]))
        parts = self.parts.take(pa.array(code))
        word = pc.if_else(pc.utf8_is_title(parts.field("core")), pc.utf8_capitalize(word), word)
        return pc.binary_join_element_wise(parts.field("before"), word, parts.field("after"), pa.scalar("", word.type))


def synonyms_of(spelt: pa.DictionaryArray, vectors: Path, *, nearest: int, least: float) -> Synonyms:
    """Near words of the distinct words of some texts, for the `FREQUENT` most frequent ones with a vector.

    Args:
        spelt: every word of the texts, as dictionary of U words.
        vectors: file in GloVe's text format.
        nearest: k.
        least: least cosine of near words.

    Raises:
        FileNotFoundError: if the file is not there and is none that can be fetched.
    """
    import faiss  # takes a moment, and so does scikit-learn
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    parts = pc.extract_regex(spelt.dictionary, ENDS)
    core = pc.utf8_lower(parts.field("core"))
    fit = pc.and_(
        pc.match_substring_regex(core, LETTERS_ONLY), pc.invert(pc.is_in(core, pa.array(ENGLISH_STOP_WORDS, core.type)))
    )
    occurs = np.bincount(spelt.indices.to_numpy(), minlength=len(core))
    distinct = (
        pa.table({"core": core, "occurs": occurs})
        .filter(fit)
        .group_by("core", use_threads=False)
        .aggregate([("occurs", "sum")])
    )
    frequent = distinct.sort_by([("occurs_sum", "descending"), ("core", "ascending")])["core"][
        :FREQUENT
    ].combine_chunks()
    found = word_vectors(vectors, frequent.to_pylist())
    length = np.linalg.norm(found, axis=1)
    words, unit = frequent.filter(pa.array(length > 0)), found[length > 0] / length[length > 0, None]
    row = np.asarray(pc.fill_null(pc.index_in(core, words), -1)).astype(np.int64)
    cosine, near = faiss.knn(unit, unit, min(nearest + 1, len(unit)), metric=faiss.METRIC_INNER_PRODUCT)
    keep = (cosine >= least) & (near != np.arange(len(unit))[:, None])
    near = np.take_along_axis(np.where(keep, near, -1), np.argsort(~keep, axis=1, kind="stable"), axis=1)[:, :nearest]
    has = np.append((near >= 0).any(1), False)  # the last is for row -1
    return Synonyms(has[row], row, parts, words, near)
