"""Texts that can be searched for links: distinct, within limits and constraints, with scores of their pairs.

Shape letters: n texts, m distinct texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from twicetold.dedupe.caution import left_out, unknown_texts
from twicetold.dedupe.distinct import DistinctTexts, of_rows
from twicetold.dedupe.limits import Limits, require_length, require_list
from twicetold.dedupe.link_threshold import LinkThreshold
from twicetold.dedupe.options import NEIGHBOURS, DedupeOptions
from twicetold.dedupe.pairs import LOG_ODDS, Candidates, PairsByModel, PairScores, half_at, pairs_of
from twicetold.dedupe.thresholds import ANSWERED, Thresholds, threshold_warnings
from twicetold.matching.matcher import COSINE, SCORE
from twicetold.neighbours.grouping import Ints, Links, Vectors
from twicetold.normal_form import normal_form
from twicetold.printable import counted
from twicetold.tables.columns import codes_of, strings_of
from twicetold.tables.texts import texts_of
from twicetold.trained.fitted import Fitted, member_vectors, static_vectors
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors

if TYPE_CHECKING:
    from twicetold.dedupe.constraints import Constraints
    from twicetold.matching.candidates import Ends
    from twicetold.matching.comparison import Comparison, Dense
    from twicetold.matching.terms import Csr
    from twicetold.trained.threshold_record import MatchedLinks

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """Texts that can be searched for links.

    Args:
        distinct: the texts.
        vectors: of the m distinct texts, as queries and as documents; None where the matcher needs none.
        pairs: their scores.
        link: the threshold for these options.
        warnings: drift of the texts from those of the training, and doubts about the threshold.
        limits: of links between the n texts, if there are any.
        constraints: must-link and cannot-link pairs of distinct texts, if there are any.
        comparison: of the texts by the matcher; None: pairs are searched for by the vectors.
        same: this by the matcher of the sense `same`, where copies are asked for: they are linked within its groups
            alone.
    """

    distinct: DistinctTexts
    vectors: Vectors | None
    pairs: PairScores
    link: LinkThreshold
    warnings: tuple[str, ...]
    limits: Limits | None = None
    constraints: "Constraints | None" = None
    comparison: "Comparison | None" = None
    same: "Comparison | None" = None

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        texts: Sequence[str],
        options: DedupeOptions,
        *,
        progress: Progress,
        encoded: Callable[[], Vectors] | None = None,
        comparison: "Comparison | None" = None,
    ) -> "Prepared":
        """See `dedupe` for arguments and errors."""
        texts = texts_of(texts)
        limits = Limits.of(len(texts), options.same, options.within)
        constraints = _constraints(len(texts), options)
        if not texts:
            raise ValueError("there are no texts to group")
        thresholds = Thresholds.of(model, options, by_matcher=True)
        by_matcher = thresholds.by_matcher
        if thresholds.unlabelled and constraints and options.sense != "topic":
            thresholds = replace(thresholds, evidence=ANSWERED)
        also = _further(options, thresholds, len(texts))
        progress(thresholds.in_words)
        progress("looking for exact duplicates")
        plain = DistinctTexts.of(texts)
        if not by_matcher:
            require_vectors(model, plain.texts)
        distinct = _separated(plain, limits, constraints, [codes_of(normal_form(column)) for column in also], progress)
        constraints = None if constraints is None else constraints.of_distinct(distinct.place)
        vectors, same = None, None
        if encoded is not None:
            vectors = of_rows(encoded(), distinct.rows)
        elif limits is not None or not by_matcher or options.sense == "topic":
            progress(f"encoding {counted(len(plain), 'distinct text')}")
            vectors = of_rows(search_vectors(model.trained, plain.texts), plain.place[distinct.rows])
        pairs: PairScores
        if by_matcher:
            progress("comparing the texts")
            comparison = comparison if len(distinct) == len(plain) else None  # a person keeps equal ones apart
            comparison = comparison or _compared(model, distinct, options, limits, vectors, also, thresholds, progress)
            if options.precision is None and thresholds.matched and thresholds.unlike(comparison.columns):
                thresholds = thresholds.without_validation(constraints)
                progress(f"these texts are unlike those of the labels: {thresholds.in_words}")
            comparison, pairs, same = _moved(comparison, distinct, options, constraints, vectors, thresholds.matched)
            drift = _drift(model, distinct.texts, comparison.blank)
            drift += left_out(comparison.terms.crowded, comparison.terms.shortened)
            if options.sense == "topic":
                drift += _no_threshold(pairs, options)
        else:
            from twicetold.trained.drift import blank

            assert vectors is not None
            pairs = pairs_of(model, distinct.texts, vectors, measured=thresholds.measured)
            drift = _drift(model, distinct.texts, blank(vectors[1]))
        link = thresholds.link(pairs, options, len(distinct))
        doubts = [] if by_matcher else threshold_warnings(model)  # of similarities, by which the matcher does not go
        warnings = (*drift, *doubts)
        for warning in warnings:
            progress(f"warning: {warning}")
        return cls(distinct, vectors, pairs, link, warnings, limits, constraints, comparison, same)

    def grouped(self, progress: Progress) -> tuple[Links, Ints, Candidates]:
        """Return links between distinct texts, the (m,) groups, and the pairs that were looked at."""
        by_matcher = self.comparison is not None and self.pairs.vectors is None
        links, codes, candidates = (self._by_matcher if by_matcher else self._by_vectors)(progress)
        if self.constraints is not None:
            links, codes = self.constraints.apply(links, codes, self.pairs.score)
        return links, codes, candidates

    def _by_matcher(self, progress: Progress) -> tuple[Links, Ints, Candidates]:
        """Return the same by the comparison."""
        assert self.comparison is not None
        comparison, cut, rule = self.comparison, self.link.probability, self.link.rule
        (left, right), score = comparison.ends, comparison.log_odds
        progress(f"grouping {counted(len(score), 'pair')}")
        within, inside = None, np.ones(len(score), bool)
        if self.same is not None:
            within = self.same.groups(cut=cut, rule=rule)
            inside = within[left] == within[right]
        linked = inside & (score >= self.link.score)
        links = Links.of(len(comparison), left[linked], right[linked], score[linked])
        candidates = Candidates(
            left, right, comparison.pairs.lexical, comparison.pairs.unfinished, comparison.approximate
        )
        codes = comparison.groups(cut=cut, rule=rule, calibrate=self.pairs.probability, within=within)
        return links, codes, candidates

    def _by_vectors(self, progress: Progress) -> tuple[Links, Ints, Candidates]:
        """Return the same by a search among the vectors."""
        from twicetold.dedupe.blocking import search_pairs
        from twicetold.dedupe.topics import PairsOfTopics

        assert self.vectors is not None
        least, rule = self.link.score, self.link.rule
        progress(f"searching {counted(len(self.distinct), 'text')}")
        candidates = search_pairs(
            self.vectors,
            self.pairs.least_dot(least),
            neighbours=NEIGHBOURS,
            rule=rule,
            limits=None if self.limits is None else self.limits.take(self.distinct.rows),
        )
        score = self.pairs.score_candidates(candidates, progress)
        scored, start = Links.of(len(self.distinct), candidates.left, candidates.right, score), candidates.start
        progress("grouping")
        if isinstance(self.pairs, PairsOfTopics):
            scored, start = self.pairs.around_same(self.link, scored, start)
        return scored.at_least(least), self.pairs.groups(scored, least, rule, start=start), candidates


def _constraints(count: int, options: DedupeOptions) -> "Constraints | None":
    """Return constraints of n texts, if there are any."""
    if (pairs := options.pairs) is None:
        return None
    from twicetold.dedupe.constraints import Constraints

    if not isinstance(pairs, tuple | list) or len(pairs) != 3:
        raise TypeError("pairs: expected three columns: rows, rows, and whether each pair is a duplicate")
    return Constraints.of(count, *pairs)


def require_vectors(model: LoadedModel, texts: Sequence[str]) -> None:
    """Check that a model can search among such texts.

    Raises:
        TypeError: if it scores pairs only.
    """
    if not model.trained.read(texts[:1]).searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text to search with. Give a model that has one, "
            "such as static or tfidf, and score pairs with this one (predict_proba, or the command pairs)"
        )


def _further(options: DedupeOptions, thresholds: Thresholds, count: int) -> list[list[str]]:
    """Return further columns, n values each.

    Raises:
        TypeError: if there are some, and no generic matcher compares the texts.
    """
    require_list("also", options.also)
    columns = [strings_of(column) for column in options.also]
    for number, column in enumerate(columns):
        require_length(f"also[{number}]", column, count)
    if columns and not thresholds.unlabelled:
        raise TypeError(
            "also: further columns are compared by the generic matcher, and this model has a score of its own, or "
            "labels of texts alone: leave MODEL out (twicetold.fit(texts))"
        )
    return columns


def _separated(
    plain: DistinctTexts,
    limits: Limits | None,
    constraints: "Constraints | None",
    also: Sequence[Ints],
    progress: Progress,
) -> DistinctTexts:
    """Tell apart distinct texts that limits, cannot-link pairs or values of further columns keep apart."""
    keys = (*also, *(() if limits is None else (limits.block, *limits.values)))
    if limits is not None and limits.alone:
        are, they = ("is", "it has") if limits.alone == 1 else ("are", "they have")
        texts = f"{limits.alone:,} of {len(plain.exact):,} texts"
        progress(f"{texts} {are} linked with none, as {they} no value in a column")
    if constraints is not None:
        constraints.require_allowed(limits)
        keys = (*keys, constraints.key(plain.place))
    return plain.apart(keys) if keys else plain


def _compared(
    model: LoadedModel,
    distinct: DistinctTexts,
    options: DedupeOptions,
    limits: Limits | None,
    vectors: Vectors | None,
    also: Sequence[Sequence[str]],
    thresholds: Thresholds,
    progress: Progress,
) -> "Comparison":
    """Compare distinct texts by the generic matcher, with the features that one moved by labels goes by."""
    from twicetold.matching.comparison import Comparison  # slow to import

    among, allowed = None, None
    if limits is not None and vectors is not None:
        limits = limits.take(distinct.rows)
        among, allowed = partial(_within, searched=vectors, limits=limits), limits.allow
    own = thresholds.texts_alone  # vectors of a fitted model
    names = () if thresholds.matched is None else thresholds.matched.matcher.names
    comparison = Comparison.of(
        distinct.texts,
        encode=lambda texts, _: member_vectors(model.trained, texts) if own else _static(texts, names),
        read=lambda texts, _: model.trained.read(texts).keeping(np.arange(len(texts))) if SCORE in names else None,
        also=[[column[row] for row in distinct.rows.tolist()] for column in also],
        sense=options.sense,
        among=among,
        progress=progress,
    )
    return replace(comparison, allowed=allowed)


def _moved(
    comparison: "Comparison",
    distinct: DistinctTexts,
    options: DedupeOptions,
    constraints: "Constraints | None",
    vectors: Vectors | None,
    moved: "MatchedLinks | None",
) -> tuple["Comparison", PairScores, "Comparison | None"]:
    """Move the matcher by labels, or by answers about these texts, and score pairs.

    The third is what `Prepared.same` is.
    """
    decision = LOG_ODDS
    if moved is not None:
        comparison, decision = comparison.with_matcher(moved.matcher), moved.decision
    elif constraints:
        answers = constraints.left, constraints.right, constraints.same
        comparison = (comparison.in_valley() if options.sense == "same" else comparison).answered(*answers)
        decision = replace(LOG_ODDS, threshold=comparison.best_cut(*answers))
    elif options.sense == "same":
        decision = half_at(comparison.valley)
    if options.sense == "same" or (options.sense == "copies" and constraints is not None):
        return comparison, PairsByModel(comparison, decision), None  # answers say themselves what copies are
    from twicetold.matching.generic import generic_matcher

    same = comparison.with_matcher(generic_matcher(vectors=comparison.vectors is not None))
    same = same if constraints else same.in_valley()
    if options.sense == "copies":
        return comparison, PairsByModel(comparison, decision), same
    from twicetold.dedupe.topics import PairsOfTopics

    assert vectors is not None
    return comparison, PairsOfTopics.of(vectors, distinct.texts, same), None


def _static(texts: Sequence[str], names: Sequence[str]) -> "Dense | None":
    """Return the default's vectors of texts, unless a matcher of features with these names goes without."""
    return None if names and COSINE not in names else static_vectors(texts)


