"""Distinct texts whose pairs the generic matcher scores, by what both have and what only one has.

Candidates are each text's nearest ones by letters and words, and by vectors (`matching.candidates`); where links have
limits, the nearest ones within these. The score of a pair is its log odds. Texts are put in alphabetical order first,
so nothing depends on that of the rows.

Shape letters: m distinct texts, C candidates, P pairs, D dimensions, A answers, F features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.blocking import large_blocks, of_rows, pairs_within
from twicetold.dedupe.candidates import Candidates
from twicetold.dedupe.limits import Limits
from twicetold.dedupe.options import NEIGHBOURS
from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.matching.candidates import EXACT, Ends, Pairs, candidates, lexical_rows, nearest_pairs, pair_dots
from twicetold.matching.compared import best_cut
from twicetold.matching.matcher import Matcher, Sense
from twicetold.matching.pair_features import Column
from twicetold.matching.records import all_features
from twicetold.matching.terms import Csr, Terms, compared_in_words
from twicetold.neighbours.grouping import Floats, Ints, Vectors
from twicetold.normal_form import normal_form
from twicetold.printable import counted
from twicetold.trained.fitted import member_vectors
from twicetold.trained.scoring import TrainedModel

COLUMNS = {"columns_equal": "equal", "columns_near": "near", "columns_contradict": "contradicting"}
LOG_ODDS = Decision(0.0, 1.0, 0.0)  # of scores that are log odds


@dataclass(frozen=True)
class MatchedTexts:
    """Texts with their candidate pairs, and a matcher of pairs.

    Args:
        order: (m,) number of each text in alphabetical order.
        terms: of the texts in that order, as all that follows.
        vectors: (m, D) of length 1; None without them.
        pairs: C candidates.
        columns: (C,) their features.
        matcher: that scores them.
        also: further columns, m values each in their normal form.
    """

    order: Ints
    terms: Terms
    vectors: NDArray[np.float32] | None
    pairs: Pairs
    columns: dict[str, Column]
    matcher: Matcher
    also: Sequence[Sequence[str]] = ()

    @classmethod
    def of(
        cls,
        model: TrainedModel,
        texts: Sequence[str],
        *,
        sense: Sense = "same",
        limits: Limits | None = None,
        searched: Vectors | None = None,
        also: Sequence[Sequence[str]] = (),
    ) -> "MatchedTexts":
        """Compare texts.

        Args:
            model: that was fitted to texts.
            texts: m distinct ones.
            sense: what "the same" means.
            limits: of links between them; None: there are none.
            searched: their search vectors, where there are limits.
            also: further columns, m values each, empty where one is missing.
        """
        records = list(zip(texts, *map(normal_form, also), strict=True))
        order = np.array(sorted(range(len(texts)), key=records.__getitem__), np.int64)
        ordered, *further = zip(*(records[number] for number in order.tolist()), strict=True)
        vectors, terms, among = member_vectors(model, ordered), Terms.of(ordered), None
        if limits is not None and searched is not None:
            among = partial(_within, vectors=vectors, searched=of_rows(searched, order), limits=limits.take(order))
        pairs = candidates(terms, vectors, among=among)
        matcher = Matcher.generic(sense, vectors=vectors is not None, records=bool(also))
        return cls(order, terms, vectors, pairs, all_features(terms, pairs, further), matcher, further)

    @property
    def blank(self) -> int:
        """Number of texts without a word, a symbol or a vector, so that they are like no other."""
        there = np.diff(self.terms.letters.indptr) > 0  # symbols are terms of these, too
        if self.vectors is not None:
            there |= self.vectors.any(axis=1)
        return len(there) - int(np.count_nonzero(there))

    @cached_property
    def candidates(self) -> Candidates:
        """The candidates by the numbers of their texts."""
        one, other = self.order[self.pairs.left], self.order[self.pairs.right]
        ends = np.minimum(one, other), np.maximum(one, other)
        approximate = self.vectors is not None and len(self.vectors) > EXACT
        return Candidates(*ends, self.pairs.lexical, self.pairs.unfinished, approximate)

    @cached_property
    def log_odds(self) -> Floats:
        """(C,) of the candidates."""
        return self.matcher.log_odds(self.columns)

    def best_cut(self, left: Ints, right: Ints, same: NDArray[np.bool_]) -> float:
        """The log odds from which links have the highest expected F1, with answers as of `answered`."""
        place = self._places(left, right)[0]
        probability = sigmoid(self.log_odds)
        probability[place[place >= 0]] = same[place >= 0]
        cut = best_cut(probability, len(same))
        return math.log(cut / (1 - cut))

    def score(self, left: Ints, right: Ints) -> Floats:
        """Return (P,) log odds of pairs, also of such that are no candidates."""
        place, one, other = self._places(left, right)
        unknown = np.flatnonzero(place < 0)
        score = np.empty(len(place), np.float64)
        score[place >= 0] = self.log_odds[place[place >= 0]]
        if len(unknown):
            score[unknown] = self._beside(one[unknown], other[unknown])
        return score

    def where(self, kept: NDArray[np.bool_]) -> "MatchedTexts":
        """Return the same with some of the C candidates."""
        one = self.pairs
        cosine = None if one.cosine is None else one.cosine[kept]
        pairs = Pairs(one.count, one.left[kept], one.right[kept], one.lexical[kept], cosine)
        return replace(self, pairs=pairs, columns={name: column[kept] for name, column in self.columns.items()})

    def answered(self, left: Ints, right: Ints, same: NDArray[np.bool_]) -> "MatchedTexts":
        """Return the same with the matcher moved by answers.

        Args:
            left: (A,) texts.
            right: (A,) the others.
            same: (A,) whether they are duplicates.
        """
        place = self._places(left, right)[0]
        asked = place >= 0
        return replace(self, matcher=self.matcher.answered(self.columns, place[asked], same[asked]))

    def why(self, left: Ints, right: Ints, texts: Sequence[str]) -> list[str]:
        """Return (P,) what agrees in each pair, and what contradicts.

        Args:
            left: (P,) texts.
            right: (P,) the others.
            texts: m distinct ones.
        """
        reasons, place = [], self._places(left, right)[0]
        for one, other, at in zip(left.tolist(), right.tolist(), place.tolist(), strict=True):
            told = compared_in_words(texts[one], texts[other])
            for name, what in COLUMNS.items() if self.also and at >= 0 else ():
                if count := round(float(self.columns[name][at]) * len(self.also)):
                    told.append(f"{count} of {counted(len(self.also), 'column')} {what}")
            reasons.append("; ".join(told) if at >= 0 else "a person says so")
        return reasons

    @cached_property
    def _place_of_text(self) -> Ints:
        return np.argsort(self.order)

    @cached_property
    def _keys(self) -> tuple[Ints, Ints]:
        """Keys of the candidates, ascending, and their positions."""
        key = self.pairs.left * len(self.order) + self.pairs.right
        order = np.argsort(key)
        return key[order], order

    def _places(self, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints]:
        """Return (P,) positions of pairs among the candidates, -1 for others, and the pairs in alphabetical order."""
        ends = self._place_of_text[left], self._place_of_text[right]
        one, other = np.minimum(*ends), np.maximum(*ends)
        keys, order = self._keys
        if not len(keys):
            return np.full(len(one), -1), one, other
        at = np.minimum(np.searchsorted(keys, one * len(self.order) + other), len(keys) - 1)
        return np.where(keys[at] == one * len(self.order) + other, order[at], -1), one, other

    def _beside(self, left: Ints, right: Ints) -> Floats:
        """Return (P,) log odds of pairs that are no candidates, beside the candidates of their texts."""
        touched = np.isin(self.pairs.left, (ends := np.union1d(left, right))) | np.isin(self.pairs.right, ends)
        both = lexical_rows(self.terms)
        cosine = None if self.vectors is None else pair_dots(self.vectors, left, right)
        known = self.pairs.cosine
        pairs = Pairs(
            len(self.order),
            np.append(left, self.pairs.left[touched]),
            np.append(right, self.pairs.right[touched]),
            np.append(pair_dots(both, left, right), self.pairs.lexical[touched]),
            None if cosine is None or known is None else np.append(cosine, known[touched]),
        )
        columns = all_features(self.terms, pairs, self.also)
        return self.matcher.log_odds({name: column[: len(left)] for name, column in columns.items()})


def _within(both: Csr, *, vectors: NDArray[np.float32] | None, searched: Vectors, limits: Limits) -> Ends:
    """Return pairs within limits."""
    apart, packed = large_blocks(limits)
    found = [Ends(*(np.empty(0, np.int64),) * 2)]
    for block in apart:
        near = nearest_pairs(both[block], None if vectors is None else vectors[block])
        found.append(Ends(block[near.left], block[near.right], near.unfinished))
    if len(packed):
        within = pairs_within(of_rows(searched, packed), limits.take(packed), None, neighbours=NEIGHBOURS)
        found.append(Ends(packed[within.left], packed[within.right]))
    left, right = (np.concatenate([getattr(ends, side) for ends in found]) for side in ("left", "right"))
    return Ends(np.minimum(left, right), np.maximum(left, right), sum(ends.unfinished for ends in found))
