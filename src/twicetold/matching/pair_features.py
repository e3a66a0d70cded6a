"""Features of pairs: what two texts share, what they do not, and how near they are among all others.

Each is a plain function of rows of `Terms`, computed for a column of pairs at once, and each has a name. A value of one
text and that of the other are told as the smaller and the larger of the two, so that the order of a pair is not seen.

Shape letters: P pairs, N texts, F features.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.candidates import Pairs, descending_in
from twicetold.matching.terms import OF_TEXTS, PREFIX, Csr, Terms

Column = NDArray[np.float32]
Rows = NDArray[np.int64]
BLOCK = 20_000  # pairs at a time
TEXTS = 50_000  # whose pairs are ranked at a time


def pair_features(terms: Terms, pairs: Pairs, among: "Mapping[str, Standing] | None" = None) -> dict[str, Column]:
    """Return (P,) columns by name; those of vectors and of a model only where the pairs have a cosine and a score.

    Args:
        terms: of the texts.
        pairs: P of them.
        among: standings of these pairs among others, by similarity; None: there are no others.

    Examples:
        >>> from twicetold.matching.candidates import candidates
        >>> from twicetold.matching.pair_features import pair_features
        >>> from twicetold.matching.terms import Terms
        >>> terms = Terms.of(["Canon EOS-70D, 18 MP", "canon eos70d 20 mp", "a tripod"])
        >>> columns = pair_features(terms, candidates(terms))
        >>> columns["codes_agree"].tolist(), (columns["units_contradict"] > 0).tolist()
        ([1.0], [True])
    """
    blocks = [
        features_of_texts(terms, pairs.left[start : start + BLOCK], pairs.right[start : start + BLOCK])
        for start in range(0, max(len(pairs), 1), BLOCK)
    ]
    columns = {name: np.concatenate([block[name] for block in blocks]).astype(np.float32) for name in blocks[0]}
    for name, standing in (standings(pairs) if among is None else among).items():
        columns |= standing.columns(name, pairs.left, pairs.right, getattr(pairs, name))
    return columns


def features_of_texts(terms: Terms, left: Rows, right: Rows) -> dict[str, Column]:
    """Return the features of two texts alone."""
    texts, place = np.unique(np.append(left, right), return_inverse=True)
    terms = replace(terms, **{name: getattr(terms, name)[texts] for name in OF_TEXTS})  # files are read once
    left, right = place.reshape(2, -1)
    parts = (part(terms, left, right) for part in (_similar, _words, _codes, _numbers, _shape))
    return {name: column for part in parts for name, column in part.items()}


def _sum(rows: Csr) -> Column:
    return np.asarray(rows.sum(axis=1), np.float32).ravel()


def _max(rows: Csr) -> Column:
    found = rows.max(axis=1) if rows.shape[1] else np.zeros(rows.shape[0])
    return np.asarray(found.todense() if hasattr(found, "todense") else found, np.float32).ravel()


def _ends(name: str, one: Column, other: Column) -> dict[str, Column]:
    return {f"{name}_smaller": np.minimum(one, other), f"{name}_larger": np.maximum(one, other)}


def _ratio(part: Column, whole: Column, empty: float) -> Column:
    return np.divide(part, whole, out=np.full(len(part), empty, np.float32), where=whole > 0)


def _similar(terms: Terms, left: Rows, right: Rows) -> dict[str, Column]:
    return {
        "letters": _sum(terms.letters[left].multiply(terms.letters[right])),
        "words": _sum(terms.words[left].multiply(terms.words[right])),
    }


def _words(terms: Terms, left: Rows, right: Rows) -> dict[str, Column]:
    """Find words that both have, one alone, or in another spelling; rarity is a share of that of a text's own word."""
    top = float(np.log((1 + terms.texts) / 2) + 1)
    one, other = terms.present[left], terms.present[right]
    shared = one.multiply(other).tocsr()
    only_one, only_other = (one - shared).tocsr(), (other - shared).tocsr()
    only_one.eliminate_zeros()
    only_other.eliminate_zeros()
    idf = terms.idf / np.float32(top)
    both = shared @ terms.idf / top
    mine, theirs = only_one @ terms.idf / top, only_other @ terms.idf / top
    alike = _in_another_form(terms, left, right, only_one, only_other) / np.float32(top)
    order = terms.order[left].multiply(terms.order[right])
    least = np.minimum(_sum(terms.order[left]), _sum(terms.order[right]))
    return {
        "shared_of_smaller": _ratio(both, both + np.minimum(mine, theirs), 0),
        "shared_of_larger": _ratio(both, both + np.maximum(mine, theirs), 0),
        "shared_weight": np.log1p(both),
        "shared_rarest": _max(shared.multiply(idf).tocsr()),
        "alike_share": _ratio(alike, mine + theirs, 0),
        "order_share": _ratio(_sum(order), least, 0),
        **_ends("unshared_weight", np.log1p(mine), np.log1p(theirs)),
        **_ends("unshared_rarest", _max(only_one.multiply(idf).tocsr()), _max(only_other.multiply(idf).tocsr())),
        **_ends("unshared_words", np.log1p(_sum(only_one)), np.log1p(_sum(only_other))),
    }


