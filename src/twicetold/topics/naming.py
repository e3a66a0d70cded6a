r"""Names for groups of texts: the terms that are typical of each.

c-TF-IDF (Grootendorst 2022, arXiv:2203.05794, section 3.3): all texts of a topic count as one document,

    weight(w, t) = share of w among the words of t · log(1 + A / f_w)

where f_w is how often the word occurs in all topics and A the mean number of words of a topic. By it alone, frequent
words that every topic uses, such as "to" and "the", come first in many topics. So words that a topic uses at least
`TYPICAL` times as often as all topics together come before all others; this needs no list of words of a language. A
topic can use no word more than T times as often, so of few topics √T times are enough.

Words are those of `features.splitting`, in lower case; marks, numbers and single letters are left out.

Shape letters: n texts, T topics, U distinct words, K words, C pairs of a topic and a word that it has.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.features.splitting import words

TERMS = 5
TYPICAL = 3.0
_WORD = r"^[\p{L}\p{N}].*[\p{L}\p{N}]$"
_LETTER = r"\p{L}"
_CLITIC = "n't"


def distinctive_terms(
    texts: Sequence[str], topic: NDArray[np.int64], count: int, *, terms: int = TERMS
) -> list[tuple[str, ...]]:
    """The most distinctive words of each topic, the best first; fewer or none where it has no more words.

    Args:
        texts: n of them.
        topic: (n,) from 0, or below 0 of a text without one, whose words do not count.
        count: T.
        terms: at most so many of each topic.
    """
    tokens = words(texts, lower_case=True)
    usable = (
        pc.and_(pc.match_substring_regex(tokens.spellings, _WORD), pc.match_substring_regex(tokens.spellings, _LETTER))
        .to_numpy(zero_copy_only=False)
        .astype(bool)
    )
    usable &= pc.not_equal(tokens.spellings, _CLITIC).to_numpy(zero_copy_only=False).astype(bool)
    at = np.repeat(topic, np.diff(tokens.offsets))
    kept = usable[tokens.codes] & (at >= 0)
    vocabulary = len(tokens.spellings)
    pair, often = np.unique(at[kept] * vocabulary + tokens.codes[kept], return_counts=True)
    if not len(pair):
        return [()] * count
    row, code = np.divmod(pair, vocabulary)
    weight, lift = class_tf_idf(row, code, often, count, vocabulary)
    order = np.lexsort((code, -weight, lift < min(TYPICAL, count**0.5), row))
    row, code = row[order], code[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    row, code = row[place < terms], code[place < terms]
    spelt = tokens.spellings.take(code).to_pylist()
    ends = np.searchsorted(row, np.arange(count + 1))
    return [tuple(spelt[start:end]) for start, end in pairwise(ends.tolist())]


def class_tf_idf(
    topic: NDArray[np.int64], word: NDArray[np.int64], often: NDArray[np.int64], topics: int, vocabulary: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weight of each word in each topic, and how many times as often as all topics together a topic uses it.

    Args:
        topic: (C,).
        word: (C,).
        often: (C,) how often the topic has the word.
        topics: T.
        vocabulary: U.

    Returns:
        Twice (C,).
    """
    length = np.bincount(topic, weights=often, minlength=topics)
    everywhere = np.bincount(word, weights=often, minlength=vocabulary)
    share, total = often / length[topic], float(often.sum())
    return share * np.log1p(total / topics / everywhere[word]), share / (everywhere[word] / total)
