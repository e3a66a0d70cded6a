"""Groups of texts that say the same.

1. Texts that are equal in their normal form but for white space are one (`distinct`).
   Where rows have limits, such as a window of dates (`limits`), so must be their values.
2. Pairs of distinct texts are found by search vectors (`near`), within the limits (`near_within`): all from the
   threshold on, or where another score counts, those of the nearest texts.
3. With `rerank`, another model scores these pairs; it may be one that scores pairs only (`pairs`).
4. Pairs whose similarity reaches a threshold (`thresholds`) are links, and groups follow from links by a rule of
   `twicetold.neighbours.grouping`.

Shape letters: n texts, m distinct texts.
"""

from collections.abc import Callable, Sequence

import numpy as np

from twicetold.dedupe.agreement import KnownGroups
from twicetold.dedupe.caution import many_grouped, warnings_of
from twicetold.dedupe.grouped import GroupedTexts
from twicetold.dedupe.limits import Limits
from twicetold.dedupe.near import NearPairs
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.prepared import Prepared, Tell
from twicetold.dedupe.representatives import representatives
from twicetold.dedupe.results import DedupeSummary, TextGroups
from twicetold.dedupe.review import borderline
from twicetold.dedupe.said import Said
from twicetold.dedupe.worth import cleanness, most_worth
from twicetold.neighbours.grouping import Floats, Vectors
from twicetold.tables.texts import texts_of
from twicetold.trained.loaded import LoadedModel


def dedupe(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions = DEFAULTS,
    *,
    limits: Limits | None = None,
    said: Said | None = None,
    worth: Floats | None = None,
    review: int = 0,
    truth: KnownGroups | None = None,
    encoded: Callable[[], Vectors] | None = None,
    progress: Tell | None = None,
) -> TextGroups:
    """Group texts that say the same; nothing is dropped.

    Args:
        model: whose search vectors find the pairs.
        texts: n of them, none empty.
        options: what is a link, and what becomes of links.
        limits: which texts may be linked; None: all.
        said: what a person said of pairs of texts; it holds in the groups.
        worth: (n,) of each text: of a group the highest one is kept; None: as the options say.
        review: how many pairs near the threshold are given for a person to look at.
        truth: groups that are known for some of the texts, to compare with.
        encoded: gives the search vectors of all texts, so that no text is encoded here.
        progress: is called with a description of each step.

    Raises:
        TypeError: if this family scores pairs only, or one text is given in place of several.
        ValueError: if a text is empty, no threshold is known for the precision, or `review` is negative.
    """
    if review < 0:
        raise ValueError(f"expected a number of pairs to review, got {review}")
    tell = progress or (lambda _: None)
    prepared = Prepared.of(model, texts, options, limits=limits, said=said, encoded=encoded, tell=tell)
    distinct, pairs, least = prepared.distinct, prepared.pairs, prepared.link.score
    found, near = prepared.search(prepared.below(least) if review else least, tell)
    tell("grouping")
    links, codes = prepared.grouping(found, near, least)(least)
    if worth is None and options.keep == "cleanest":
        worth = cleanness(texts_of(texts), distinct.place)
    if worth is None:
        lengths = [len(text) for text in distinct.texts]
        rows = distinct.rows[representatives(codes, links, options.keep, lengths, pairs.vectors)]
    else:
        rows = most_worth(codes[distinct.place], worth)
    grouped = GroupedTexts(distinct, pairs, links, codes, rows[codes])
    warnings = _warnings(grouped, least)
    for warning in warnings:
        tell(f"warning: {warning}")
    agreement = None
    if truth is not None:
        tell("comparing with known groups")
        agreement = truth.agreement(grouped.group, links, distinct, pairs.vectors)
    return TextGroups(
        group=grouped.group,
        representative=grouped.rows_of_representatives(),
        probability=grouped.probability(),
        exact=distinct.exact,
        links=grouped.in_rows(links),
        table=grouped.table,
        summary=_summary(prepared, grouped, near, warnings),
        review=grouped.in_rows(borderline(found, least, codes, prepared.said, count=review)) if review else None,
        agreement=agreement,
    )


def _warnings(grouped: GroupedTexts, least: float) -> tuple[str, ...]:
    """What a person should know before rows are dropped."""
    distinct, rows, table = grouped.distinct, len(grouped.distinct.exact), grouped.table
    many = many_grouped(int(table.size.sum()), rows, rows - int(grouped.codes.max()) - 1)
    found = warnings_of(distinct.texts, grouped.links, grouped.codes, grouped.pairs, least=least)
    return found if many is None else (many, *found)


def _summary(prepared: Prepared, grouped: GroupedTexts, near: NearPairs, warnings: tuple[str, ...]) -> DedupeSummary:
    distinct, sizes, thresholds, link = grouped.distinct, grouped.table.size, prepared.thresholds, prepared.link
    return DedupeSummary(
        texts=len(distinct.exact),
        distinct=len(distinct),
        links=len(grouped.links),
        groups=len(sizes),
        grouped=int(sizes.sum()),
        largest=int(sizes.max(initial=1)),
        rule=prepared.options.rule,
        threshold=link.score,
        chosen_for=link.chosen_for,
        probability=float(grouped.pairs.probability(np.array([link.score]))[0]),
        unfinished=near.unfinished,
        approximate=near.approximate,
        evidence=thresholds.evidence,
        calibrated=not thresholds.guessed,
        labelled_pairs=thresholds.known is None and not thresholds.guessed,
        warnings=(*prepared.warnings, *warnings),
        covered=thresholds.covered(grouped.links),
        precision=link.precision,
        expected_precision=thresholds.expected_precision(link, len(distinct)),
        expected_low=None if link.expected is None else link.expected.low,
        expected_high=None if link.expected is None else link.expected.high,
        lower_bound=thresholds.is_lower_bound(link),
        promised=link.guaranteed,
        assured=link.assured,
        alone=0 if prepared.limits is None else prepared.limits.alone,
        wide=0 if prepared.limits is None else prepared.limits.wide(grouped.group),
    )
