"""A text twice over: as a bag of columns, and after it as the sequence of its words."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from twicetold.features.nested import keep, kept
from twicetold.features.rows import CsrRows, Featuriser


class BagAndWords(BaseEstimator):
    """The columns of a bag, then those of a sequence, in one row.

    Args:
        bag: featuriser of bags.
        words: featuriser of sequences.

    Attributes:
        card_: of the bag, if it has one.
        width_: number of the bag's columns.
        (others): fitted state of either, `bag__<attribute>` and `words__<attribute>`.
    """

    ordered = True

    def __init__(self, bag: Featuriser, words: Featuriser) -> None:
        self.bag = bag
        self.words = words

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Fit both.

        Raises:
            ValueError: if either finds nothing to read.
        """
        bag, words = (clone(part).fit(texts) for part in (self.bag, self.words))
        self.card_: dict[str, Any] | None = getattr(bag, "card_", None)
        self.width_: int = bag.shape["width"]
        for name, part in (("bag", bag), ("words", words)):
            keep(self, name, part)
        self._vectors = words.shape.get("vectors")  # not part of the saved state, see `tokens.Words`
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """One row per text: its bag, and then its words in order."""
        check_is_fitted(self)
        bag, words = (kept(self, name, part) for name, part in (("bag", self.bag), ("words", self.words)))
        rows: CsrRows = bag.transform(texts).beside(words.transform(texts))
        return rows

    @property
    def shape(self) -> Mapping[str, Any]:
        """`width`: number of columns; `bag`: how many of them are the bag's; and what the words have besides."""
        words = dict(kept(self, "words", self.words).shape)
        if (found := getattr(self, "_vectors", None)) is not None:
            words["vectors"] = found
        return {**words, "width": self.width_ + words["width"], "bag": self.width_}