def _in_another_form(terms: Terms, left: Rows, right: Rows, one: Csr, other: Csr) -> Column:
    """Return (P,) idf of the words of either side alone, both (P, W), which the other side has in another form.

    That is: spelt otherwise, abbreviated to a beginning, or in two words.
    """
    made, made_other = terms.joined[right].multiply(one).tocsr(), terms.joined[left].multiply(other).tocsr()
    forth = (terms.spelt, one, other), (terms.begins, one, other), (terms.halves, made, other)
    back = (terms.begins, other, one), (terms.halves, made_other, one)
    found = [*(_matches(*way) for way in forth), *(_matches(*way)[::-1] for way in back)]
    weight = np.zeros(one.shape[0])
    for cells in zip(*found, strict=True):
        pair, word = np.divmod(np.unique(np.concatenate(cells)), one.shape[1])
        weight += np.bincount(pair, terms.idf[word], len(weight))
    return weight.astype(np.float32)


def _matches(forms: Csr, one: Csr, other: Csr) -> tuple[Rows, Rows]:
    """Return words of one side of P pairs, and those of the other that are forms of them; cells of (P, W) as numbers.

    Args:
        forms: (W, W) 1 where the second word is a form of the first.
        one: (P, W) words of one side.
        other: those of the other.
    """
    pair = np.repeat(np.arange(one.shape[0]), np.diff(one.indptr))
    some = np.diff(forms.indptr)[one.indices] > 0
    pair, word = pair[some], one.indices[some]
    both = forms[word].multiply(other[pair]).tocsr()  # a row for each word of one side
    times = np.diff(both.indptr)
    pair, word = np.repeat(pair, times), np.repeat(word, times)
    return pair * one.shape[1] + word, pair * one.shape[1] + both.indices


def _codes(terms: Terms, left: Rows, right: Rows) -> dict[str, Column]:
    one, other = terms.codes[left], terms.codes[right]
    within_other, within_one = one.multiply(terms.contained[right]), other.multiply(terms.contained[left])
    mine, theirs = _sum(one) - _sum(within_other), _sum(other) - _sum(within_one)
    agree = np.maximum(_sum(within_other), _sum(within_one))
    return {
        "codes_agree": np.minimum(agree, 3),
        "codes_any": (agree > 0).astype(np.float32),
        "codes_contradict": ((mine > 0) & (theirs > 0)).astype(np.float32),
        "codes_contradict_all": ((mine > 0) & (theirs > 0) & (agree == 0)).astype(np.float32),
        **_ends("codes_alone", np.minimum(mine, 3), np.minimum(theirs, 3)),
    }


