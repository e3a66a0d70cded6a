"""What comes before the search for links: distinct texts, their vectors, and the score from which a pair is a link.

Shape letters: n texts, m distinct texts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from twicetold.dedupe.agreement import KnownGroups
from twicetold.dedupe.blocking import of_rows, search_pairs
from twicetold.dedupe.candidates import Candidates
from twicetold.dedupe.caution import NO_THRESHOLD
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.limits import Limits
from twicetold.dedupe.options import NEIGHBOURS, DedupeOptions
from twicetold.dedupe.pairs import PairScores, pairs_of
from twicetold.dedupe.said import Said
from twicetold.dedupe.thresholds import LinkThreshold, Thresholds
from twicetold.dedupe.told import unknown_texts
from twicetold.interpretation.word_use import WordUse
from twicetold.neighbours.grouping import Ints, Links, Vectors
from twicetold.printable import counted
from twicetold.tables.texts import texts_of
from twicetold.trained.evidence import no_better_than_one_answer
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.unlike import Likeness, blank
from twicetold.trained.vectors import search_vectors

EXTREME = 0.001  # probabilities and similarities nearer to 0 and 1 are not told apart
BELOW = (1.0, 0.5)  # log-odds of a probability, and of a similarity, that a pair may lack to be almost a link
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """Texts that can be searched for links.

    Args:
        options: what is a link, and what becomes of links.
        distinct: the texts.
        vectors: of the m distinct texts, as queries and as documents.
        pairs: their scores.
        thresholds: what is known of links.
        link: the threshold for these options.
        warnings: ways in which the texts are unlike those of the training, and that they show no threshold.
        limits: of links between the n texts, if there are any.
        said: what a person said of pairs of distinct texts, if anything.
        truth: groups that are known for some of the n texts, to compare with.
    """

    options: DedupeOptions
    distinct: DistinctTexts
    vectors: Vectors
    pairs: PairScores
    thresholds: Thresholds
    link: LinkThreshold
    warnings: tuple[str, ...]
    limits: Limits | None = None
    said: Said | None = None
    truth: KnownGroups | None = None

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        texts: Sequence[str],
        options: DedupeOptions,
        *,
        encoded: Callable[[], Vectors] | None,
        tell: Tell,
    ) -> "Prepared":
        """Arguments and errors: `twicetold.dedupe.dedupe.dedupe`."""
        texts = texts_of(texts)
        limits, said = Limits.of(len(texts), options.same, options.within), _said(len(texts), options.pairs)
        truth = None if options.truth is None else KnownGroups.of(len(texts), options.truth)
        if not texts:
            raise ValueError("there are no texts to group")
        thresholds = Thresholds.of(model, options)
        tell(thresholds.in_words)
        tell("looking for exact duplicates")
        plain = DistinctTexts.of(texts)
        _require_vectors(model, plain)
        if limits is not None and limits.alone:
            are, they = ("is", "it has") if limits.alone == 1 else ("are", "they have")
            tell(f"{limits.alone:,} of {len(texts):,} texts {are} linked with none, as {they} no value in a column")
        keys = () if limits is None else (limits.block, *limits.values)
        if said is not None:
            said.require_allowed(limits)
            keys = (*keys, said.key(plain.place))
        distinct = plain.apart(keys) if keys else plain
        if encoded is None:
            vectors = of_rows(_encoded(model, plain, tell), plain.place[distinct.rows])
        else:
            vectors = of_rows(encoded(), distinct.rows)
        warnings = _unlike(model, distinct.texts, vectors)
        pairs = pairs_of(model, distinct.texts, vectors, measured=thresholds.measured)
        link = thresholds.link(pairs.decision, options, len(distinct))
        if link.chosen_for == "constant":
            warnings = (*warnings, NO_THRESHOLD.format(link.score))
        for warning in warnings:
            tell(f"warning: {warning}")
        told = None if said is None else said.of_distinct(distinct.place)
        return cls(options, distinct, vectors, pairs, thresholds, link, warnings, limits, told, truth)

    def threshold_at(self, step: float) -> float:
        """A threshold as `dedupe` takes it, a probability or a similarity, at so many log-odds from that of a link."""
        middle = float(self.pairs.probability(np.array([self.link.score]))[0])
        inside = min(max(middle, EXTREME), 1 - EXTREME)
        return 1 / (1 + math.exp(-math.log(inside / (1 - inside)) - step))

    def score_of(self, threshold: float) -> float:
        """The score with a probability or similarity."""
        asked = replace(self.options, precision=None, threshold=threshold)
        return self.thresholds.link(self.pairs.decision, asked, len(self.distinct)).score

    def below(self, score: float) -> float:
        """A score below that of a link, so that pairs that are almost links are found as well."""
        return min(score, self.score_of(self.threshold_at(-BELOW[self.thresholds.guessed])))

    def search(self, least: float, tell: Tell) -> tuple[Links, Candidates]:
        """The pairs of distinct texts within limits that score at least `least`; below it, some as well."""
        tell(f"searching {counted(len(self.distinct), 'text')}")
        limits = None if self.limits is None else self.limits.take(self.distinct.rows)
        near = search_pairs(
            self.vectors,
            self.pairs.least_dot(least),
            neighbours=NEIGHBOURS,
            rule=self.options.rule,
            limits=limits,
        )
        score = self.pairs.score_near(near, tell)
        return Links.of(len(self.distinct), near.left, near.right, score), near

    def grouping(self, found: Links, near: Candidates, least: float) -> Callable[[float], tuple[Links, Ints]]:
        """From a score, `least` or a higher one, to the links from it on and the (m,) group of each distinct text."""
        groups = self.pairs.groups(found, least, self.options.rule, start=near.start)

        def at(score: float) -> tuple[Links, Ints]:
            links, codes = found.at_least(score), groups(score)
            return (links, codes) if self.said is None else self.said.hold(links, codes, self.pairs.score)

        return at


def _said(count: int, pairs: tuple[ArrayLike, ArrayLike, ArrayLike] | None) -> Said | None:
    """What a person said of pairs of n texts, if anything."""
    if pairs is None:
        return None
    if not isinstance(pairs, tuple | list) or len(pairs) != 3:
        raise TypeError("pairs: expected three columns: rows of texts, rows of others, whether each pair says the same")
    return Said.of(count, *pairs)


def _require_vectors(model: LoadedModel, distinct: DistinctTexts) -> None:
    if not model.trained.read(distinct.texts[:1]).searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text to search with. Give a model that has one, "
            "such as static or tfidf, and score pairs with this one (predict_proba, or the command pairs)"
        )


def _encoded(model: LoadedModel, distinct: DistinctTexts, tell: Tell) -> Vectors:
    tell(f"encoding {counted(len(distinct), 'distinct text')}")
    return search_vectors(model.trained, distinct.texts)


def _unlike(model: LoadedModel, texts: Sequence[str], vectors: Vectors) -> tuple[str, ...]:
    """Ways in which texts are unlike those that the model was trained on, and what its labels say against it.

    Args:
        model: that made the vectors.
        texts: m distinct texts.
        vectors: of them.
    """
    likeness, use = Likeness(model), WordUse(model)
    likeness.add(texts)
    use.add(texts)
    said = [*likeness.warnings(), *use.warnings()]
    further = unknown_texts(blank(vectors[1]), len(texts)), no_better_than_one_answer(model.record, model.about)
    return (*said, *filter(None, further))