def _within(both: "Csr", vectors: "Dense | None", order: Ints, *, searched: Vectors, limits: Limits) -> "Ends":
    """Return pairs within limits, by the positions of their texts in an order."""
    from twicetold.dedupe.blocking import large_blocks, pairs_within
    from twicetold.matching.candidates import Ends, nearest_pairs

    searched, limits = of_rows(searched, order), limits.take(order)
    apart, packed = large_blocks(limits)
    found = [Ends(*(np.empty(0, np.int64),) * 2)]
    for block in apart:
        near = nearest_pairs(both[block], None if vectors is None else vectors[block])
        found.append(Ends(block[near.left], block[near.right], near.unfinished))
    if len(packed):
        within = pairs_within(of_rows(searched, packed), limits.take(packed), None, neighbours=NEIGHBOURS)
        found.append(Ends(packed[within.left], packed[within.right]))
    one, other = (np.concatenate([getattr(ends, side) for ends in found]) for side in ("left", "right"))
    left, right = np.divmod(np.unique(np.minimum(one, other) * len(order) + np.maximum(one, other)), len(order))
    return Ends(left, right, sum(ends.unfinished for ends in found))


def _no_threshold(pairs: PairScores, options: DedupeOptions) -> list[str]:
    """Return a warning of topics whose threshold the texts do not show; none if they do, or a person gave one."""
    from twicetold.dedupe.topics import PairsOfTopics

    if options.threshold is not None or not isinstance(pairs, PairsOfTopics) or pairs.shown:
        return []
    return [
        "these texts show no threshold for topics, for which it takes at least 50 distinct texts with groups among "
        "them, so a cautious one is taken. Too few links? Give a low --threshold, such as 0.1"
    ]


def _drift(model: LoadedModel, texts: Sequence[str], blank: int) -> list[str]:
    """Describe how m distinct texts, some of them blank to the model, are unlike those that it was trained on."""
    unknown = unknown_texts(blank, len(texts))
    unlike = [] if unknown is None else [unknown]
    if isinstance(model.trained, Fitted) and model.trained.texts == texts:
        return unlike
    from twicetold.trained.drift import Drift

    drift = Drift(model)
    drift.add(texts)
    return [*drift.warnings(), *unlike]