def _numbers(terms: Terms, left: Rows, right: Rows) -> dict[str, Column]:
    """Numbers, units and signs. Between opposite signs equal numbers do not agree: €5 and $5."""
    both, *alone = _both_and_alone(terms.numbers, left, right)
    signs_alone = _both_and_alone(terms.signs, left, right)[1:]
    differ, opposite = (np.minimum(*each) > 0 for each in (alone, signs_alone))
    mine, theirs = (numbers + signs for numbers, signs in zip(alone, signs_alone, strict=True))
    units = _sum(terms.units[left].multiply(terms.units[right]))
    measures = _sum(terms.measures[left].multiply(terms.measures[right]))
    return {
        "numbers_agree": np.log1p(both) * ~opposite,
        "numbers_contradict": differ.astype(np.float32),
        "numbers_contradict_all": (differ & (both == 0)).astype(np.float32),
        **_ends("numbers_alone", np.log1p(mine), np.log1p(theirs)),
        "units_agree": np.log1p(measures),
        "units_contradict": np.log1p(np.maximum(units - measures, 0)),
        "signs_contradict": opposite.astype(np.float32),
        "symbols_differ": np.log1p(np.add(*_both_and_alone(terms.symbols, left, right)[1:])),
    }


def _both_and_alone(rows: Csr, left: Rows, right: Rows) -> tuple[Column, Column, Column]:
    """Count (P,) terms that both texts of a pair have, that the left one has alone, and that the right one has."""
    both = _sum(rows[left].multiply(rows[right]))
    return both, _sum(rows[left]) - both, _sum(rows[right]) - both


def _shape(terms: Terms, left: Rows, right: Rows) -> dict[str, Column]:
    one, other = terms.length[left], terms.length[right]
    same = np.cumprod((terms.prefix[left] == terms.prefix[right]) & (terms.prefix[left] > 0), axis=1).sum(axis=1)
    return {
        "length_ratio": _ratio(np.minimum(one, other), np.maximum(one, other), 1),
        "length": np.log1p(np.minimum(one, other)),
        "prefix_share": _ratio(same.astype(np.float32), np.minimum(np.minimum(one, other), PREFIX), 0),
        "squeezed_equal": ((one == other) & (same == one)).astype(np.float32),
    }


