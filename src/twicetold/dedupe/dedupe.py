"""Groups of texts that say the same.

1. Texts that are equal but for case, white space and Unicode compatibility forms (NFKC) are one (`distinct`).
2. Each distinct text is compared with its nearest ones by search vectors (`near`).
3. With `rerank`, another model scores these pairs; it may be one that scores pairs only (`pairs`).
4. Pairs whose similarity reaches a threshold (`thresholds`) are links, and groups follow from links by a rule of
   `twicetold.neighbours.grouping`.

Shape letters: n texts, m distinct texts.
"""

from collections.abc import Callable, Sequence

import numpy as np

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.grouped import GroupedTexts
from twicetold.dedupe.near import NearPairs, near_pairs
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.pairs import pairs_of
from twicetold.dedupe.representatives import representatives
from twicetold.dedupe.results import DedupeSummary, TextGroups
from twicetold.dedupe.thresholds import LinkThreshold, Thresholds
from twicetold.neighbours.grouping import Ints, Links, Vectors
from twicetold.neighbours.rules import Rule
from twicetold.tables.texts import texts_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.unlike import BLANK, Likeness, blank
from twicetold.trained.vectors import search_vectors

Tell = Callable[[str], None]


def dedupe(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions = DEFAULTS,
    *,
    encoded: Callable[[], Vectors] | None = None,
    progress: Tell | None = None,
) -> TextGroups:
    """Group texts that say the same; nothing is dropped.

    Args:
        model: whose search vectors find the pairs.
        texts: n of them, none empty.
        options: what is a link, and what becomes of links.
        encoded: gives the search vectors of all texts, so that no text is encoded here.
        progress: is called with a description of each step.

    Raises:
        TypeError: if this family scores pairs only, or one text is given in place of several.
        ValueError: if a text is empty, or no threshold is known for the precision.
    """
    tell = progress or (lambda _: None)
    texts = texts_of(texts)
    if not texts:
        raise ValueError("there are no texts to group")
    thresholds = Thresholds.of(model, options)
    if not thresholds.guessed:
        tell(f"threshold and probabilities rest on {thresholds.evidence}")
    elif options.threshold is None:
        tell(f"the threshold rests on {thresholds.evidence}")
    tell("looking for exact duplicates")
    distinct = DistinctTexts.of(texts)
    _require_vectors(model, distinct)
    vectors = _encoded(model, distinct, tell) if encoded is None else _of_rows(encoded(), distinct.rows)
    warnings = _unlike(model, distinct.texts, vectors)
    for warning in warnings:
        tell(f"warning: {warning}")
    pairs = pairs_of(model, distinct.texts, vectors, measured=thresholds.measured, rerank=options.rerank)
    link = thresholds.link(pairs.decision, options, len(distinct))
    tell(f"searching {len(distinct):,} texts")
    near = near_pairs(vectors, pairs.least_dot(link.score), neighbours=options.neighbours)
    score = pairs.score_near(near, tell)
    tell("grouping")
    found = Links.of(len(distinct), near.left, near.right, score)
    links, codes = pairs.group(found, link.score, options.rule)
    kept = representatives(codes, links, options.keep, distinct.texts, pairs.vectors)
    grouped = GroupedTexts(distinct, pairs, links, codes, kept[codes])
    return TextGroups(
        group=grouped.group,
        representative=grouped.rows_of_representatives(),
        probability=grouped.probability(),
        exact=distinct.exact,
        links=grouped.text_links(),
        table=grouped.table,
        summary=_summary(grouped, near, thresholds, link, rule=options.rule, warnings=warnings),
    )


def _require_vectors(model: LoadedModel, distinct: DistinctTexts) -> None:
    if not model.trained.read(distinct.texts[:1]).searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text to search with. Give a model that has one, "
            "such as static or tfidf, and this one to re-rank its pairs (rerank)"
        )


def _encoded(model: LoadedModel, distinct: DistinctTexts, tell: Tell) -> Vectors:
    tell(f"encoding {len(distinct):,} distinct texts")
    return search_vectors(model.trained, distinct.texts)


def _of_rows(vectors: Vectors, rows: Ints) -> Vectors:
    """The vectors of the distinct texts among those of all."""
    queries, documents = vectors
    if len(rows) == queries.shape[0]:
        return vectors
    taken = queries[rows]
    return taken, taken if documents is queries else documents[rows]


def _unlike(model: LoadedModel, texts: Sequence[str], vectors: Vectors) -> tuple[str, ...]:
    """Ways in which texts are unlike those that the model was trained on."""
    likeness = Likeness(model)
    likeness.add(texts)
    said = list(likeness.warnings())
    if (count := blank(vectors[1])) > BLANK * len(texts):
        said.append(
            f"{count:,} of {len(texts):,} texts ({count / len(texts):.0%}) have no term that the model knows, and "
            "are like no other text to it: train a model on texts like these, or take one that reads letters"
        )
    return tuple(said)


def _summary(
    grouped: GroupedTexts,
    near: NearPairs,
    thresholds: Thresholds,
    link: LinkThreshold,
    *,
    rule: Rule,
    warnings: tuple[str, ...],
) -> DedupeSummary:
    distinct, sizes = grouped.distinct, grouped.table.size
    return DedupeSummary(
        texts=len(distinct.exact),
        distinct=len(distinct),
        links=len(grouped.links),
        groups=len(sizes),
        grouped=int(sizes.sum()),
        largest=int(sizes.max(initial=1)),
        rule=rule,
        threshold=link.score,
        probability=float(grouped.pairs.probability(np.array([link.score]))[0]),
        unfinished=near.unfinished,
        approximate=near.approximate,
        evidence=thresholds.evidence,
        calibrated=not thresholds.guessed,
        labelled_pairs=thresholds.known is None and not thresholds.guessed,
        warnings=warnings,
        covered=thresholds.covered(grouped.links),
        precision=link.precision,
        expected_precision=thresholds.expected_precision(link, len(distinct)),
        lower_bound=thresholds.is_lower_bound(link),
        promised=link.promised,
        assured=link.assured,
    )
