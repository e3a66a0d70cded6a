"""Groups of texts that say the same.

1. Texts that are equal in their normal form, white space aside, are one (`distinct`).
   Where rows have limits, such as a window of dates (`limits`), so must be their values.
2. Pairs of distinct texts are found by search vectors (`candidates`), within the limits (`blocking`): all from the
   threshold on, or where another score counts, those of the nearest texts.
3. Pairs whose similarity reaches a threshold (`thresholds`) are links, and groups follow from links by a rule of
   `twicetold.neighbours.grouping` and from must-link and cannot-link pairs (`constraints`).
4. Each group has a representative (`groups`), and a person is warned of doubtful groups (`caution`).

`twicetold.staged` does the same for a folder, out of core, with the same functions over arrays of files.

Shape letters: n texts, m distinct texts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from twicetold.dedupe.agreement import KnownGroups
from twicetold.dedupe.blocking import of_rows, search_pairs
from twicetold.dedupe.candidates import Candidates
from twicetold.dedupe.caution import many_grouped, unknown_texts, warnings_of
from twicetold.dedupe.constraints import Constraints
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.groups import Grouped, borderline, values_to_keep
from twicetold.dedupe.limits import Limits
from twicetold.dedupe.link_threshold import LinkThreshold
from twicetold.dedupe.options import DEFAULTS, NEIGHBOURS, DedupeOptions
from twicetold.dedupe.pairs import PairsByModel, PairScores, pairs_of
from twicetold.dedupe.results import DedupeCounts, DedupeSummary, GroupsOfTexts, TextGroups, TextLinks
from twicetold.dedupe.thresholds import Thresholds, score_at, threshold_warnings
from twicetold.neighbours.grouping import Ints, Links, Vectors, describe
from twicetold.printable import counted
from twicetold.tables.texts import texts_of
from twicetold.trained.drift import Drift, blank
from twicetold.trained.fitted import Fitted
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors

if TYPE_CHECKING:
    from twicetold.dedupe.matched import MatchedTexts

EXTREME = 0.001  # probabilities nearer to 0 and 1 are not told apart
BELOW = 1.0  # log-odds that a pair may lack to be almost a link
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """Texts that can be searched for links.

    Args:
        options: what is a link, and what becomes of links.
        distinct: the texts.
        vectors: of the m distinct texts, as queries and as documents; None where the matcher needs none.
        pairs: their scores.
        thresholds: what is known of links.
        link: the threshold for these options.
        warnings: drift of the texts from those of the training, and doubts about the threshold.
        limits: of links between the n texts, if there are any.
        constraints: must-link and cannot-link pairs of distinct texts, if there are any.
        truth: groups that are known for some of the n texts, to compare with.
        matched: candidate pairs that the matcher scores; None: they are searched for by the vectors.
    """

    options: DedupeOptions
    distinct: DistinctTexts
    vectors: Vectors | None
    pairs: PairScores
    thresholds: Thresholds
    link: LinkThreshold
    warnings: tuple[str, ...]
    limits: Limits | None = None
    constraints: Constraints | None = None
    truth: KnownGroups | None = None
    matched: "MatchedTexts | None" = None

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        texts: Sequence[str],
        options: DedupeOptions,
        *,
        encoded: Callable[[], Vectors] | None,
        by_matcher: bool = True,
        progress: Progress,
    ) -> "Prepared":
        """Arguments and errors: `dedupe`."""
        texts = texts_of(texts)
        limits = Limits.of(len(texts), options.same, options.within)
        constraints = _constraints(len(texts), options)
        truth = None if options.truth is None else KnownGroups.of(len(texts), options.truth)
        if not texts:
            raise ValueError("there are no texts to group")
        thresholds = Thresholds.of(model, options, by_matcher=by_matcher)
        progress(thresholds.in_words)
        progress("looking for exact duplicates")
        plain = DistinctTexts.of(texts)
        by_matcher &= bool(thresholds.matched or thresholds.unlabelled)
        if not by_matcher:
            _require_vectors(model, plain)
        distinct = _separated(plain, limits, constraints, progress)
        constraints = None if constraints is None else constraints.of_distinct(distinct.place)
        vectors, matched = None, None
        if encoded is not None:
            vectors = of_rows(encoded(), distinct.rows)
        elif limits is not None or not by_matcher:
            progress(f"encoding {counted(len(plain), 'distinct text')}")
            vectors = of_rows(search_vectors(model.trained, plain.texts), plain.place[distinct.rows])
        pairs: PairScores
        if by_matcher:
            progress("comparing what texts share and what they do not")
            within = None if limits is None else limits.take(distinct.rows)
            matched, pairs = _by_matcher(model, distinct.texts, options, thresholds, constraints, within, vectors)
            drift = _drift(model, distinct.texts, matched.blank)
        else:
            assert vectors is not None
            pairs = pairs_of(model, distinct.texts, vectors, measured=thresholds.measured)
            drift = _drift(model, distinct.texts, blank(vectors[1]))
        link = thresholds.link(pairs, options, len(distinct))
        warnings = (*drift, *threshold_warnings(model))
        for warning in warnings:
            progress(f"warning: {warning}")
        return cls(options, distinct, vectors, pairs, thresholds, link, warnings, limits, constraints, truth, matched)

    def threshold_at(self, step: float) -> float:
        """A threshold as `dedupe` takes it, a probability, at so many log-odds from that of a link."""
        inside = min(max(self.link.probability, EXTREME), 1 - EXTREME)
        return 1 / (1 + math.exp(-math.log(inside / (1 - inside)) - step))

    def score_of(self, threshold: float) -> float:
        """The score with a probability."""
        return score_at(threshold, self.pairs.decision)

    def score_to_review(self) -> float:
        """A score below that of a link, so that pairs that are almost links are found as well."""
        return min(self.link.score, self.score_of(self.threshold_at(-BELOW)))

    def search(self, least: float, progress: Progress) -> tuple[Links, Candidates]:
        """The pairs of distinct texts within limits that score at least `least`; below it, some as well."""
        if self.matched is not None:
            candidates = self.matched.candidates
        else:
            assert self.vectors is not None
            progress(f"searching {counted(len(self.distinct), 'text')}")
            candidates = search_pairs(
                self.vectors,
                self.pairs.least_dot(least),
                neighbours=NEIGHBOURS,
                rule=self.options.rule,
                limits=None if self.limits is None else self.limits.take(self.distinct.rows),
            )
        score = self.pairs.score_candidates(candidates, progress)
        return Links.of(len(self.distinct), candidates.left, candidates.right, score), candidates

    def grouping(self, links: Links, candidates: Candidates, least: float) -> Callable[[float], tuple[Links, Ints]]:
        """A function from a score, `least` or higher, to the links that reach it and the (m,) groups."""
        groups = self.pairs.groups(links, least, self.options.rule, start=candidates.start)

        def at(score: float) -> tuple[Links, Ints]:
            reaching, codes = links.at_least(score), groups(score)
            if self.constraints is None:
                return reaching, codes
            return self.constraints.apply(reaching, codes, self.pairs.score)

        return at

    def in_rows(self, links: Links) -> TextLinks:
        """Pairs of distinct texts by rows of the texts."""
        rows, probability = self.distinct.rows, self.pairs.probability(links.similarity)
        return TextLinks(rows[links.left], rows[links.right], links.similarity, probability)


def dedupe(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions = DEFAULTS,
    *,
    encoded: Callable[[], Vectors] | None = None,
    by_matcher: bool = True,
    progress: Progress | None = None,
) -> TextGroups:
    """Group texts that say the same; nothing is dropped.

    Args:
        model: whose search vectors find the pairs.
        texts: n of them, none empty.
        options: what is a link, and what becomes of links.
        encoded: gives the search vectors of all texts, so that no text is encoded here.
        by_matcher: group texts that a model was fitted to without labels by the generic matcher, not by similarity.
        progress: is called with a description of each step.

    Raises:
        TypeError: if this family scores pairs only, or one text is given in place of several.
        ValueError: if a text is empty, no threshold is known for the precision, or a column cannot be used.
    """
    _require_values(options, len(texts))
    progress = progress or (lambda _: None)
    prepared = Prepared.of(model, texts, options, encoded=encoded, by_matcher=by_matcher, progress=progress)
    distinct, least = prepared.distinct, prepared.link.score
    lowest = prepared.score_to_review() if options.review else least
    scored, candidates = prepared.search(lowest, progress)
    progress("grouping")
    links, codes = prepared.grouping(scored, candidates, least)(least)
    grouped = Grouped.of(
        prepared.pairs, links, codes, options, lengths=lambda: [*map(len, distinct.texts)], distinct=distinct
    )
    group, table = codes[distinct.place], _table(grouped, distinct.place)
    review = None
    if options.review:
        review = borderline(scored, least, codes, prepared.constraints, count=options.review)
    return TextGroups(
        group=group,
        representative=grouped.row[distinct.place],
        probability=grouped.probability[distinct.place],
        exact=distinct.exact,
        links=prepared.in_rows(links),
        table=table,
        summary=_summary(prepared, grouped, table, candidates, progress),
        texts=texts_of(texts),
        review=None if review is None else prepared.in_rows(review),
        why=None if prepared.matched is None else prepared.matched.explaining(links.left, links.right),
    )


def _constraints(count: int, options: DedupeOptions) -> Constraints | None:
    """Constraints of n texts, if there are any."""
    if (pairs := options.pairs) is None:
        return None
    if not isinstance(pairs, tuple | list) or len(pairs) != 3:
        raise TypeError("pairs: expected three columns: rows of texts, rows of others, whether each pair says the same")
    return Constraints.of(count, *pairs)


def _require_values(options: DedupeOptions, count: int) -> None:
    """Check the column that says which row is kept, if there is one, before anything is done."""
    if isinstance(options.keep, tuple) and len(values := values_to_keep(*options.keep)) != count:
        raise ValueError(f"keep: expected a value for each of {count:,} texts, got {len(values):,}")


def _require_vectors(model: LoadedModel, distinct: DistinctTexts) -> None:
    if not model.trained.read(distinct.texts[:1]).searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text to search with. Give a model that has one, "
            "such as static or tfidf, and score pairs with this one (predict_proba, or the command pairs)"
        )


def _separated(
    plain: DistinctTexts, limits: Limits | None, constraints: Constraints | None, progress: Progress
) -> DistinctTexts:
    """Distinct texts, with those apart that limits or cannot-link pairs keep apart."""
    keys = () if limits is None else (limits.block, *limits.values)
    if limits is not None and limits.alone:
        are, they = ("is", "it has") if limits.alone == 1 else ("are", "they have")
        texts = f"{limits.alone:,} of {len(plain.exact):,} texts"
        progress(f"{texts} {are} linked with none, as {they} no value in a column")
    if constraints is not None:
        constraints.require_allowed(limits)
        keys = (*keys, constraints.key(plain.place))
    return plain.apart(keys) if keys else plain


def _by_matcher(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions,
    thresholds: Thresholds,
    constraints: Constraints | None,
    limits: Limits | None,
    vectors: Vectors | None,
) -> tuple["MatchedTexts", PairsByModel]:
    """Distinct texts as the matcher compares them, moved by labels or by answers about them."""
    from twicetold.dedupe.matched import LOG_ODDS, MatchedTexts  # with scikit-learn

    matched = MatchedTexts.of(model.trained, texts, sense=options.sense, limits=limits, searched=vectors)
    if (moved := thresholds.matched) is not None:
        matched = replace(matched, matcher=moved.matcher)
        return matched, PairsByModel(matched, moved.decision)
    if constraints is not None:
        matched = matched.answered(constraints.left, constraints.right, constraints.same)
    return matched, PairsByModel(matched, LOG_ODDS)


def _drift(model: LoadedModel, texts: Sequence[str], blank: int) -> list[str]:
    """Ways in which m distinct texts, some of them blank to the model, are unlike those that it was trained on."""
    unknown = unknown_texts(blank, len(texts))
    unlike = [] if unknown is None else [unknown]
    if isinstance(model.trained, Fitted) and model.trained.texts == texts:
        return unlike
    likeness = Drift(model)
    likeness.add(texts)
    return [*likeness.warnings(), *unlike]


def _table(grouped: Grouped, place: Ints) -> GroupsOfTexts:
    """The groups of two or more of the n texts, by the distinct text of each."""
    described = describe(grouped.codes, grouped.links)
    size = np.bincount(grouped.codes[place])
    larger = np.flatnonzero(size > 1)
    return GroupsOfTexts(
        larger, size[larger], described.size[larger], described.density[larger], described.weakest[larger]
    )


def _summary(
    prepared: Prepared, grouped: Grouped, table: GroupsOfTexts, candidates: Candidates, progress: Progress
) -> DedupeSummary:
    """The dedupe in numbers; warnings are told as well."""
    distinct, links, limits = prepared.distinct, grouped.links, prepared.limits
    group = grouped.codes[distinct.place]
    counts = DedupeCounts(
        texts=len(group),
        distinct=len(distinct),
        links=len(links),
        groups=len(table),
        grouped=int(table.size.sum()),
        largest=int(table.size.max(initial=1)),
        unfinished=candidates.unfinished,
        approximate=candidates.approximate,
        covered=prepared.thresholds.covered(links),
        alone=0 if limits is None else limits.alone,
        wide=0 if limits is None else limits.wide(group),
    )
    many = many_grouped(counts.grouped, counts.texts, counts.texts - int(grouped.codes.max()) - 1)
    doubts = warnings_of(distinct.texts, links, grouped.codes, prepared.pairs, least=prepared.link.score)
    warnings = (*([] if many is None else [many]), *doubts)
    for warning in warnings:
        progress(f"warning: {warning}")
    agreement = None
    if prepared.truth is not None:
        progress("comparing with known groups")
        agreement = prepared.truth.agreement(group, links, distinct, prepared.pairs.vectors)
    return DedupeSummary(counts, prepared.link, (*prepared.warnings, *warnings), agreement)
