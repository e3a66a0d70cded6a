"""Rarity of letter trigrams and words by the texts of a training, so that a pair has its features in any company.

`Terms` weighs by the texts that are compared, which suits a file. A stored model needs weights of its own. Trigrams
and words are counted in buckets of a hash, so that their number does not depend on the texts, and a word that no text
of the training had is as rare as one can be.

Shape letters: N texts, H buckets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.terms import WORD, Terms, as_compared, incidence, letter_rows, reweighed


@dataclass(frozen=True)
class Rarity:
    """Numbers of texts that have a trigram or a word.

    Args:
        texts: N.
        letters: (H,) texts by bucket of a trigram; if some share a bucket, the sum.
        words: (H,) the same of words.
    """

    texts: int
    letters: NDArray[np.int64]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, folded: Sequence[str], *, buckets: int) -> Self:
        """Count texts that are in their normal form.

        Examples:
            >>> from twicetold.matching.rarity import Rarity
            >>> rarity = Rarity.of(["red shoe", "red hat"], buckets=4096)
            >>> (rarity.terms(["red shoe", "green shoe"]).idf > 1.2).tolist()  # green, red, shoe
            [True, False, True]
        """
        folded = list(map(as_compared, folded))
        counts = (
            np.bincount(_buckets(names, buckets), np.bincount(rows.indices, minlength=len(names)), minlength=buckets)
            for rows, names in (letter_rows(folded), incidence(map(WORD.findall, folded)))
        )
        return cls(len(folded), *(each.astype(np.int64) for each in counts))

    def terms(self, folded: Sequence[str]) -> Terms:
        """Return terms of texts in their normal form, weighed by this rarity.

        The idf of words is scaled, because features divide it by the idf of a word of one of the texts at hand.
        """
        terms = Terms.of_folded(folded, whole=True)
        top = np.log((1 + self.texts) / 2) + 1
        letters, words = (
            np.minimum(np.log((1 + self.texts) / (1 + counts[_buckets(names, len(counts))])) + 1, top)
            for counts, names in ((self.letters, terms.grams), (self.words, terms.vocabulary))
        )
        scaled = words * (np.log((1 + len(folded)) / 2) + 1) / top
        return reweighed(terms, letters=letters.astype(np.float32), words=scaled.astype(np.float32))


def _buckets(names: Sequence[str], count: int) -> NDArray[np.int64]:
    hashes = (crc32(name.encode("utf-8", "surrogatepass")) % count for name in names)
    return np.fromiter(hashes, np.int64, len(names))