@dataclass(frozen=True)
class Standing:
    """Standing of pairs among all candidates of their two texts, by a similarity.

    Args:
        rank: (2, P) number of strictly nearer texts of the left text, and of the right one.
        best: (N,) similarity of the nearest text.
        second: (N,) of the second nearest one.
        total: (N,) of all.
        number: (N,) of candidates.
        middle: similarity of the second nearest of a text in the middle of the file.
    """

    rank: NDArray[np.int32]
    best: Column
    second: Column
    total: Column
    number: NDArray[np.int32]
    middle: np.float32

    @classmethod
    def of(cls, pairs: Pairs, similarity: Column) -> "Standing":
        """Rank pairs, `TEXTS` texts at a time."""
        rank = np.empty((2, len(pairs)), np.int32)
        best, second, total = (np.zeros(pairs.count, np.float32) for _ in range(3))
        number = np.zeros(pairs.count, np.int32)
        for start in range(0, pairs.count, TEXTS):
            some = slice(start, min(start + TEXTS, pairs.count))
            mine, theirs = (order[first[some.start] : first[some.stop]] for order, first in pairs.by_text)
            text = np.append(pairs.left[mine], pairs.right[theirs]) - start
            ranks, best[some], second[some], total[some], number[some] = _ranked(
                text, np.append(similarity[mine], similarity[theirs]), some.stop - start
            )
            rank[0, mine], rank[1, theirs] = ranks[: len(mine)], ranks[len(mine) :]
        middle = np.float32(np.median(second[number > 1])) if (number > 1).any() else np.float32(0)
        return cls(rank, best, second, total, number, middle)

    def at(self, places: "slice | NDArray[np.bool_ | np.int64]") -> "Standing":
        """Return that of some of the pairs."""
        return replace(self, rank=self.rank[:, places])

    def joined(self, pairs: Pairs, left: Rows, right: Rows, known: Column, similarity: Column) -> "Standing":
        """Return that of E further pairs, each as if it alone joined those of its two texts, which are 2E places.

        Args:
            pairs: P of this standing.
            left: (E,) texts.
            right: (E,) the others.
            known: (P,) similarity of the pairs.
            similarity: (E,) of the further ones.
        """
        text, value = np.append(left, right), np.tile(similarity, 2)
        others, best = self.number[text], np.minimum(self.best[text], value)
        rank, total = np.zeros(len(text), np.int32), value.astype(np.float64)
        for order, first in pairs.by_text:
            number = first[text + 1] - first[text]
            owner, near = np.repeat(np.arange(len(text)), number), known[order[runs_of(first[text], number)]]
            rank += np.bincount(owner[near > value[owner]], minlength=len(text)).astype(np.int32)
            total += np.bincount(owner, near, minlength=len(text))
        return Standing(
            rank.reshape(2, -1),
            np.where(others > 0, np.maximum(self.best[text], value), value),
            np.where(others > 1, np.maximum(self.second[text], best), best * (others > 0)),
            total.astype(np.float32),
            others + 1,
            self.middle,
        )

    def columns(self, name: str, left: Rows, right: Rows, similarity: Column) -> dict[str, Column]:
        """Return the similarity and features by name.

        Rank is that above; gap the distance to the nearest other one; above the distance to the mean of all others;
        over that to `middle`.

        Args:
            name: of the similarity.
            left: (P,) texts.
            right: (P,) the others.
            similarity: (P,) of the pairs.
        """
        gaps, means = [], []
        for text in (left, right):
            others = _ratio(self.total[text] - similarity, (self.number[text] - 1).astype(np.float32), 0)
            means.append(similarity - others)
            gaps.append(similarity - np.where(similarity >= self.best[text], self.second[text], self.best[text]))
        return {
            name: similarity,
            **_ends(f"{name}_rank", *np.log1p(self.rank.astype(np.float32))),
            **_ends(f"{name}_gap", *gaps),
            **_ends(f"{name}_above", *means),
            f"{name}_mutual": (self.rank == 0).all(axis=0).astype(np.float32),
            f"{name}_over": similarity - self.middle,
        }


def standings(pairs: Pairs) -> dict[str, Standing]:
    """Return the standing of pairs by each similarity that they have."""
    similar = {name: getattr(pairs, name) for name in ("lexical", "cosine", "score")}
    return {name: Standing.of(pairs, column) for name, column in similar.items() if column is not None}


def _ranked(text: Rows, value: Column, count: int) -> tuple[Rows, Column, Column, Column, Rows]:
    """Return (E,) ranks, and (n,) best, second, total and number as of `Standing`, from E pairs of each of n texts."""
    order = descending_in(text, value)
    ranked, ranked_text = value[order], text[order]
    first = np.searchsorted(ranked_text, np.arange(count + 1))
    number = np.diff(first)
    rank = np.empty(len(text), np.int64)
    rank[order] = _runs(ranked_text, ranked) - first[ranked_text]
    total = np.bincount(ranked_text, ranked, minlength=count).astype(np.float32)
    return rank, _at(ranked, first, number, 0), _at(ranked, first, number, 1), total, number


def _at(ranked: Column, first: Rows, number: Rows, place: int) -> Column:
    """Return (N,) the similarity at this place among those of each text, 0 where it has fewer."""
    found = np.zeros(len(number), np.float32)
    there = number > place
    found[there] = ranked[first[:-1][there] + place]
    return found


def runs_of(first: Rows, number: Rows) -> Rows:
    """Return the numbers from the first one on, so many of each run."""
    return np.asarray(np.arange(number.sum()) + np.repeat(first - (np.cumsum(number) - number), number), np.int64)


def _runs(text: Rows, value: Column) -> Rows:
    """Return the position of the first of each run of equal similarities of a text."""
    starts = np.ones(len(text), bool)
    starts[1:] = (text[1:] != text[:-1]) | (value[1:] != value[:-1])
    first: Rows = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return first
