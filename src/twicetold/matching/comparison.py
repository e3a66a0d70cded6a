"""The comparison: distinct texts → candidates → features of each pair → probability → groups.

Candidates are each text's nearest ones by letters and words, and by vectors (`matching.candidates`); with two tables,
those of the other table. Records are compared twice: by their texts alone, and by all their columns in one text; the
score of a pair, its log odds by the matcher, is the mean of both. A file, two tables, questions to a person,
labels and the studies of the lab are compared here and nowhere else, so what is measured is what is used.

Texts are put in alphabetical order first, so nothing depends on that of the rows. What is given and what comes out goes
by the numbers of the texts as they were given; `order` leads from the one to the other.

Shape letters: N distinct texts, C candidates, P pairs, D dimensions, A answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from twicetold.matching.candidates import (
    EXACT,
    NEAREST,
    Ends,
    Pairs,
    ScoredTexts,
    candidates,
    lexical_rows,
    near_by_vectors,
    pair_dots,
    scores_of,
)
from twicetold.matching.generic import generic_matcher
from twicetold.matching.matcher import Matcher, anchors
from twicetold.matching.pair_features import Column, Standing, pair_features, standings
from twicetold.matching.records import ROW, VERDICTS, Values, in_rows, row_texts
from twicetold.matching.senses import Sense
from twicetold.matching.terms import Csr, Terms, compared_in_words
from twicetold.matching.valley import large_groups_shift, valley_shift
from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.grouping import Floats, Ints, Links, merge, merge_by_sample
from twicetold.neighbours.rules import Rule
from twicetold.normal_form import normal_form
from twicetold.printable import counted

TOLD = 100_000  # texts, from which a person who waits is told of each step
BLOCK = 200_000  # candidates whose features are held at a time
BESIDE = 10_000  # pairs that are no candidates whose features are computed at a time
CUT = 0.5  # mean probability of two groups that become one
SURE = 0.4  # log odds above the cut that the candidates between two groups have, before others are scored
LEAST_CUT = 0.3  # where most links would be wrong, an expected F1 is no reason for more of them
SIBLINGS = 0.9  # share of the pairs of a valley below 0 in which numbers or codes contradict, from which it is none
Dense: TypeAlias = NDArray[np.float32]
Progress: TypeAlias = Callable[[str], None]
Places: TypeAlias = slice | NDArray[np.bool_ | np.int64]
Encode: TypeAlias = Callable[[Sequence[str], Ints], Dense | None]
"""A function from texts in an order, and their numbers, to (N, D) vectors of length 1; None where there are none."""
Read: TypeAlias = Callable[[Sequence[str], Ints], ScoredTexts | None]
"""A function from texts in an order, and their numbers, to what a trained model has read; None without one."""
Among: TypeAlias = Callable[[Csr, Dense | None, Ints], Ends]
"""A function from (N, T) rows as of `lexical_rows`, vectors, and the numbers of the texts in that order, to the pairs
to take, by their positions in it."""


def best_cut(probability: NDArray[np.float64], answers: int) -> float:
    """Return the probability from which links have the highest expected F1, after answers; `CUT` without them.

    It is half of that F1 (Lipton et al. 2014, "Optimal thresholding of classifiers to maximize F1 measure"), so equal
    and nearly equal probabilities need no order.

    Args:
        probability: (P,) of the candidates; 1 or 0 of those that a person was asked about.
        answers: their number.

    Examples:
        >>> import numpy as np
        >>> from twicetold.matching.comparison import best_cut
        >>> round(best_cut(np.array([0.9, 0.4, 0.1]), answers=20), 3)
        0.382
    """
    if not answers:
        return CUT
    ranked = np.sort(probability)[::-1]
    expected = 2 * np.cumsum(ranked) / (np.arange(1, len(ranked) + 1) + ranked.sum())
    return max(LEAST_CUT, float(expected.max(initial=0.0)) / 2)


def _silent(_: str) -> None:
    """Tell nobody."""


def _without(texts: Sequence[str], numbers: Ints) -> None:
    return None


@dataclass(frozen=True)
class View:
    """Texts as they are compared, with the similarities of their candidates.

    Args:
        terms: of N texts.
        vectors: (N, D) of length 1; None without them.
        pairs: C candidates.
        standings: of these, by similarity.
    """

    terms: Terms
    vectors: Dense | None
    pairs: Pairs
    standings: Mapping[str, Standing] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        vectors: Dense | None,
        among: Among | None,
        order: Ints,
        *,
        nearest: int,
        split: int | None,
        progress: Progress,
    ) -> "View":
        """Return texts in an order with their candidates; arguments as of `Comparison.of`."""
        inside = None if among is None else lambda both: among(both, vectors, order)
        near = None  # searched for before there are terms, which take as much memory
        if vectors is not None and among is None:
            progress(f"looking for the nearest of {len(texts):,} texts by vectors")
            near = near_by_vectors(vectors, nearest=nearest, split=split)
        progress(f"reading the terms of {len(texts):,} texts")
        terms = Terms.of_folded(normal_form(texts))
        progress(f"looking for the nearest of {len(texts):,} texts by terms")
        return cls(terms, vectors, candidates(terms, vectors, nearest=nearest, split=split, among=inside, near=near))

    def at(self, left: Ints, right: Ints, unfinished: int = 0) -> "View":
        """Return the same with other pairs."""
        texts, place = np.unique(np.append(left, right), return_inverse=True)
        lexical = pair_dots(lexical_rows(self.terms.letters[texts], self.terms.words[texts]), *place.reshape(2, -1))
        cosine = None if self.vectors is None else pair_dots(self.vectors, left, right)
        return replace(self, pairs=Pairs(len(self.terms.length), left, right, lexical, cosine, unfinished))

    def scored(self, model: ScoredTexts | None) -> "View":
        """Return the same with the scores of a trained model, if there is one, and with standings."""
        pairs = _scored(self.pairs, model)
        return replace(self, pairs=pairs, standings=standings(pairs))

    def some(self, places: Places) -> "View":
        """Return the same with some of the candidates, which stand among all of them."""
        among = {name: standing.at(places) for name, standing in self.standings.items()}
        return replace(self, pairs=self.pairs.where(places), standings=among)

    @cached_property
    def alone(self) -> Mapping[str, Standing]:
        """Standings of the candidates among these alone: others than `standings` where candidates were left out."""
        whole = all(standing.number.sum() == 2 * len(self.pairs) for standing in self.standings.values())
        return self.standings if whole else standings(self.pairs)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """(C,) features of the candidates."""
        return pair_features(self.terms, self.pairs, self.standings)


@dataclass(frozen=True)
class Comparison:
    """Distinct texts of one table or two, with their candidate pairs, and a matcher of pairs.

    Features are computed for a block of candidates at a time, and of each only its log odds are kept.

    Args:
        order: (N,) number of each text in alphabetical order; those of the first table come first.
        views: the texts in that order, as all that follows, and of records their columns in one text as well.
        matcher: that scores the C candidates.
        also: further columns, N values each in their normal form.
        model: a trained one that has read the texts; None without one.
        known: (C,) log odds of the candidates; None: they are not known yet.
        progress: is called with each step.
        allowed: says of (P,) pairs, by their numbers, whether they may be linked; None: all may.
    """

    order: Ints
    views: Sequence[View]
    matcher: Matcher
    also: Sequence[Sequence[str]] = ()
    model: ScoredTexts | None = None
    known: Floats | None = None
    progress: Progress = _silent
    allowed: Callable[[Ints, Ints], NDArray[np.bool_]] | None = None

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        *,
        encode: Encode = _without,
        read: Read = _without,
        also: Sequence[Sequence[str]] = (),
        split: int | None = None,
        sense: Sense = "same",
        matcher: Matcher | None = None,
        among: Among | None = None,
        nearest: int = NEAREST,
        progress: Progress | None = None,
    ) -> "Comparison":
        """Compare texts.

        Args:
            texts: N of them that are distinct, those of the first table before those of the second.
            encode: gives their vectors.
            read: gives them as a trained model has read them, whose score of a pair is a feature.
            also: further columns, N values each, empty where one is missing. With them a pair is a candidate if it is
                one by either view.
            split: number of texts of the first table, if there are two; pairs are then across them.
            sense: what "the same" means.
            matcher: of the pairs; None: the generic one.
            among: gives the candidates, where not any texts may be linked.
            nearest: candidates of a text, by either way.
            progress: is called with each step of a large file.

        Examples:
            >>> from twicetold.matching.comparison import Comparison
            >>> Comparison.of(["red shoe 42", "Red shoes, 42", "red shoe 43", "a tent"]).groups().shape
            (4,)
        """
        tell = progress if progress is not None and len(texts) >= TOLD else _silent
        records = list(zip(*map(normal_form, (texts, *also)), strict=True))
        first = len(texts) if split is None else split
        sides = range(first), range(first, len(texts))
        order = np.array([number for side in sides for number in sorted(side, key=records.__getitem__)], np.int64)
        further = [[records[number][column] for number in order.tolist()] for column in range(1, 1 + len(also))]
        del records  # as large as the texts
        ordered = [texts[number] for number in order.tolist()]
        model = read(ordered, order)
        seen = [ordered, row_texts(ordered, further)] if also else [ordered]
        views = [
            View.of(each, encode(each, order), among, order, nearest=nearest, split=split, progress=tell)
            for each in seen
        ]
        if also:
            unfinished = max(each.pairs.unfinished for each in views)
            left, right = np.divmod(np.union1d(*(each.pairs.key for each in views)), len(texts))
            views = [each.at(left, right, unfinished) for each in views]
        views = [each.scored(model if number == 0 else None) for number, each in enumerate(views)]
        matcher = matcher or generic_matcher(sense, vectors=views[0].vectors is not None)
        return cls(order, views, in_rows(matcher) if also else matcher, further, model, progress=tell)

    @property
    def terms(self) -> Terms:
        """Terms of the texts."""
        return self.views[0].terms

    @property
    def vectors(self) -> Dense | None:
        """(N, D) of the texts."""
        return self.views[0].vectors

    @property
    def pairs(self) -> Pairs:
        """C candidates, with the similarities of their texts."""
        return self.views[0].pairs

    def __len__(self) -> int:
        return len(self.order)

    @property
    def blank(self) -> int:
        """Number of texts without a word, a symbol or a vector, so that they are like no other."""
        rest = np.flatnonzero(self.terms.length[:] == 0)  # the others have trigrams of letters
        there = np.diff(self.terms.letters[rest].indptr) > 0  # symbols are terms of these, too
        if self.vectors is not None:
            there |= self.vectors[rest].any(axis=1)
        return len(rest) - int(np.count_nonzero(there))

    @property
    def approximate(self) -> bool:
        """True if vectors were compared in cells, which may miss pairs."""
        return self.vectors is not None and len(self.vectors) > EXACT

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """(C,) and (C,) numbers of the texts of each candidate, the smaller one on the left."""
        one, other = self.order[self.pairs.left], self.order[self.pairs.right]
        return np.minimum(one, other), np.maximum(one, other)

    @cached_property
    def position(self) -> Ints:
        """(N,) position of each text in alphabetical order."""
        return np.argsort(self.order)

    @property
    def columns(self) -> dict[str, Column]:
        """(C,) features of the candidates; they are kept, which a large file has no memory for."""
        return _named([each.columns for each in self.views])

    def features(self, places: Places) -> dict[str, Column]:
        """Return features of some of the candidates."""
        return _named([each.some(places).columns for each in self.views])

    @cached_property
    def log_odds(self) -> Floats:
        """(C,) of the candidates."""
        if self.known is not None:
            return self.known
        found = np.empty(len(self.pairs), np.float64)
        self.progress(f"comparing {len(found):,} pairs")
        for start in range(0, len(found), BLOCK):
            part = slice(start, start + BLOCK)
            found[part] = self.matcher.log_odds(self.features(part))
        return found

    @property
    def probability(self) -> Floats:
        """(C,) of the candidates."""
        return np.asarray(expit(self.log_odds), np.float64)

    @property
    def valley(self) -> float:
        """Log odds that are to have the probability one half, as these texts show it without labels."""
        shift = valley_shift(self.log_odds)
        added = np.flatnonzero((self.log_odds >= shift) & (self.log_odds < 0))
        if len(added):
            columns = self.features(added[anchors(len(added))])
            contradict = (columns["numbers_contradict"] > 0) | (columns["codes_contradict"] > 0)
            if contradict.mean() > SIBLINGS:
                shift = 0.0  # a heap of siblings, which differ in what tells them apart
        return shift + large_groups_shift(len(self), self.pairs.left, self.pairs.right, self.log_odds - shift)

    def score(self, left: Ints, right: Ints) -> Floats:
        """Return (P,) log odds of pairs, also of such that are no candidates."""
        place, one, other = self._places(left, right)
        unknown = np.flatnonzero(place < 0)
        score = np.empty(len(place), np.float64)
        score[place >= 0] = self.log_odds[place[place >= 0]]
        for start in range(0, len(unknown), BESIDE):
            some = unknown[start : start + BESIDE]
            score[some] = self._beside(one[some], other[some])
        return score

    def groups(
        self,
        probability: Floats | None = None,
        cut: float = CUT,
        rule: Rule = "average",
        *,
        calibrate: Callable[[Floats], Floats] = expit,
        within: Ints | None = None,
    ) -> Ints:
        """Return (N,) groups by probabilities.

        Args:
            probability: (C,) of the candidates; None: by the matcher.
            cut: minimum probability of two groups that become one; by average linkage the mean of all their pairs, of
                which some of those that are no candidates are scored, see `merge_by_sample`.
            rule: how links make groups.
            calibrate: makes probabilities of log odds.
            within: (N,) groups that have no pairs between them; None: all texts are in one.
        """

        def others(left: Ints, right: Ints) -> Floats:
            one, other = self.order[left], self.order[right]
            apart = inside[left] != inside[right]
            if self.allowed is not None:
                apart |= ~self.allowed(one, other)
            return np.where(apart, 0.0, calibrate(self.score(one, other)))

        left, right = self.pairs.left, self.pairs.right
        inside = np.zeros(len(self), np.int64) if within is None else within[self.order]
        probability = calibrate(self.log_odds) if probability is None else probability
        strong = (probability >= cut) & (inside[left] == inside[right])
        part = components(len(self), left[strong], right[strong])
        kept = (part[left] == part[right]) & (inside[left] == inside[right])  # groups are within components
        links = Links(len(self), left[kept], right[kept], probability[kept])  # each once and ordered, as the pairs are
        if rule == "average":
            codes = merge_by_sample(links, cut, float(expit(logit(cut) + SURE)), others)
        else:
            codes = merge(links, rule=rule, threshold=cut).cut(cut)
        return numbered(codes[self.position])

    def where(self, kept: NDArray[np.bool_]) -> "Comparison":
        """Return the same with some of the C candidates."""
        return replace(self, views=[each.some(kept) for each in self.views], known=self.log_odds[kept])

    def with_matcher(self, matcher: Matcher) -> "Comparison":
        """Return the same with another matcher."""
        return replace(self, matcher=matcher, known=None)

    def candidate(self, left: Ints, right: Ints) -> Ints:
        """Return (P,) place of pairs among the candidates; -1 for others."""
        return self._places(left, right)[0]

    def in_valley(self) -> "Comparison":
        """Return the same with the matcher moved so that one half is where these texts show it."""
        valley = self.valley
        return replace(self, matcher=self.matcher.moved(valley), known=self.log_odds - valley)

    def answered(self, left: Ints, right: Ints, same: NDArray[np.bool_]) -> "Comparison":
        """Return the same with the matcher moved by answers.

        Args:
            left: (A,) texts.
            right: (A,) the others.
            same: (A,) whether they are duplicates.
        """
        place, held = self.candidate(left, right), anchors(len(self.pairs))
        asked = place >= 0
        some = np.union1d(place[asked], held)
        pairs, around = np.searchsorted(some, place[asked]), np.searchsorted(some, held)
        return self.with_matcher(self.matcher.answered(self.features(some), pairs, same[asked], around=around))

    def best_cut(self, left: Ints, right: Ints, same: NDArray[np.bool_]) -> float:
        """Return the log odds from which links have the highest expected F1, with answers as of `answered`."""
        place, probability = self.candidate(left, right), self.probability
        probability[place[place >= 0]] = same[place >= 0]
        return float(logit(best_cut(probability, len(same))))

    def why(self, left: Ints, right: Ints, texts: Sequence[str]) -> list[str]:
        """Return (P,) what agrees in each pair, and what contradicts.

        Args:
            left: (P,) texts.
            right: (P,) the others.
            texts: m distinct ones.
        """
        reasons, (place, *ends) = [], self._places(left, right)
        verdicts = [each.agreement(*ends) for each in self._values]
        for number, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            told = compared_in_words(texts[one], texts[other])
            for what in VERDICTS:
                if count := sum(each[number] == what for each in verdicts):
                    told.append(f"{count} of {counted(len(self.also), 'column')} {what}")
            reasons.append("; ".join(told) if place[number] >= 0 else "a person says so")
        return reasons

    def _places(self, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints]:
        """Return (P,) positions of pairs among the candidates, -1 for others, and the pairs in alphabetical order."""
        ends = self.position[left], self.position[right]
        one, other = np.minimum(*ends), np.maximum(*ends)
        keys, key = self.pairs.key, one * len(self) + other
        if not len(keys):
            return np.full(len(one), -1), one, other
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where(keys[at] == key, at, -1), one, other

    @cached_property
    def _values(self) -> list[Values]:
        """The further columns."""
        return [Values(column) for column in self.also]

    def _beside(self, left: Ints, right: Ints) -> Floats:
        """Return (P,) log odds of pairs that are no candidates, each as if it alone joined those of its two texts."""
        columns: dict[str, Column] = {}
        for view, prefix in zip(self.views, ("", ROW), strict=False):
            new = _scored(view.at(left, right).pairs, None if prefix else self.model)
            found, place = pair_features(view.terms, new, {}), np.arange(len(new))
            for name, standing in view.alone.items():
                similarity, standing = getattr(new, name), replace(standing, middle=view.standings[name].middle)
                joined = standing.joined(view.pairs, new.left, new.right, getattr(view.pairs, name), similarity)
                found |= joined.columns(name, place, len(new) + place, similarity)
            columns |= {f"{prefix}{name}": column for name, column in found.items()}
        return self.matcher.log_odds(columns)


def _named(columns: Sequence[Mapping[str, Column]]) -> dict[str, Column]:
    """Return features by name; those of the second view begin with `ROW`."""
    sides = zip(("", ROW), columns, strict=False)
    return {f"{prefix}{name}": column for prefix, side in sides for name, column in side.items()}


def _scored(pairs: Pairs, model: ScoredTexts | None) -> Pairs:
    """Return pairs with the scores of a trained model, if there is one."""
    if model is None:
        return pairs
    return replace(pairs, score=scores_of(model, pairs.left, pairs.right).astype(np.float32))
